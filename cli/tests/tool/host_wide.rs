//! Changes outside nettoll's own namespaces: asked for, journalled, undone by
//! whoever is left.
//!
//! The machine whose settings are changed is a network namespace of the test's.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::support::processes::{self, Process};
use crate::support::tool::{Answer, Tool};
use crate::support::{Skip, need_programs, need_root, succeeds, within};

crate::claims!(
    what_is_changed_host_wide_is_undone_at_the_end,
    a_killed_controller_is_cleaned_up_after_by_the_guard,
    when_both_are_killed_the_next_command_cleans_up,
    a_killed_guard_is_cleaned_up_after_by_the_controller,
    an_interrupted_study_is_cleaned_up_after,
    what_the_hosts_have_in_common_with_the_machine_is_changed_there,
);

/// Trials that last, so that there is time to kill in the middle of one.
const PLAN: &str = r#"
    name = "wide"
    seed = 5
    trial = { length = "400ms", warmup = "3ms" }
    blocks = { least = 20, most = 20 }
    link = { kind = "loopback" }
    arms = ["a", "b: sysctl.net.ipv4.tcp_rmem=4096 8192 16384, mtu=4000, offload.gro=off"]
    [[cells]]
    test = "TCP_STREAM"
    size = 512
"#;

const CHANGED: &str = "4096\t8192\t16384";

/// Namespaces, of the network and of the host's name, that stand for a machine.
struct Machine {
    tool: Tool,
    keeper: Child,
    before: String,
}

impl Machine {
    fn new() -> Result<Self, Skip> {
        need_root()?;
        need_programs(&["ip", "nsenter", "unshare", "sleep"])?;
        let keeper = Command::new("unshare").args(["-n", "-u", "sleep", "120"]).stdin(Stdio::null()).spawn().unwrap();
        let mut machine = Self { tool: Tool::new(), keeper, before: String::new() };
        let pid = machine.keeper.id();
        within(Duration::from_secs(10), "the machine has a namespace", || {
            let of = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/uts")).ok();
            of(&pid.to_string()).is_some_and(|name| Some(name) != of("self"))
        });
        if !succeeds(&format!("nsenter -t {pid} -n ip link set lo up")) {
            return Err(Skip("a namespace cannot be entered with `nsenter`".to_owned()));
        }
        machine.before = machine.state();
        machine.tool.write("plan.toml", PLAN);
        Ok(machine)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.tool.other("nsenter".as_ref());
        command.args(["-t", &self.keeper.id().to_string(), "-n", "-u"]).args(words);
        command.env("XDG_STATE_HOME", self.tool.path().join("state"));
        command
    }

    fn run(&self, words: &[&str]) -> Answer {
        self.command(words).output().unwrap().into()
    }

    fn nettoll(&self, words: &[&str]) -> Answer {
        self.run(&[&[crate::support::tool::program().to_str().unwrap()], words].concat())
    }

    fn start(&self) -> Child {
        let program = crate::support::tool::program();
        self.command(&[program.to_str().unwrap(), "study", "--plan", "plan.toml", "--host-wide"]).spawn().unwrap()
    }

    /// What a study changes here.
    fn state(&self) -> String {
        let rmem = self.run(&["cat", "/proc/sys/net/ipv4/tcp_rmem"]).done().stdout;
        let link = self.run(&["ip", "-o", "link", "show", "lo"]).done().stdout;
        let mtu = link.split_whitespace().skip_while(|word| *word != "mtu").nth(1).unwrap_or_default().to_owned();
        format!("{} {mtu}", rmem.trim())
    }

    fn journals(&self) -> usize {
        let entries = std::fs::read_dir(self.tool.path().join("state/nettoll"));
        entries.map_or(0, |entries| entries.filter(|entry| entry.as_ref().is_ok_and(|entry| entry.path().is_file())).count())
    }

    fn process(&self, kind: &str) -> Option<Process> {
        processes::of(&self.tool).into_iter().find(|process| process.kind == kind)
    }

    /// Waits until a study has changed this machine.
    fn changed(&self) {
        within(Duration::from_secs(60), "the machine is changed", || self.state() == format!("{CHANGED} 4000"));
        assert_eq!(self.journals(), 1);
    }

    #[track_caller]
    fn is_as_before(&self) {
        within(Duration::from_secs(20), "everything is undone", || self.journals() == 0);
        assert_eq!(self.state(), self.before);
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
    }
}

fn what_is_changed_host_wide_is_undone_at_the_end() -> Result<(), Skip> {
    let machine = Machine::new()?;
    let words = ["study", "--plan", "plan.toml", "--length", "20ms", "--blocks", "1"];
    machine.nettoll(&words).refused(2, &["--host-wide"]);
    assert_eq!((machine.state(), machine.journals()), (machine.before.clone(), 0));
    machine.nettoll(&[&words[..], &["--host-wide"]].concat()).judged();
    machine.is_as_before();
    let trials = machine.tool.stored().trials();
    assert_eq!(trials.len(), 2);
    for trial in &trials {
        assert!(trial.measured().is_some(), "{trial:?}");
        let taken: Vec<&str> = trial.taken.iter().map(|taken| taken.got.as_str()).collect();
        let wanted: &[&str] = if trial.arm.as_deref() == Some("b") { &["4096 8192 16384", "4000", "off"] } else { &[] };
        assert_eq!(taken, wanted);
    }
    Ok(())
}

