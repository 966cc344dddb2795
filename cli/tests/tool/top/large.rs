//! Machines whose CPUs come and go, whose sockets are many, and whose locked memory is short or taken.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Load, counted, number, scrape};
use crate::agents::support::Place;
use crate::support::tool::{Answer, Tool};
use crate::support::{Skip, need_programs};

crate::claims!(
    a_cpu_that_goes_and_comes_is_followed,
    owners_among_ten_thousand_sockets_are_right_and_memory_is_bounded,
    a_user_without_locked_memory_has_samples_at_a_high_rate,
    where_locked_memory_is_taken_the_rest_is_shown_with_a_remedy,
);

/// Holds so many sockets from a port on; they take a datagram or two each.
const HOLD: &str = "import resource,socket,sys,time\n\
    first,count=map(int,sys.argv[1:3]); most=max(count+100,resource.getrlimit(resource.RLIMIT_NOFILE)[1])\n\
    resource.setrlimit(resource.RLIMIT_NOFILE,(most,most)); held=[]\n\
    for port in range(first,first+count):\n    \
        s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.setsockopt(socket.SOL_SOCKET,socket.SO_RCVBUF,0)\n    \
        s.bind(('127.0.0.1',port)); held.append(s)\n\
    print('ready',flush=True); time.sleep(1000)\n";
/// Gives a datagram to each port of two ranges, again and again.
const GIVE_ALL: &str = "import socket,sys,time\n\
    a,b,c,d=map(int,sys.argv[1:5]); s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); print('ready',flush=True)\n\
    ports=[*range(a,a+b),*range(c,c+d)]; given=0\n\
    while True:\n    \
        for port in ports:\n        \
            s.sendto(b'x'*64,('127.0.0.1',port)); given+=1\n        \
            if given%100==0: time.sleep(0.001)\n";
/// The first ports of two holders of sockets.
const FIRST: [u32; 2] = [10_000, 30_000];
/// The most memory that a socket takes of the reader, in B: a row of the list while it is read, and its entries.
const OF_SOCKET: u64 = 1_600;

/// Takes all locked memory that its user may have, as rings of events of its own.
const TAKE_MEMORY: &str = "import ctypes,mmap,os,struct,time\n\
    call=ctypes.CDLL(None,use_errno=True).syscall; number={'x86_64':298,'aarch64':241}[os.uname().machine]\n\
    attributes=struct.pack('IIQQQQQ',1,112,9,0,0,0,1|1<<5|1<<6).ljust(112,b'\\0'); held=[]\n\
    for power in range(9,-1,-1):\n    \
        while True:\n        \
            event=call(number,attributes,0,-1,-1,0)\n        \
            if event<0: raise OSError(ctypes.get_errno(),'perf_event_open')\n        \
            try: held.append(mmap.mmap(event,((1<<power)+1)*mmap.PAGESIZE))\n        \
            except OSError: break\n\
    print('ready',flush=True); time.sleep(1000)\n";

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
    // A busy machine makes few of the samples that are due, but some of each CPU.
    let [due, made] = [0, 1].map(|at| again[at] - fewer[at]);
    assert!(again[0] > 0.75 * whole[0] && made > 0.05 * due, "{whole:?} {fewer:?} {again:?}");
    Ok(())
}

