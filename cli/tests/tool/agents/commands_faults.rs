//! Commands that give no host, and hosts by command that are lost.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use model::run::Status;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::commands::{files, make_own, own_files};
use super::support::{CELLS, Net, Place, cells, ended, has_trials, plan, says, signal};
use crate::support::processes;
use crate::support::tool::{Answer, Tool};
use crate::support::{Skip, need_programs, within};

crate::claims!(
    commands_that_give_no_shell,
    a_question_finds_nobody_and_ends,
    a_login_that_takes_long_is_given_up,
    names_that_would_be_options_are_refused,
    a_cache_that_cannot_be_used,
    a_disk_that_is_full,
    directories_that_run_nothing,
    a_machine_of_another_kind,
    a_machine_that_cannot_run_the_program,
    a_terminal_on_the_way,
    a_nettoll_of_another_version,
    a_controller_that_is_killed_leaves_nothing_there,
    a_command_that_is_killed_is_started_again,
    a_host_process_that_is_killed_is_started_again,
    a_cable_that_is_cut_ends_both_sides,
    a_lost_host_of_a_study_of_one_cell_is_started_again,
    a_host_that_does_not_heed_its_end_ends_with_its_nettoll,
);

/// Time in which nothing may be left of what was killed.
const GONE: Duration = Duration::from_secs(2);

/// Runs one cell with host b by a command and these options.
fn by(place: &Place, tool: &Tool, command: &str, options: &[&str]) -> Answer {
    let host = format!("b=cmd:{command}");
    place.study(tool, &cells(1, "[[cells]]\ntest = \"UDP_RR\"\nsize = 64"), &[&["--host", &host], options].concat())
}

fn commands_that_give_no_shell() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let refused =
        |command: &str, words: &[&str]| by(&net.a, &tool, command, &[]).refused(1, &[&["host b: no host by cmd:"], words].concat());
    refused("false", &["it ended with exit code 1 before nettoll answered"]);
    refused("no-such-program x", &["start no-such-program: No such file or directory"]);
    refused("sh -c 'echo out of order >&2; kill -9 $$'", &["it ended with signal 9", "it said: out of order"]);
    refused("sh -c 'exec no-such-program'", &["exit code 127", "is not installed, here or there"]);
    refused("yes", &["more than 262144 bytes came that are no words of nettoll"]);
    refused("cat /dev/null", &["it ended with exit code 0"]);
    by(&net.a, &tool, "false", &["-J"]).refused_in_json(1, &["no host by cmd:false"]);
    assert!(tool.try_stored().is_none());
    net.nothing_left(&[&tool]);
    Ok(())
}

/// There is no terminal on which a password could be asked for, even where nettoll has one.
fn a_question_finds_nobody_and_ends() -> Result<(), Skip> {
    need_programs(&["script"])?;
    let (net, tool) = (Net::new()?, Tool::new());
    tool.write("plan.toml", &cells(1, "[[cells]]\ntest = \"UDP_RR\"\nsize = 64"));
    let study = "$NETTOLL study --plan plan.toml --host 'b=cmd:sh -c \"read password </dev/tty || exit 9; exec sh\"'";
    let begun = Instant::now();
    let mut command = net.a.program(&tool, Path::new("/usr/bin/script"), &["-qec", study, "/dev/null"]);
    let answer = ended(command.spawn().unwrap());
    says(&answer.stdout, &["it ended with exit code 9", "/dev/tty"]);
    assert!(begun.elapsed() < Duration::from_secs(20), "it did not wait for an answer");
    net.nothing_left(&[&tool]);
    Ok(())
}

/// Ctrl-C ends a study, one trial and a fleet that wait for a shell, and the command with it.
fn a_login_that_takes_long_is_given_up() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let study = ["study", "quick", "--host", "b=cmd:sleep 50"];
    let trial = ["-c", "cmd:sleep 50", "-t", "1"];
    let fleet = ["fleet", "--host", "n1=cmd:sleep 50", "--host", "n2=cmd:sleep 50"];
    for words in [&study[..], &trial, &fleet] {
        let begun = Instant::now();
        let child = net.a.nettoll(&tool, words).spawn().unwrap();
        std::thread::sleep(Duration::from_secs(1));
        signal(&child, Signal::SIGINT);
        let answer = ended(child);
        assert!(answer.code == Some(1) && begun.elapsed() < Duration::from_secs(15), "{words:?} after {:?}: {answer:#?}", begun.elapsed());
        assert!(words == trial || answer.stderr.contains("interrupted before anything was measured"), "{answer:#?}");
    }
    assert!(!tool.path().join("runs").exists());
    net.nothing_left(&[&tool]);
    Ok(())
}