fn a_killed_controller_is_cleaned_up_after_by_the_guard() -> Result<(), Skip> {
    let machine = Machine::new()?;
    let mut study = machine.start();
    machine.changed();
    study.kill().unwrap();
    study.wait().unwrap();
    machine.is_as_before();
    within(Duration::from_secs(20), "all processes end", || processes::of(&machine.tool).is_empty());
    Ok(())
}

fn when_both_are_killed_the_next_command_cleans_up() -> Result<(), Skip> {
    let machine = Machine::new()?;
    let mut study = machine.start();
    machine.changed();
    // Stopped, it cannot do the guard's work before it is killed itself.
    let controller = machine.process("study").unwrap();
    assert!(succeeds(&format!("kill -STOP {}", controller.pid)));
    machine.process("__guard").unwrap().kill();
    study.kill().unwrap();
    study.wait().unwrap();
    within(Duration::from_secs(20), "all processes end", || processes::of(&machine.tool).is_empty());
    assert_eq!((machine.state(), machine.journals()), (format!("{CHANGED} 4000"), 1));
    // From elsewhere it cannot be undone, and is said.
    let mut elsewhere = machine.tool.command(&["doctor"]);
    let answer = Answer::from(elsewhere.env("XDG_STATE_HOME", machine.tool.path().join("state")).output().unwrap()).done();
    assert!(answer.stderr.contains("run nettoll there to undo them"), "{answer:?}");
    assert!(machine.nettoll(&["show"]).done().stderr.is_empty(), "looking at runs changes nothing");
    let next = machine.nettoll(&["doctor"]).done();
    for words in
        ["undid a change of this machine", "net.ipv4.tcp_rmem: 4096 8192 16384 ->", "the MTU of 'lo': 4000 ->", "rx-gro of 'lo': off -> on"]
    {
        assert!(next.stderr.contains(words), "{words}: {next:?}");
    }
    machine.is_as_before();
    assert!(machine.nettoll(&["doctor"]).done().stderr.is_empty(), "it is said once");
    Ok(())
}

fn a_killed_guard_is_cleaned_up_after_by_the_controller() -> Result<(), Skip> {
    let machine = Machine::new()?;
    let study = machine.start();
    machine.changed();
    machine.process("__guard").unwrap().kill();
    let answer: Answer = study.wait_with_output().unwrap().into();
    assert_eq!(answer.code, Some(1), "{answer:?}");
    for words in ["the guard of host-wide changes is gone", "undone in its place", "net.ipv4.tcp_rmem"] {
        assert!(answer.stderr.contains(words), "{words}: {answer:?}");
    }
    machine.is_as_before();
    Ok(())
}

fn an_interrupted_study_is_cleaned_up_after() -> Result<(), Skip> {
    let machine = Machine::new()?;
    let study = machine.start();
    machine.changed();
    assert!(succeeds(&format!("kill -INT {}", machine.process("study").unwrap().pid)));
    let answer: Answer = study.wait_with_output().unwrap().into();
    assert_eq!(answer.code, Some(1), "{answer:?}");
    machine.is_as_before();
    Ok(())
}

/// The name of the domain is of the machine that the namespace stands for, and no
/// namespace of the network has one of its own.
fn what_the_hosts_have_in_common_with_the_machine_is_changed_there() -> Result<(), Skip> {
    let machine = Machine::new()?;
    let domain = || machine.run(&["cat", "/proc/sys/kernel/domainname"]).done().stdout;
    let before = domain();
    let say = "cat /proc/sys/kernel/domainname /proc/sys/net/ipv4/tcp_rmem >> $NETTOLL_ARM.said";
    let plan = PLAN
        .replace("\"loopback\"", "\"veth\"")
        .replace("b: ", "b: sysctl.kernel.domainname=nettoll.example, ")
        .replace("offload.gro=off", &format!("offload.gro=off, before={say}"));
    machine.tool.write("plan.toml", &plan);
    let words = ["study", "--plan", "plan.toml", "--length", "20ms", "--blocks", "2"];
    machine.nettoll(&words).refused(1, &["sysctl.kernel.domainname would be changed on this machine", "--host-wide"]);
    machine.nettoll(&[&words[..], &["--host-wide"]].concat()).judged();
    assert!(domain() == before && machine.journals() == 0);
    let said = std::fs::read_to_string(machine.tool.path().join("b.said")).unwrap();
    assert_eq!(said, format!("nettoll.example\n{CHANGED}\n").repeat(4));
    // Nothing that is of the hosts alone was changed here.
    assert_eq!(machine.state(), machine.before);
    Ok(())
}
