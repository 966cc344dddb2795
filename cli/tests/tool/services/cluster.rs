//! A Slurm of four nodes, as `make test-services` unpacks it: a network namespace for each,
//! joined by a bridge, with a host name and an `/etc/hosts` of its own.
//!
//! ```text
//! n1 198.51.100.1 --+
//! n2 198.51.100.2 --+-- bridge 198.51.100.254 ctl (munged, slurmctld)
//! n3, n4          --+
//! ```
//!
//! Its daemons live in the namespaces and are ended with all that they started, by id.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use super::folder;
use crate::agents::support::Place;
use crate::support::processes::{Traces, traces};
use crate::support::tool::{Answer, Tool};
use crate::support::{Skip, directory, need_programs, need_root, within};

/// The nodes.
pub const NODES: usize = 4;
/// Time in which daemons start and nodes report themselves.
const START_LIMIT: Duration = Duration::from_secs(120);

/// A running Slurm. Dropped, all of its processes end, and its namespaces with them.
pub struct Cluster {
    nodes: Vec<Place>,
    control: Place,
    daemons: Vec<Child>,
    /// Configuration, sockets, logs and spool of the daemons.
    own: tempfile::TempDir,
    packages: PathBuf,
    before: Traces,
}

impl Cluster {
    /// Starts one, whose nodes are idle.
    pub fn start() -> Result<Self, Skip> {
        need_root()?;
        need_programs(&["unshare", "nsenter", "setpriv", "ip", "mount"])?;
        let packages = folder("slurm")?;
        let before = traces();
        let control = Place::new(None)?;
        let nodes = (0..NODES).map(|_| Place::new(Some(&control))).collect::<Result<Vec<_>, Skip>>()?;
        let mut cluster = Self { nodes, control, daemons: Vec::new(), own: directory(false), packages, before };
        cluster.join()?;
        cluster.configure();
        cluster.start_daemons();
        cluster.until_idle()?;
        Ok(cluster)
    }

    fn join(&self) -> Result<(), Skip> {
        self.control.set("ip link set lo up; ip link add lab type bridge; ip addr add 198.51.100.254/24 dev lab; ip link set lab up")?;
        for (number, node) in (1..).zip(&self.nodes) {
            self.control.set(&format!(
                "ip link add to-n{number} type veth peer name eth0 netns {}; ip link set to-n{number} master lab up",
                node.holder()
            ))?;
            node.set(&format!("ip link set lo up; ip addr add 198.51.100.{number}/24 dev eth0; ip link set eth0 up"))?;
        }
        Ok(())
    }