fn names_that_would_be_options_are_refused() -> Result<(), Skip> {
    let tool = Tool::new();
    for place in ["ssh:-oProxyCommand=touch x", "ssh:-v", "slurm:-w", "kubectl:--help"] {
        let answer = tool.run(&["study", "quick", "--host", &format!("b={place}")]);
        assert_eq!(answer.code, Some(2), "{answer:#?}");
        says(&answer.stderr, &["is no way to a host"]);
    }
    tool.run(&["study", "quick", "--host", "b=ssh:-v"]).refused(2, &["cannot begin with '-'"]);
    tool.run(&["deploy", "db1"]).refused(2, &["that would be an agent"]);
    tool.run(&["study", "quick", "--host", "b=cmd:sh", "--remote-program", "x; y"]).refused(1, &["--remote-program 'x; y'"]);
    assert!(!tool.path().join("x").exists());
    Ok(())
}

fn a_cache_that_cannot_be_used() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    // Not even root can make a directory there.
    let command = net.b.shell("XDG_CACHE_HOME=/proc/nowhere");
    by(&net.a, &tool, &command, &["--deploy"])
        .refused(1, &["the directory /proc/nowhere/nettoll cannot be used there", "leave --deploy out"]);
    by(&net.a, &tool, &command, &[]).done();
    net.nothing_left(&[&tool]);
    Ok(())
}

/// A shell on host b that sees a file system of its own at `place`.
fn with_mount(net: &Net, tool: &Tool, place: &str, options: &str) -> Result<String, Skip> {
    need_programs(&["mount", "unshare"])?;
    let script = tool.path().join("mounted");
    let environment = own_files(tool);
    let at = tool.path().join(place);
    let text = format!("#!/bin/sh\nset -e\nmount -t tmpfs -o {options} none {}\nexec env {environment} \"$@\" sh\n", at.display());
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let shell = net.b.shell("X=1");
    Ok(format!("{} unshare -m {}", shell.strip_suffix(" sh").unwrap(), script.display()))
}

fn a_disk_that_is_full() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    make_own(&tool);
    let command = with_mount(&net, &tool, "cache", "size=1m")?;
    by(&net.a, &tool, &command, &["--deploy"])
        .refused(1, &["cache/nettoll there; make room there, or leave --deploy out", "No space left on device"]);
    by(&net.a, &tool, &command, &[]).done();
    let command = with_mount(&net, &tool, "tmp", "size=1m")?;
    by(&net.a, &tool, &command, &[]).refused(1, &["tmp there; make room there, or set TMPDIR there", "No space left on device"]);
    assert!(files(&tool).is_empty(), "{:?}", files(&tool));
    net.nothing_left(&[&tool]);
    Ok(())
}

/// The next directory is taken where one is mounted noexec.
fn directories_that_run_nothing() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    make_own(&tool);
    let command = with_mount(&net, &tool, "tmp", "noexec")?;
    by(&net.a, &tool, &command, &[]).done();
    let command = with_mount(&net, &tool, "cache", "noexec")?;
    by(&net.a, &tool, &command, &["--deploy"]).refused(1, &["no program can be written and run in any of", "mounted noexec"]);
    assert!(files(&tool).is_empty(), "{:?}", files(&tool));
    net.nothing_left(&[&tool]);
    Ok(())
}

fn a_machine_of_another_kind() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let uname = tool.path().join("uname");
    fs::write(&uname, "#!/bin/sh\ncase $1 in -s) echo Linux ;; *) echo riscv64 ;; esac\n").unwrap();
    fs::set_permissions(&uname, fs::Permissions::from_mode(0o755)).unwrap();
    make_own(&tool);
    let command = net.b.shell(&format!("{} PATH={}:/usr/bin:/bin", own_files(&tool), tool.path().display()));
    by(&net.a, &tool, &command, &[]).refused(1, &["a machine of another kind (Linux riscv64;", "--remote-program PATH"]);
    assert!(files(&tool).is_empty(), "{:?}", files(&tool));
    net.nothing_left(&[&tool]);
    Ok(())
}

