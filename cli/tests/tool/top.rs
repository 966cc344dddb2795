//! The machine's toll, live: what `nettoll top` says of traffic that a test makes.

pub mod agreement;
pub mod causes;
pub mod large;
pub mod networks;
pub mod recordings;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::processes::{assert_nothing_left, traces};
use crate::support::python::{Form, python as python_with};
use crate::support::tool::{Answer, Tool};
use crate::support::{Skip, need_programs};

crate::claims!(
    a_window_adds_up_and_shows_its_own_cost,
    datagrams_are_their_receivers_and_run_in_their_senders,
    who_moves_small_messages_one_a_call_is_advised_to_move_several,
    a_user_without_privileges_is_shown_what_is_left_and_the_remedy,
    values_that_no_window_takes_are_refused,
    a_reader_that_goes_ends_it,
    a_signal_ends_it_with_the_window_so_far,
    public_parsers_read_counters_that_add_up,
    scrapers_that_stall_hold_up_neither_the_reader_nor_others,
    counters_leave_this_machine_only_with_leave,
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

/// Some 20,000 messages of 512 B a second, a call each: the unit of this test has both ends.
fn who_moves_small_messages_one_a_call_is_advised_to_move_several() -> Result<(), Skip> {
    need_programs(&["python3"])?;
    let mut taker = Load(python(TAKE, "").spawn().unwrap());
    let mut port = String::new();
    let output = taker.0.stdout.take().unwrap();
    BufReader::new(output).read_line(&mut port).unwrap();
    let _giver = Load(python(GIVE, port.trim()).spawn().unwrap());
    std::thread::sleep(Duration::from_millis(300));
    let tool = Tool::new();
    let arguments = ["-t", "4s", "--rate", "499"];
    let seen = window(&tool, &arguments)?;
    let counted = |row: &Value| row["messages"].is_array();
    if !seen["units"].as_array().unwrap().iter().any(counted) {
        return Err(Skip("messages are not counted here, or no unit is known".to_owned()));
    }
    let found = tool.run(&[&["top", "--advise", "-J"][..], &arguments].concat()).done().json();
    let all = found["advice"].as_array().unwrap();
    assert!(all.len() <= 5, "{found}");
    for one in all {
        let [touched, low, of] = [&one["touched"]["cpus"], &one["touched"]["low"], &one["of"]].map(number);
        assert!(low > 0.0 && low <= touched && touched <= of + 1e-6, "{one}");
        let command = one["command"].as_str().unwrap();
        assert!(command.starts_with("nettoll advise --pid ") || command.starts_with("nettoll attach --cgroup "), "{command}");
    }
    let text = tool.run(&["top", "--advise", "-t", "1s"]).done().stdout;
    assert!(text.contains("with the most to gain") || text.contains("no unit spent"), "{text}");
    assert!(text.lines().all(|line| line.starts_with("   nettoll ") || line.chars().count() <= 80), "{text}");
    tool.run(&["top", "--advise", "--once"]).refused(2, &["--advise", "--once"]);
    Ok(())
}

fn datagrams_are_their_receivers_and_run_in_their_senders() -> Result<(), Skip> {
    need_programs(&["python3"])?;
    let mut taker = Load(python(TAKE, "").spawn().unwrap());
    let mut port = String::new();
    let output = taker.0.stdout.take().unwrap();
    BufReader::new(output).read_line(&mut port).unwrap();
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
    tool.run(&["top", "--listen", "localhost:9469"]).refused(2, &["'localhost:9469'", "write 127.0.0.1:9469"]);
    let gone = tool.run(&["top", "--textfile", "none/x.prom", "-t", "1s"]);
    gone.refused(1, &["cannot write none/x.prom: No such file or directory; check the path"]);
    Ok(())
}

fn a_reader_that_goes_ends_it() -> Result<(), Skip> {
    let mut child = Tool::new().command(&["top", "-J"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(began.elapsed() < Duration::from_secs(60), "it writes to no reader");
        std::thread::sleep(Duration::from_millis(100));
    }
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

/// `top` that offers counters, without a terminal, and where.
fn offering(tool: &Tool, arguments: &[&str]) -> (Load, String) {
    let arguments = [&["top", "--listen", "127.0.0.1:0"], arguments].concat();
    let mut child = tool.command(&arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let said = child.stderr.take().unwrap();
    BufReader::new(said).read_line(&mut line).unwrap();
    let address = line.split("http://").nth(1).and_then(|rest| rest.split('/').next()).unwrap_or_else(|| panic!("{line}"));
    (Load(child), address.to_owned())
}

/// The page of counters.
fn scrape(address: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, page) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("200 OK") && head.contains("application/openmetrics-text; version=1.0.0"), "{head}");
    page.to_owned()
}

/// The sum of the figures of a family.
fn counted(page: &str, family: &str) -> f64 {
    let lines = page.lines().filter(|line| line.starts_with(family));
    lines.map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()).sum()
}

/// Reads both forms, and prints the families that have figures; the sums over units have to be the totals.
const PARSE: &str = "
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as prometheus
for path, parse in zip(sys.argv[1:], [openmetrics, prometheus]):
    families = {family.name: family for family in parse(open(path).read())}
    total = lambda name: sum(sample.value for sample in families[name].samples)
    sums = [total('nettoll_network_cpu_seconds'), total('nettoll_unit_network_cpu_seconds')]
    assert abs(sums[0] - sums[1]) < 1e-9 and sums[0] > 0, sums
    assert families['nettoll_own_cpu_seconds'].type == 'counter'
    assert not any('pid' in sample.labels for family in families.values() for sample in family.samples)
    print(' '.join(sorted(families)))
";

fn public_parsers_read_counters_that_add_up() -> Result<(), Skip> {
    need_programs(&["python3"])?;
    let parsers = python_with("prometheus", Form::Wheel, &["prometheus_client==0.26.0"])?;
    let _load = Load(python(GIVE, "9").spawn().unwrap());
    let tool = Tool::new();
    let (mut top, address) = offering(&tool, &["--textfile", "nettoll.prom", "-t", "14s"]);
    // A busy machine takes its time before the first second of samples.
    let mut pages = (0..8).map(|_| {
        std::thread::sleep(Duration::from_secs(1));
        scrape(&address)
    });
    let Some(first) = pages.find(|page| counted(page, "nettoll_network_cpu_seconds_total") > 0.0) else {
        return Err(Skip("CPUs cannot be sampled here".to_owned()));
    };
    assert!(top.0.wait().unwrap().success());
    std::fs::write(tool.path().join("first.txt"), first).unwrap();
    let read = Command::new(parsers).args(["-c", PARSE, "first.txt", "nettoll.prom"]).current_dir(tool.path()).output().unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    let families = String::from_utf8_lossy(&read.stdout);
    assert!(families.lines().count() == 2 && families.lines().all(|line| line.contains("nettoll_sample_interval_seconds")), "{families}");
    let left: Vec<_> = std::fs::read_dir(tool.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().ends_with(".new")), "{left:?}");
    Ok(())
}