    fn write(&self, name: &str, text: &str, mode: u32) {
        let path = self.own.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn configure(&self) {
        let at = self.own.path();
        for folder in ["munge", "state", "spool", "run", "log"] {
            fs::create_dir(at.join(folder)).unwrap();
        }
        (1..=NODES).for_each(|number| fs::create_dir(at.join(format!("spool/n{number}"))).unwrap());
        let key: Vec<u8> = (0..1_024_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        fs::write(at.join("munge/key"), key).unwrap();
        fs::set_permissions(at.join("munge/key"), fs::Permissions::from_mode(0o600)).unwrap();
        let names: String = (1..=NODES).map(|number| format!("198.51.100.{number} n{number}\n")).collect();
        self.write("hosts", &format!("127.0.0.1 localhost\n198.51.100.254 ctl\n{names}"), 0o644);
        // A name and an /etc/hosts of its own for what is started by it.
        let script =
            format!("set -e\necho \"$1\" >/proc/sys/kernel/hostname\nmount --bind {}/hosts /etc/hosts\nshift\nexec \"$@\"\n", at.display());
        self.write("begin", &script, 0o755);
        // Debian's programs are called sinfo-wlm and so on, for links that installing makes.
        fs::create_dir(at.join("bin")).unwrap();
        let programs = ["usr/bin", "usr/sbin"].map(|folder| fs::read_dir(self.packages.join(folder)).unwrap());
        for program in programs.into_iter().flatten().map(|entry| entry.unwrap()) {
            let name = program.file_name().into_string().unwrap();
            std::os::unix::fs::symlink(program.path(), at.join("bin").join(name.strip_suffix("-wlm").unwrap_or(&name))).unwrap();
        }
        let plugins = self.libraries().join("slurm-wlm").display().to_string();
        self.write("slurm.conf", &CONFIGURATION.replace("@DIR@", &at.display().to_string()).replace("@PLUGINS@", &plugins), 0o644);
    }

    /// The folder of shared libraries, below one that the machine type names.
    fn libraries(&self) -> PathBuf {
        let mut found = fs::read_dir(self.packages.join("usr/lib")).unwrap().map(|entry| entry.unwrap().path());
        found.find(|path| path.join("slurm-wlm").is_dir()).unwrap_or_else(|| self.packages.join("usr/lib"))
    }

    /// A command in the place of the controller (`ctl`) or of a node, under its name.
    fn command(&self, tool: &Tool, place: &Place, name: &str, words: &[&str]) -> Command {
        let begin = self.own.path().join("begin").display().to_string();
        let mut command = place.program(tool, Path::new("unshare"), &[&["-u", "-m", "sh", &begin, name], words].concat());
        let libraries = self.libraries().display().to_string();
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}/bin:{path}:/usr/sbin:/sbin", self.own.path().display()));
        command.env("LD_LIBRARY_PATH", format!("{libraries}:{libraries}/slurm-wlm"));
        command.env("SLURM_CONF", self.own.path().join("slurm.conf"));
        command
    }

    fn start_daemons(&mut self) {
        // Whose files its processes would be known by is of no account: they are found by their namespace.
        let tool = Tool::new();
        let at = self.own.path().display().to_string();
        let stepd = format!("{at}/bin/slurmstepd");
        let mut daemons = Vec::new();
        let munged: Vec<String> = ["key-file=key", "socket=socket", "pid-file=pid", "log-file=log", "seed-file=seed"]
            .iter()
            .map(|option| option.replacen('=', &format!("={at}/munge/"), 1))
            .map(|option| format!("--{option}"))
            .collect();
        let munged: Vec<&str> = ["munged", "--foreground", "--force"].into_iter().chain(munged.iter().map(String::as_str)).collect();
        daemons.push((self.command(&tool, &self.control, "ctl", &munged), "munged".to_owned()));
        daemons.push((self.command(&tool, &self.control, "ctl", &["slurmctld", "-D"]), "slurmctld".to_owned()));
        for (number, node) in (1..).zip(&self.nodes) {
            let name = format!("n{number}");
            daemons.push((self.command(&tool, node, &name, &["slurmd", "-D", "-N", &name, "-d", &stepd]), name));
        }
        for (mut command, name) in daemons {
            let said = fs::File::create(self.own.path().join(format!("log/{name}.said"))).unwrap();
            command.current_dir(self.own.path()).stdout(said.try_clone().unwrap()).stderr(said);
            self.daemons.push(command.spawn().unwrap());
            if name == "munged" {
                let socket = self.own.path().join("munge/socket");
                within(START_LIMIT, "munged has a socket", || socket.exists() || self.has_ended());
            }
        }
    }

    fn has_ended(&mut self) -> bool {
        self.daemons.iter_mut().any(|daemon| daemon.try_wait().unwrap().is_some())
    }

    /// Waits until every node is idle. A daemon that cannot run here says why.
    fn until_idle(&mut self) -> Result<(), Skip> {
        let tool = Tool::new();
        let begun = std::time::Instant::now();
        loop {
            let told = self.run(&tool, &["sinfo", "-h", "-N", "-o", "%N %t"]).stdout;
            if told.lines().filter(|line| line.ends_with(" idle")).count() == NODES {
                return Ok(());
            }
            if self.has_ended() || begun.elapsed() > START_LIMIT {
                return Err(Skip(format!("Slurm's daemons do not run here: {}", self.last_words())));
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// What the daemons said last, in one line.
    fn last_words(&self) -> String {
        let logs = fs::read_dir(self.own.path().join("log")).unwrap().map(|entry| entry.unwrap().path());
        let last = |path: PathBuf| {
            let text = String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into_owned();
            let line = text.lines().rev().find(|line| line.contains("error") || line.contains("fatal")).map(str::to_owned)?;
            Some(format!("{}: {line}", path.file_name()?.to_str()?))
        };
        logs.filter_map(last).collect::<Vec<_>>().join("; ")
    }

    /// Runs a command of Slurm's where the controller is.
    pub fn run(&self, tool: &Tool, words: &[&str]) -> Answer {
        self.command(tool, &self.control, "ctl", words).output().unwrap().into()
    }

    /// Submits a script that is in the tool's directory; `sbatch` ends with it and as it does.
    pub fn submit(&self, tool: &Tool, script: &str, options: &[&str]) -> Child {
        let words = [&["sbatch", "--wait", "--output=said", "--error=said"], options, &[script]].concat();
        let mut command = self.command(tool, &self.control, "ctl", &words);
        let path = command.get_envs().find_map(|(name, value)| value.filter(|_| name == "PATH")).unwrap().to_owned();
        let path = [tool.path().join("bin").into_os_string(), path].join(std::ffi::OsStr::new(":"));
        let at = tool.path();
        command.env("PATH", path).env("HOME", at.join("home")).env("TMPDIR", at.join("tmp")).env("XDG_CACHE_HOME", at.join("cache"));
        command.spawn().unwrap()
    }

    /// Ends a node with all that runs on it.
    pub fn cut_power(&self, node: usize) {
        self.nodes[node - 1].cut_power();
    }

    /// What is there in the end: nothing.
    #[track_caller]
    pub fn nothing_left(mut self) {
        self.end();
        let Self { nodes, control, before, .. } = &mut self;
        nodes.clear();
        // See the note on orphaned connections at `Net::nothing_left`.
        within(Duration::from_secs(180), "the nodes' namespaces end, and with them their links", || !control.net("dev").contains("to-n"));
        let now = traces();
        assert!(now.is_within(before), "{now:?}, before {before:?}");
    }

    fn end(&mut self) {
        self.nodes.iter().chain([&self.control]).for_each(Place::cut_power);
        for mut daemon in self.daemons.drain(..) {
            let _ = daemon.wait();
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.end();
    }
}

/// What a site would write, but for its paths and for shorter times.
const CONFIGURATION: &str = "ClusterName=lab
SlurmctldHost=ctl(198.51.100.254)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=@DIR@/munge/socket
CredType=cred/munge
PluginDir=@PLUGINS@
MpiDefault=none
SwitchType=switch/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SlurmdTimeout=10
MessageTimeout=5
TCPTimeout=2
KillWait=2
StateSaveLocation=@DIR@/state
SlurmdSpoolDir=@DIR@/spool/%n
SlurmctldPidFile=@DIR@/run/ctld.pid
SlurmdPidFile=@DIR@/run/%n.pid
SlurmctldLogFile=@DIR@/log/ctld.log
SlurmdLogFile=@DIR@/log/%n.log
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
LaunchParameters=use_interactive_step
MailProg=/bin/true
NodeName=n[1-4] NodeAddr=198.51.100.[1-4] CPUs=2 State=UNKNOWN
PartitionName=lab Nodes=ALL Default=YES MaxTime=60 State=UP
";