/// Too little memory stands for a C library that is too old: the program does not start.
fn a_machine_that_cannot_run_the_program() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    make_own(&tool);
    let shell = net.b.shell(&own_files(&tool));
    let command = format!("sh -c 'ulimit -v 20000; exec {shell}'");
    by(&net.a, &tool, &command, &[])
        .refused(1, &["this program does not run there (Linux ", "may need a newer C library", "--remote-program PATH"]);
    assert!(files(&tool).is_empty(), "{:?}", files(&tool));
    net.nothing_left(&[&tool]);
    Ok(())
}

fn a_terminal_on_the_way() -> Result<(), Skip> {
    need_programs(&["script"])?;
    let (net, tool) = (Net::new()?, Tool::new());
    by(&net.a, &tool, "script -qec sh /dev/null", &[]).refused(1, &["gives its shell a terminal", "leave -t or -tt out"]);
    net.nothing_left(&[&tool]);
    Ok(())
}

fn a_nettoll_of_another_version() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let answer = r#"{"magic":"nettoll","version":99999,"tool":"9.9.9","id":"00112233445566778899aabbccddeeff"}"#;
    let length: String = (answer.len() as u32).to_be_bytes().iter().map(|byte| format!("\\{byte:03o}")).collect();
    tool.write("other", &format!("echo 'nettoll-reach ready {{\"addresses\":[]}}'\nprintf '{length}'\nprintf '%s' '{answer}'\nsleep 2\n"));
    let other = tool.path().join("other");
    by(&net.a, &tool, &format!("sh {}", other.display()), &[])
        .refused(1, &["(nettoll 9.9.9) speaks version 99999 of the control protocol", "install the same nettoll on both"]);
    net.nothing_left(&[&tool]);
    Ok(())
}

/// A study of some seconds with host b by a command, which has stored its first trials.
fn begun(net: &Net, tool: &Tool, command: &str, blocks: u32) -> Child {
    let study = net.a.start_study(tool, &plan(blocks), &["--host", &format!("b=cmd:{command}")]);
    has_trials(tool, 3);
    study
}

fn a_controller_that_is_killed_leaves_nothing_there() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    make_own(&tool);
    let study = begun(&net, &tool, &net.b.shell(&own_files(&tool)), 40);
    signal(&study, Signal::SIGKILL);
    ended(study);
    within(GONE, &format!("all processes end: {:?}", processes::of(&tool)), || processes::of(&tool).is_empty());
    assert!(files(&tool).is_empty(), "{:?}", files(&tool));
    net.nothing_left(&[&tool]);
    Ok(())
}

/// The only process of a kind that the command started.
fn serving(tool: &Tool) -> processes::Process {
    let found = || processes::of(tool).into_iter().find(|process| process.kind == "__serve");
    within(Duration::from_secs(5), "a host serves", || found().is_some());
    found().unwrap()
}

fn a_host_process_that_is_killed_is_started_again() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let study = begun(&net, &tool, &net.b.shell("X=1"), 6);
    let served = serving(&tool);
    let below = processes::of(&tool).into_iter().filter(|process| process.parent == served.pid).collect::<Vec<_>>();
    assert!(served.kill() && !below.is_empty());
    let left = || processes::of(&tool).iter().any(|process| below.contains(process));
    within(GONE, "what it started is gone", || !left());
    one_trial_was_lost(study, &tool, "the command ended");
    net.nothing_left(&[&tool]);
    Ok(())
}

/// A relay between nettoll and the shell, as ssh is one.
const RELAY: &str = "
import os, subprocess, sys, threading
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def copy(source, sink):
    while True:
        data = os.read(source, 65536)
        if not data:
            break
        while data:
            data = data[os.write(sink, data):]
    os.close(sink)
threading.Thread(target=copy, args=(child.stdout.fileno(), 1), daemon=True).start()
copy(0, child.stdin.fileno())
sys.exit(child.wait())
";

