//! Hosts with addresses of their own on either side of a router.
//!
//! ```text
//! a 198.51.100.1 --- .254 router .254 --- 203.0.113.1 b      2001:db8:a::/64, 2001:db8:b::/64
//!                  192.0.2.254 |
//!                    c 192.0.2.1
//! ```
//!
//! The namespaces have no names: each lives as long as a process in it, and
//! the one that holds it ends with this test, however that ends.

use std::fs::{Permissions, set_permissions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::processes::{self, Traces, traces};
use crate::support::stored::Stored;
use crate::support::tool::{Answer, Tool};
use crate::support::{Skip, need_programs, within};

/// The addresses of the hosts at either end.
pub const A: &str = "198.51.100.1";
pub const B: &str = "203.0.113.1";
pub const A_V6: &str = "2001:db8:a::1";
pub const B_V6: &str = "2001:db8:b::1";
/// The router's own towards the host `a`.
pub const ROUTER: &str = "198.51.100.254";
/// Where nobody answers, on the link of host `b`.
pub const SILENT: &str = "203.0.113.99";
/// The port of agents.
pub const PORT: &str = "10984";

/// Run by the holder of the router's namespace; `$1`, `$2` and `$3` hold those
/// of the hosts.
const SCRIPT: &str = "
ip link set lo up
sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
join() { # name, holder, network, number
    ip link add to-$1 type veth peer name eth0 netns $2
    ip addr add $3.254/24 dev to-$1
    ip addr add 2001:db8:$1::fe/64 dev to-$1 nodad
    ip addr add fe80::fe/64 dev to-$1 nodad
    ip link set to-$1 up
}
join a $1 198.51.100
join b $2 203.0.113
join c $3 192.0.2
ip neigh add 203.0.113.99 lladdr 02:00:00:00:00:99 dev to-b nud permanent
";

/// A namespace and what holds it.
pub struct Place {
    holder: Child,
    /// Whether it is in a user namespace, which has to be entered with it.
    user: bool,
}

impl Place {
    /// A process in a namespace of its own; `inside` that of another's user.
    pub fn new(inside: Option<&Self>) -> Result<Self, Skip> {
        let user = !nix::unistd::geteuid().is_root();
        let mut command = match inside {
            Some(place) => place.entering(Command::new("nsenter"), "unshare"),
            None => Command::new("unshare"),
        };
        if user && inside.is_none() {
            command.arg("-r");
        }
        // Its input ends with this program.
        command.args(["-n", "sh", "-c", "echo ready; exec cat"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut holder = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
        if line == "ready\n" {
            return Ok(Self { holder, user });
        }
        let said = holder.wait_with_output().unwrap();
        Err(Skip(format!("a network namespace could not be made: {}", String::from_utf8_lossy(&said.stderr).trim())))
    }

    /// The process that holds the namespace.
    pub fn holder(&self) -> u32 {
        self.holder.id()
    }

    /// Every process in this namespace, whoever started it, but for the holder.
    pub fn processes(&self) -> Vec<u32> {
        let network = |pid: u32| std::fs::read_link(format!("/proc/{pid}/ns/net")).ok();
        let own = network(self.holder());
        let all = std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        all.filter(|pid| *pid != self.holder() && own.is_some() && network(*pid) == own).collect()
    }

    /// Ends every process in this namespace without a chance to clean up, as a power cut does.
    pub fn cut_power(&self) {
        // Not asserted: this runs where a test has failed, too.
        for _ in 0..2_000 {
            let left = self.processes();
            if left.is_empty() {
                return;
            }
            left.iter().for_each(|pid| _ = kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL));
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn entering(&self, mut command: Command, program: &str) -> Command {
        command.args(["-t", &self.holder.id().to_string(), "-n"]);
        if self.user {
            command.args(["-U", "--preserve-credentials"]);
        }
        command.arg("--").arg(program);
        command
    }

    /// A command that gives a shell in this namespace, as behind `--host b=cmd:`, with these
    /// words of `env` before the shell.
    pub fn shell(&self, environment: &str) -> String {
        let user = if self.user { " -U --preserve-credentials" } else { "" };
        format!("nsenter -t {} -n{user} -- env {environment} sh", self.holder.id())
    }

    /// A program in this namespace that ends with the test, known as the tool's.
    pub fn program(&self, tool: &Tool, program: &Path, arguments: &[&str]) -> Command {
        let mut command = self.entering(tool.other(Path::new("nsenter")), "setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).arg(program).args(arguments);
        command
    }

    /// nettoll in this namespace.
    pub fn nettoll(&self, tool: &Tool, arguments: &[&str]) -> Command {
        self.program(tool, &crate::support::tool::program(), arguments)
    }

    pub fn run(&self, tool: &Tool, arguments: &[&str]) -> Answer {
        self.nettoll(tool, arguments).output().unwrap().into()
    }

    /// Runs a plan, given as text, with further arguments.
    pub fn study(&self, tool: &Tool, plan: &str, arguments: &[&str]) -> Answer {
        tool.write("plan.toml", plan);
        self.run(tool, &[&["study", "--plan", "plan.toml"], arguments].concat())
    }

    pub fn start_study(&self, tool: &Tool, plan: &str, arguments: &[&str]) -> Child {
        tool.write("plan.toml", plan);
        self.nettoll(tool, &[&["study", "--plan", "plan.toml"], arguments].concat()).spawn().unwrap()
    }

    /// Another role of this test program; it is ready.
    pub fn role(&self, tool: &Tool, words: &[&str]) -> Running {
        self.other(tool, &std::env::current_exe().unwrap(), words)
    }

    /// Another program, which says that it is ready.
    pub fn other(&self, tool: &Tool, program: &Path, words: &[&str]) -> Running {
        let mut child = self.program(tool, program, words).stderr(Stdio::inherit()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Running(child)
    }

    /// A script of settings; what it says is why they cannot be made here.
    pub fn set(&self, script: &str) -> Result<String, Skip> {
        let output = self.entering(Command::new("nsenter"), "sh").args(["-ec", script]).output().unwrap();
        match output.status.success() {
            true => Ok(String::from_utf8(output.stdout).unwrap()),
            false => {
                let said = String::from_utf8_lossy(&output.stderr);
                Err(Skip(one_line(&format!("'{script}' cannot be set here: {said}"))))
            }
        }
    }

    /// A file of /proc/net as this namespace has it.
    pub fn net(&self, file: &str) -> String {
        std::fs::read_to_string(format!("/proc/{}/net/{file}", self.holder.id())).unwrap()
    }

    /// A number of a protocol's line in /proc/net/snmp.
    pub fn counter(&self, protocol: &str, name: &str) -> u64 {
        let text = self.net("snmp");
        let mut lines = text.lines().filter_map(|line| line.strip_prefix(protocol)?.strip_prefix(": "));
        let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
        let at = names.split(' ').position(|found| found == name).unwrap();
        values.split(' ').nth(at).unwrap().parse().unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

/// A process that is killed when it is dropped.
pub struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A router, two hosts next to it, and a third.
pub struct Net {
    pub a: Place,
    pub b: Place,
    pub c: Place,
    pub router: Place,
    before: Traces,
}

impl Net {
    pub fn new() -> Result<Self, Skip> {
        need_programs(&["unshare", "nsenter", "setpriv", "ip", "sysctl"])?;
        let router = Place::new(None)?;
        let host = || Place::new(Some(&router));
        let net = Self { a: host()?, b: host()?, c: host()?, router, before: traces() };
        let holders = [&net.a, &net.b, &net.c].map(|place| place.holder.id().to_string());
        net.router.set(&format!("set -- {}\n{SCRIPT}", holders.join(" ")))?;
        for (place, name, network) in [(&net.a, "a", "198.51.100"), (&net.b, "b", "203.0.113"), (&net.c, "c", "192.0.2")] {
            place.set(&format!(
                "ip link set lo up
                 ip addr add {network}.1/24 dev eth0
                 ip addr add 2001:db8:{name}::1/64 dev eth0 nodad
                 ip addr add fe80::1/64 dev eth0 nodad
                 ip link set eth0 up
                 ip route add default via {network}.254
                 ip -6 route add default via 2001:db8:{name}::fe"
            ))?;
        }
        Ok(net)
    }

    /// Of the tool no process is left, nor a device or mount here, nor anything
    /// that would hold the namespaces of the hosts.
    #[track_caller]
    pub fn nothing_left(self, tools: &[&Tool]) {
        for tool in tools {
            let limit = Duration::from_secs(20);
            within(limit, &format!("all processes end: {:?}", processes::of(tool)), || processes::of(tool).is_empty());
        }
        let Self { a, b, c, router, before } = self;
        drop((a, b, c));
        let hosts_are_gone = || !["to-a", "to-b", "to-c"].iter().any(|device| router.net("dev").contains(device));
        // A connection that was closed before its last bytes came through lives on in the kernel, and
        // its namespace with it, for as many repetitions as such a one has (tcp_orphan_retries).
        within(Duration::from_secs(180), "the hosts' namespaces end, and with them the router's devices", hosts_are_gone);
        let now = traces();
        assert!(now.is_within(&before), "{now:?}, before {before:?}");
    }
}

/// A listening agent.
pub struct Agent {
    child: Child,
    log: Arc<Mutex<String>>,
}

impl Agent {
    pub fn start(place: &Place, tool: &Tool, arguments: &[&str]) -> Self {
        Self::of(place.nettoll(tool, &[&["agent"], arguments].concat()))
    }

    /// One that is started by this command.
    pub fn of(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        if !line.starts_with("nettoll agent: listening on ") {
            let _ = stderr.read_to_string(&mut line);
            panic!("{line}");
        }
        let log: Arc<Mutex<String>> = Arc::default();
        let sink = Arc::clone(&log);
        std::thread::spawn(move || {
            let mut line = String::new();
            while stderr.read_line(&mut line).is_ok_and(|length| length > 0) {
                sink.lock().unwrap().push_str(&std::mem::take(&mut line));
            }
        });
        Self { child, log }
    }

    /// One of its sets of capabilities, by the name in `/proc`.
    pub fn capabilities(&self, set: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(set)?.strip_prefix(":\t")).unwrap();
        u64::from_str_radix(line, 16).unwrap()
    }

    /// It says these words on standard error, if not yet.
    #[track_caller]
    pub fn logs(&self, words: &str) {
        let log = || self.log.lock().unwrap().clone();
        within(Duration::from_secs(10), &format!("the agent's log says '{words}'"), || log().contains(words));
    }

    /// Ends it without a chance to clean up.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Ends it as its user does.
    #[track_caller]
    pub fn end(mut self) {
        signal(&self.child, Signal::SIGTERM);
        assert_eq!(self.child.wait().unwrap().code(), Some(0), "{}", self.log.lock().unwrap());
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn signal(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
}

/// How a process that was started ended, and what it said.
pub fn ended(child: Child) -> Answer {
    child.wait_with_output().unwrap().into()
}

/// A file that only its owner can read, in the tool's directory.
pub fn private(tool: &Tool, name: &str, text: &str) {
    tool.write(name, text);
    set_permissions(tool.path().join(name), Permissions::from_mode(0o600)).unwrap();
}

/// The options of the secret, whose file is made.
pub fn secret(tool: &Tool) -> [&'static str; 2] {
    private(tool, "secret", "correct horse battery staple\n");
    ["--secret-file", "secret"]
}

/// A datagram stream that loses nothing, a stream and transactions.
pub fn plan(blocks: u32) -> String {
    cells(
        blocks,
        r#"
        [[cells]]
        test = "UDP_STREAM"
        size = 1000
        rate = "4000/s"
        [[cells]]
        test = ["TCP_STREAM", "TCP_RR"]
        size = 1000
        nodelay = true
        "#,
    )
}

pub const CELLS: usize = 3;

/// A plan of these cells.
pub fn cells(blocks: u32, cells: &str) -> String {
    format!(
        r#"
        name = "routed"
        seed = 2026
        trial = {{ length = "30ms", warmup = "5ms" }}
        blocks = {{ least = {blocks}, most = {blocks} }}
        {cells}
        "#
    )
}

/// Each of these words is in a text, however it is wrapped.
#[track_caller]
pub fn says(text: &str, words: &[&str]) {
    let flat = one_line(text);
    for word in words {
        assert!(flat.contains(word), "'{word}' is missing: {text}");
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Waits for a number of stored trials.
#[track_caller]
pub fn has_trials(tool: &Tool, trials: usize) {
    let stored = || tool.try_stored().map_or(0, |stored| Stored::trials_so_far(&stored));
    within(Duration::from_secs(60), &format!("{trials} trials are stored"), || stored() >= trials);
}