fn scrapers_that_stall_hold_up_neither_the_reader_nor_others() -> Result<(), Skip> {
    let tool = Tool::new();
    let (_top, address) = offering(&tool, &[]);
    std::thread::sleep(Duration::from_millis(1_500));
    let before = scrape(&address);
    let silent: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(&address).unwrap()).collect();
    let huge = std::thread::spawn({
        let address = address.clone();
        move || {
            let mut stream = TcpStream::connect(address).unwrap();
            // As long as it is read.
            (0..1_000).take_while(|_| stream.write_all(&[b'x'; 8 << 10]).is_ok()).count()
        }
    });
    std::thread::sleep(Duration::from_secs(3));
    drop(silent);
    let after = scrape(&address);
    assert!(huge.join().unwrap() < 1_000, "a request without an end is cut off");
    let own = |page: &str| counted(page, "nettoll_own_cpu_seconds_total");
    assert!(own(&after) > own(&before), "{before}{after}");
    Ok(())
}

fn counters_leave_this_machine_only_with_leave() -> Result<(), Skip> {
    let tool = Tool::new();
    tool.run(&["top", "--listen", "0.0.0.0:0"]).refused(2, &["names of units", "--expose"]);
    tool.run(&["top", "--textfile", "nettoll.txt"]).refused(2, &[".prom"]);
    tool.run(&["top", "--textfile", "gone/nettoll.prom", "-t", "2s"]).refused(1, &["gone/nettoll.prom"]);
    let answer = tool.run(&["top", "--listen", "0.0.0.0:0", "--expose", "-t", "1s"]).done();
    assert!(answer.stderr.contains("every machine that reaches this address"), "{}", answer.stderr);
    Ok(())
}