fn relayed(net: &Net, tool: &Tool) -> Result<String, Skip> {
    need_programs(&["python3"])?;
    tool.write("relay.py", RELAY);
    Ok(format!("python3 {} {}", tool.path().join("relay.py").display(), net.b.shell("X=1")))
}

fn relay(tool: &Tool) -> processes::Process {
    processes::of(tool).into_iter().find(|process| process.kind.ends_with("relay.py")).expect("the relay runs")
}

fn a_command_that_is_killed_is_started_again() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let study = begun(&net, &tool, &relayed(&net, &tool)?, 6);
    let served = serving(&tool);
    assert!(relay(&tool).kill());
    within(GONE, "the host there is gone", || !processes::of(&tool).contains(&served));
    one_trial_was_lost(study, &tool, "the command ended (signal 9)");
    net.nothing_left(&[&tool]);
    Ok(())
}

/// A relay that stands still passes nothing on and closes nothing, as a cut cable does.
fn a_cable_that_is_cut_ends_both_sides() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let study = begun(&net, &tool, &relayed(&net, &tool)?, 6);
    let (served, still) = (serving(&tool), relay(&tool));
    kill(Pid::from_raw(still.pid.cast_signed()), Signal::SIGSTOP).unwrap();
    within(Duration::from_secs(4), "the host there takes silence for the controller's death", || !processes::of(&tool).contains(&served));
    one_trial_was_lost(study, &tool, "nothing came from it for 1.75 s");
    net.nothing_left(&[&tool]);
    Ok(())
}

/// Blocks of a study that goes on for longer than it takes to find a process and kill it.
const MANY: u32 = 60;

fn a_lost_host_of_a_study_of_one_cell_is_started_again() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let plan = cells(MANY, "[[cells]]\ntest = \"UDP_RR\"\nsize = 64");
    let study = net.a.start_study(&tool, &plan, &["--host", &format!("b=cmd:{}", net.b.shell("X=1"))]);
    has_trials(&tool, 2);
    assert!(serving(&tool).kill());
    let answer = ended(study).done();
    let stored = tool.stored();
    assert_eq!((stored.trials().len(), stored.status()), (MANY as usize, Status::BlocksDone), "{answer:#?}");
    assert_eq!(stored.errors().len(), 1, "{:?}", stored.errors());
    says(&answer.stderr, &["looking for it again, attempt 1 of 6"]);
    net.nothing_left(&[&tool]);
    Ok(())
}

/// A relay that closes the host's input with its own, and stays.
fn staying(net: &Net, tool: &Tool) -> Result<String, Skip> {
    let command = relayed(net, tool)?;
    tool.write(
        "relay.py",
        &RELAY.replace("sys.exit(child.wait())", "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(300)"),
    );
    Ok(command)
}

/// Nothing of it is left, however its nettoll ended: by itself, asked to, or killed.
fn a_host_that_does_not_heed_its_end_ends_with_its_nettoll() -> Result<(), Skip> {
    for end in [None, Some(Signal::SIGTERM), Some(Signal::SIGKILL)] {
        let (net, tool) = (Net::new()?, Tool::new());
        let study = begun(&net, &tool, &staying(&net, &tool)?, if end.is_some() { MANY } else { 3 });
        assert!(relay(&tool).pid > 0);
        if let Some(end) = end {
            signal(&study, end);
        }
        ended(study);
        within(GONE, &format!("{end:?}: all processes end: {:?}", processes::of(&tool)), || processes::of(&tool).is_empty());
        net.nothing_left(&[&tool]);
    }
    Ok(())
}

#[track_caller]
fn one_trial_was_lost(study: Child, tool: &Tool, why: &str) {
    let answer = ended(study).done();
    let stored = tool.stored();
    assert_eq!((stored.trials().len(), stored.status()), (6 * CELLS, Status::BlocksDone), "{answer:#?}");
    let errors = stored.errors();
    assert_eq!(errors.len(), 1, "{errors:?}");
    says(&errors[0], &["host b: the host by cmd:", "was lost, and with it the trial at hand", why]);
    says(&answer.stderr, &["looking for it again, attempt 1 of 6"]);
}
