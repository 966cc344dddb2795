//! Machines whose CPUs come and go, and whose locked memory is short.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use super::{Load, counted, scrape};
use crate::support::tool::{Answer, Tool};
use crate::support::{Skip, need_programs};

crate::claims!(a_cpu_that_goes_and_comes_is_followed, a_user_without_locked_memory_has_samples_at_a_high_rate,);

/// The list of CPUs that are online, and the first of them alone.
fn cpus() -> Result<[String; 2], Skip> {
    let all = fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    let first: String = all.chars().take_while(char::is_ascii_digit).collect();
    if first == all.trim() { Err(Skip("this machine has one CPU".to_owned())) } else { Ok([all, first + "\n"]) }
}

/// Another list of CPUs is shown to `top` in a mount namespace of its own: its CPUs go and come as it sees them.
fn a_cpu_that_goes_and_comes_is_followed() -> Result<(), Skip> {
    let [all, first] = cpus()?;
    let tool = Tool::new();
    tool.write("online", &all);
    let script = "mount --bind online /sys/devices/system/cpu/online && exec \"$NETTOLL\" top --listen 127.0.0.1:0";
    let mut command = tool.other(Path::new("unshare"));
    command.args(["-m", "sh", "-c", script]).stdout(Stdio::null());
    let mut top = Load(command.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(top.0.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let Some(address) = line.split("http://").nth(1).and_then(|rest| rest.split('/').next()) else {
        return Err(Skip(format!("a list of CPUs could not be put in place: {line}")));
    };
    let look = || {
        let page = scrape(address);
        let of = |result: &str| counted(&page, &format!("nettoll_samples_total{{result=\"{result}\"}}"));
        let made = of("busy") + of("idle");
        ([made + of("lost") + of("missing"), made], Instant::now())
    };
    // A busy machine takes its time before the first second of samples.
    let begun = Instant::now();
    while look().0[1] == 0.0 {
        if begun.elapsed() > Duration::from_secs(60) {
            return Err(Skip("CPUs cannot be sampled here".to_owned()));
        }
        thread::sleep(Duration::from_millis(500));
    }
    // Samples due a second, and those that were made, after stretches in which CPUs change.
    let rates = || {
        thread::sleep(Duration::from_secs(3));
        let (before, begun) = look();
        thread::sleep(Duration::from_secs(6));
        let (after, ended) = look();
        [0, 1].map(|at| (after[at] - before[at]) / (ended - begun).as_secs_f64())
    };
    let whole = rates();
    tool.write("online", &first);
    let fewer = rates();
    tool.write("online", &all);
    let again = rates();
    println!("samples due and made a second: {whole:.0?}, {fewer:.0?}, {again:.0?}");
    // Counters move once a second.
    assert!(fewer[0] < 0.75 * whole[0] && fewer[1] < 0.75 * whole[0], "{whole:?} {fewer:?}");
    assert!(again[0] > 0.75 * whole[0] && again[1] > 0.6 * whole[1] && again[1] > 1.2 * fewer[1], "{whole:?} {fewer:?} {again:?}");
    Ok(())
}

/// A user of its own has what the kernel allows each, 516 KiB for each CPU, and no more.
fn a_user_without_locked_memory_has_samples_at_a_high_rate() -> Result<(), Skip> {
    need_programs(&["setpriv", "prlimit"])?;
    cpus()?;
    let tool = Tool::new();
    let capabilities = "+perfmon,+syslog,+bpf,+sys_ptrace";
    let ids = ["--reuid", "60123", "--regid", "60123", "--clear-groups", "--inh-caps", capabilities, "--ambient-caps", capabilities];
    let run = |capabilities: &[&str]| -> Answer {
        let mut command = tool.other(Path::new("prlimit"));
        command.args(["--memlock=0", "setpriv"]).args(capabilities);
        command.arg(crate::support::tool::program()).args(["top", "--once", "-J", "-t", "2s", "--rate", "9999"]);
        command.current_dir("/").output().unwrap().into()
    };
    let found = run(&ids);
    if found.code != Some(0) || fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap().trim() == "-1" {
        return Err(Skip(format!("another user with these capabilities cannot watch: {}", found.stderr)));
    }
    let found = found.json();
    assert!(found["network"].is_object(), "{}", found["refused"]);
    let busy: Vec<u64> = found["per_cpu"].as_array().unwrap().iter().map(|cpu| cpu["cpu"].as_u64().unwrap()).collect();
    assert_eq!(busy.len() as u64, found["cpus"].as_u64().unwrap(), "{found}");
    Ok(())
}
