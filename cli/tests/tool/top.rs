//! The machine's toll, live: what `nettoll top` says of traffic that a test makes.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::processes::{assert_nothing_left, traces};
use crate::support::tool::{Answer, Tool};
use crate::support::{Skip, need_programs};

crate::claims!(
    a_window_adds_up_and_shows_its_own_cost,
    datagrams_are_their_receivers_and_run_in_their_senders,
    a_user_without_privileges_is_shown_what_is_left_and_the_remedy,
    values_that_no_window_takes_are_refused,
    a_signal_ends_it_with_the_window_so_far,
);

/// Takes datagrams on a port of loopback, and prints the port.
const TAKE: &str = "import socket,time\n\
    s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.bind(('127.0.0.1',0)); s.settimeout(1)\n\
    print(s.getsockname()[1],flush=True)\n\
    end=time.time()+20\n\
    while time.time()<end:\n    try: s.recv(2048)\n    except OSError: pass\n";
/// Gives datagrams to that port, some 20,000 a second.
const GIVE: &str = "import socket,sys,time\n\
    s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.connect(('127.0.0.1',int(sys.argv[1])))\n\
    end=time.time()+20\n\
    while time.time()<end:\n    try:\n        for _ in range(40): s.send(b'x'*512)\n    except OSError: pass\n    time.sleep(0.002)\n";

/// A process that ends with the test.
struct Load(Child);

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn python(script: &str, argument: &str) -> Command {
    let mut command = Command::new("python3");
    command.args(["-c", script, argument]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// One window of some seconds as JSON, of a machine whose CPUs can be sampled.
fn window(tool: &Tool, arguments: &[&str]) -> Result<Value, Skip> {
    let found = tool.run(&[&["top", "--once", "-J"], arguments].concat()).done().json();
    match found["network"].is_object() {
        true => Ok(found),
        false => Err(Skip(found["refused"].to_string())),
    }
}

fn sum(rows: &Value) -> u64 {
    rows.as_array().unwrap().iter().map(|row| row["samples"].as_u64().unwrap()).sum()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

fn a_window_adds_up_and_shows_its_own_cost() -> Result<(), Skip> {
    let found = window(&Tool::new(), &["-t", "2s"])?;
    let sums = ["units", "processes", "interrupted"].map(|table| sum(&found[table]));
    assert_eq!([sums[0]; 3], sums, "{found}");
    let network = &found["network"];
    let parts = number(&network["call"]) + number(&network["softirq"]);
    // Figures have six digits.
    assert!((parts - number(&network["cpus"])).abs() < 1e-5, "{network}");
    let samples = &found["samples"];
    let [due, made] = ["due", "made"].map(|key| samples[key].as_u64().unwrap());
    // Timers of CPUs differ by 0.6 %, and the first and the last sample may be within the window or not.
    assert!(made > 0 && made <= due + due / 50 + 4 * found["cpus"].as_u64().unwrap(), "{samples}");
    assert!(number(&found["own"]["reader"]) > 0.0);
    Ok(())
}

fn datagrams_are_their_receivers_and_run_in_their_senders() -> Result<(), Skip> {
    need_programs(&["python3"])?;
    let mut taker = Load(python(TAKE, "").spawn().unwrap());
    let mut port = String::new();
    let output = taker.0.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut port).unwrap();
    let giver = Load(python(GIVE, port.trim()).spawn().unwrap());
    std::thread::sleep(Duration::from_millis(300));
    let found = window(&Tool::new(), &["-t", "4s", "--rate", "499"])?;
    if found["refused"].to_string().contains("softirq work") {
        return Err(Skip(found["refused"].to_string()));
    }
    let softirq = |pid: u32| {
        let row = found["processes"].as_array().unwrap().iter().find(|row| row["pid"] == pid);
        row.map_or(0.0, |row| number(&row["softirq"]))
    };
    let [taken, given] = [softirq(taker.0.id()), softirq(giver.0.id())];
    // The sender's own are completions, of which loopback has none.
    assert!(taken > 0.0 && taken > 4.0 * given, "softirqs for the receiver {taken}, for the sender {given}: {found}");
    let row = found["processes"].as_array().unwrap().iter().find(|row| row["pid"] == giver.0.id());
    assert!(number(&row.expect("the sender's calls are in samples")["call"]) > 0.0);
    Ok(())
}

fn a_user_without_privileges_is_shown_what_is_left_and_the_remedy() -> Result<(), Skip> {
    let answer = Tool::of_nobody().run(&["top", "--once", "-t", "1s"]).done();
    if !answer.stdout.contains("not known, because CPUs could not be sampled") {
        return Err(Skip("this machine lets every user sample its CPUs".to_owned()));
    }
    answer.says("Run as root");
    answer.says("own cost");
    Ok(())
}

fn values_that_no_window_takes_are_refused() -> Result<(), Skip> {
    let tool = Tool::new();
    let run = |arguments: &[&str]| -> Answer { tool.run(&[&["top", "--once"], arguments].concat()) };
    run(&["--rate", "0"]).refused(2, &["--rate 0", "1 to 10000"]);
    run(&["-t", "10ms"]).refused(2, &["-t", "1s"]);
    run(&["-J", "--rate", "20000"]).refused_in_json(2, &["--rate 20000"]);
    Ok(())
}

fn a_signal_ends_it_with_the_window_so_far() -> Result<(), Skip> {
    let before = traces();
    let tool = Tool::new();
    let child = tool.command(&["top", "-J"]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(2_500));
    kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM).unwrap();
    let answer = Answer::from(child.wait_with_output().unwrap());
    assert_eq!(answer.code, Some(1), "{answer:#?}");
    assert_eq!(answer.json()["format"], 1);
    assert_nothing_left(&tool, &before);
    Ok(())
}
