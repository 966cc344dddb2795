//! Which service makes another bear softirqs, and at whose sockets packets are dropped: two units of a test's own.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::{Load, number, window};
use crate::support::tool::Tool;
use crate::support::{Skip, need_programs};

crate::claims!(a_service_whose_sends_end_in_anothers_softirqs_is_named,);

/// Takes some datagrams of many on a port of loopback, and prints the port.
const TAKE_FEW: &str = "import socket,time\n\
    s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.bind(('127.0.0.1',0)); print(s.getsockname()[1],flush=True)\n\
    while True: s.recv(2048); time.sleep(0.001)\n";
/// Gives as many as it can to that port.
const GIVE: &str = "import socket,sys\n\
    s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.connect(('127.0.0.1',int(sys.argv[1]))); print('ready',flush=True)\n\
    while True:\n    try: s.send(b'x'*512)\n    except OSError: pass\n";
/// A window with two lists of sockets, which are 5 s apart.
const WINDOW: [&str; 4] = ["-t", "8s", "--rate", "499"];

/// A unit, and the processes in it, which end with the test.
struct Unit {
    path: PathBuf,
    loads: Vec<Load>,
}

impl Unit {
    fn new(name: &str) -> Result<Self, Skip> {
        let roots = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(Path::new);
        let root = roots.into_iter().find(|root| root.join("cgroup.procs").exists());
        let root = root.ok_or_else(|| Skip("this machine has no cgroups of the second version".to_owned()))?;
        let path = root.join(format!("{name}-{}.service", std::process::id()));
        fs::create_dir(&path).map_err(|error| Skip(format!("make {}: {error}", path.display())))?;
        Ok(Self { path, loads: Vec::new() })
    }

    /// Starts a script in the unit; returns the line that it prints.
    fn start(&mut self, script: &str, argument: &str) -> String {
        let mut command = Command::new("sh");
        // A socket is its maker's unit's: the process moves before it makes one.
        command.args(["-c", "echo $$ >\"$0\"/cgroup.procs && exec python3 -c \"$1\" \"$2\""]).arg(&self.path).args([script, argument]);
        let mut load = Load(command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap());
        let mut line = String::new();
        BufReader::new(load.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        self.loads.push(load);
        line.trim().to_owned()
    }

    /// The unit as a row has it.
    fn is(&self, path: &Value) -> bool {
        let name = self.path.file_name().unwrap().to_string_lossy();
        path.as_str().is_some_and(|path| path.ends_with(&*name))
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        self.loads.clear();
        // A process that has ended leaves its unit a moment later.
        let gone = (0..50).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            fs::remove_dir(&self.path).is_ok()
        });
        if !gone {
            println!("{} is left", self.path.display());
        }
    }
}

fn a_service_whose_sends_end_in_anothers_softirqs_is_named() -> Result<(), Skip> {
    need_programs(&["python3", "sh"])?;
    let (mut taker, mut giver) = (Unit::new("taker")?, Unit::new("giver")?);
    let port = taker.start(TAKE_FEW, "");
    assert_eq!(giver.start(GIVE, &port), "ready");
    let found = window(&Tool::new(), &WINDOW)?;
    if found["refused"].to_string().contains("softirq work") {
        return Err(Skip(found["refused"].to_string()));
    }
    let cause = &found["cause"];
    assert!(giver.is(&cause["sender"]) && taker.is(&cause["receiver"]), "{cause}, of {found}");
    let [low, cpus, high] = ["low", "cpus", "high"].map(|key| number(&cause[key]));
    let softirq = number(&found["network"]["softirq"]);
    assert!(0.0 < low && low <= cpus && cpus <= high && cpus <= softirq * 1.000_01, "{cause} of {softirq}");
    let row = |unit: &Unit| found["units"].as_array().unwrap().iter().find(|row| unit.is(&row["name"])).unwrap_or(&Value::Null);
    let [dropped, none] = [row(&taker), row(&giver)].map(|row| number(&row["drops"]));
    assert!(dropped > 0.0 && none == 0.0, "dropped at the taker {dropped}, at the giver {none}: {found}");
    println!("{cpus:.3} of {softirq:.3} CPUs of softirqs, {dropped:.0} datagrams dropped a second");
    Ok(())
}