/// A script in a namespace, which is ready.
fn ready(mut command: Command) -> Result<Load, Skip> {
    let mut load = Load(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(load.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    if line == "ready\n" {
        return Ok(load);
    }
    let _ = load.0.kill();
    let said = std::io::read_to_string(load.0.stderr.take().unwrap()).unwrap_or_default();
    Err(Skip(format!("a load could not be made: {}", said.lines().last().unwrap_or_default())))
}

/// A window, and the most memory that `top` had, in B.
fn window_and_memory(tool: &Tool) -> Result<(Value, u64), Skip> {
    let child = tool.command(&["top", "--once", "-J", "-t", "8s", "--rate", "499"]).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let memory = thread::spawn(move || {
        let most = || -> Option<u64> {
            let text = fs::read_to_string(&status).ok()?;
            text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.split_whitespace().next()?.parse().ok()
        };
        let mut last = 0;
        // A process that has ended has none.
        while let Some(now) = most() {
            last = now;
            thread::sleep(Duration::from_millis(20));
        }
        last << 10
    });
    let found = Answer::from(child.wait_with_output().unwrap()).done().json();
    let memory = memory.join().unwrap();
    let refused = found["refused"].to_string();
    if !found["network"].is_object() || refused.contains("softirq work") {
        return Err(Skip(refused));
    }
    Ok((found, memory))
}

/// Two processes hold four fifths and one fifth of the sockets, each of which gets as many datagrams as any other.
fn owners_among_ten_thousand_sockets_are_right_and_memory_is_bounded() -> Result<(), Skip> {
    need_programs(&["python3", "unshare", "nsenter", "setpriv", "ip"])?;
    let (place, tool) = (Place::new(None)?, Tool::new());
    place.set("ip link set lo up")?;
    let start = |script: &str, numbers: &[u32]| {
        let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
        let words: Vec<&str> = ["-c", script].into_iter().chain(numbers.iter().map(String::as_str)).collect();
        ready(place.program(&tool, Path::new("python3"), &words))
    };
    // The most memory with so many sockets, whose owners are right.
    let with = |counts: [u32; 2]| -> Result<u64, Skip> {
        let [first, second] = [start(HOLD, &[FIRST[0], counts[0]])?, start(HOLD, &[FIRST[1], counts[1]])?];
        let giver = start(GIVE_ALL, &[FIRST[0], counts[0], FIRST[1], counts[1]])?;
        let (found, memory) = window_and_memory(&tool)?;
        let of = |load: &Load, key: &str| {
            let row = found["processes"].as_array().unwrap().iter().find(|row| row["pid"] == load.0.id());
            row.map_or(0.0, |row| number(&row[key]))
        };
        let shares = [of(&first, "softirq"), of(&second, "softirq"), of(&giver, "softirq")];
        // Samples in which a socket of either was found.
        let met = (of(&first, "softirq_met") + of(&second, "softirq_met")) * number(&found["elapsed_ns"]) / 1e9 * number(&found["hz"]);
        println!("{counts:?} sockets: softirqs {shares:?}, {met:.0} samples met, {} KiB, own cost {}", memory >> 10, found["own"]);
        if met < 100.0 {
            return Err(Skip(format!("{met:.0} samples met a socket: this machine is too busy")));
        }
        let share = shares[0] / (shares[0] + shares[1]);
        assert!((share - 0.8).abs() < 0.05 + 4.0 * (0.16 / met).sqrt() && shares[2] < shares[1], "{shares:?}, {met} met: {found}");
        Ok(memory)
    };
    let [few, many] = [with([8, 2])?, with([8_000, 2_000])?];
    assert!(many < few + 10_000 * OF_SOCKET, "{few} B with 10 sockets, {many} B with 10,000");
    Ok(())
}

/// A command of another user, who may watch and may lock no memory of its own.
fn without_locked_memory(tool: &Tool, user: &str) -> Command {
    let capabilities = "+perfmon,+syslog,+bpf,+sys_ptrace";
    let mut command = tool.other(Path::new("prlimit"));
    command.args(["--memlock=0", "setpriv", "--reuid", user, "--regid", user, "--clear-groups"]);
    command.args(["--inh-caps", capabilities, "--ambient-caps", capabilities]).current_dir("/");
    // Programs that root alone may run are no one else's.
    command.env("PATH", "/usr/bin:/bin");
    command
}

/// A user of its own has what the kernel allows each, 516 KiB for each CPU, and no more.
fn a_user_without_locked_memory_has_samples_at_a_high_rate() -> Result<(), Skip> {
    need_programs(&["setpriv", "prlimit"])?;
    cpus()?;
    let tool = Tool::new();
    let mut command = without_locked_memory(&tool, "60123");
    command.arg(crate::support::tool::program()).args(["top", "--once", "-J", "-t", "2s", "--rate", "9999"]);
    let found = Answer::from(command.output().unwrap());
    if found.code != Some(0) || fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap().trim() == "-1" {
        return Err(Skip(format!("another user with these capabilities cannot watch: {}", found.stderr)));
    }
    let found = found.json();
    assert!(found["network"].is_object(), "{}", found["refused"]);
    let busy: Vec<u64> = found["per_cpu"].as_array().unwrap().iter().map(|cpu| cpu["cpu"].as_u64().unwrap()).collect();
    assert_eq!(busy.len() as u64, found["cpus"].as_u64().unwrap(), "{found}");
    Ok(())
}

/// Rings of another process of the same user have all memory that the kernel allows the user.
fn where_locked_memory_is_taken_the_rest_is_shown_with_a_remedy() -> Result<(), Skip> {
    need_programs(&["python3", "setpriv", "prlimit"])?;
    if fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap().trim() == "-1" {
        return Err(Skip("this machine lets every user lock memory for samples".to_owned()));
    }
    let tool = Tool::new();
    let as_user = || without_locked_memory(&tool, "60124");
    let run = |arguments: &[&str]| -> Answer { as_user().arg(crate::support::tool::program()).args(arguments).output().unwrap().into() };
    let arguments = ["top", "--once", "-t", "1s"];
    let before = run(&[&arguments[..], &["-J"]].concat());
    if before.code != Some(0) || !before.json()["network"].is_object() {
        return Err(Skip(format!("another user with these capabilities cannot watch: {} {}", before.stdout, before.stderr)));
    }
    let mut taker = as_user();
    taker.args(["python3", "-c", TAKE_MEMORY]);
    let _taker = ready(taker)?;
    let found = run(&[&arguments[..], &["-J"]].concat()).done().json();
    let refused = found["refused"].to_string();
    assert!(found["network"].is_null() && found["proc_stat_softirq"].is_number(), "{found}");
    assert!(refused.contains("memory for samples") && refused.contains("Raise kernel.perf_event_mlock_kb"), "{refused}");
    run(&arguments).done().says("not known, because CPUs could not be sampled");
    Ok(())
}
