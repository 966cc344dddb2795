//! The loop with a made terminal, and the whole on a real one, which `script` of util-linux makes.

use std::collections::VecDeque;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};
use std::{env, io};

use analysis::top::{Cpus, Network, Row, RowKind, Snapshot};
use nix::sys::signal::{Signal, raise};
use ratatui_core::backend::TestBackend;
use ratatui_core::terminal::Terminal;
use report::top::{Key, Looks, Target, View};

use super::{Ending, Input, Signals, Snapshots, Turn, follow, show};

/// A machine with one unit.
fn machine(unit: &str) -> Snapshot {
    let all = Cpus { cpus: 0.5, low: 0.4, high: 0.6 };
    let row = Row {
        kind: RowKind::Unit,
        name: format!("/system.slice/{unit}"),
        pid: None,
        unit: None,
        processes: 1,
        samples: 50,
        all,
        call: 0.25,
        softirq: 0.25,
        softirq_met: 0.1,
        busy: 0.4,
        messages: None,
        bytes: None,
        wait_ns: None,
        connections: None,
        drops: None,
        parts: [].into(),
    };
    Snapshot {
        cpus: 2,
        hz: 99.0,
        elapsed_ns: 1_000_000_000,
        network: Some(Network { all, ..Network::default() }),
        units: vec![row],
        ..Snapshot::default()
    }
}

struct Made {
    terminal: Terminal<TestBackend>,
    shown: Snapshots,
    view: View,
    signals: Signals,
}

impl Made {
    fn new() -> Self {
        let terminal = Terminal::new(TestBackend::new(60, 12)).unwrap();
        Self { terminal, shown: Snapshots::default(), view: View::default(), signals: Signals::of([]).unwrap() }
    }

    /// Follows until the inputs end, which is an answer of the terminal.
    fn follow(&mut self, snapshots: &Receiver<Snapshot>, inputs: &[Input]) -> Option<Turn> {
        let mut inputs: VecDeque<Input> = inputs.iter().copied().collect();
        let next = || inputs.pop_front().map(Some).ok_or_else(|| io::Error::other("no more keys"));
        follow(&mut self.terminal, &mut self.shown, &mut self.view, Looks::default(), snapshots, next, &self.signals).ok()
    }

    fn text(&self) -> String {
        self.terminal.backend().to_string()
    }
}

fn letter(letter: char) -> Input {
    Input::Key(Key::Letter(letter))
}

#[test]
fn the_newest_snapshot_is_drawn_and_a_frozen_screen_keeps_its_own() {
    let ((sender, snapshots), mut made) = (channel(), Made::new());
    assert_eq!(made.follow(&snapshots, &[]), None);
    assert!(made.text().contains("measuring the first window"), "{}", made.text());
    sender.send(machine("old")).unwrap();
    sender.send(machine("first")).unwrap();
    made.follow(&snapshots, &[]);
    assert!(made.text().contains("first") && !made.text().contains("old"), "{}", made.text());
    made.follow(&snapshots, &[letter('f')]);
    sender.send(machine("second")).unwrap();
    made.follow(&snapshots, &[]);
    assert!(made.text().contains("first") && made.text().contains("FROZEN"), "{}", made.text());
    made.follow(&snapshots, &[letter('f')]);
    assert!(made.text().contains("second") && !made.text().contains("FROZEN"), "{}", made.text());
}

#[test]
fn keys_and_signals_end_it() {
    let ((sender, snapshots), mut made) = (channel(), Made::new());
    // Before the first window as well.
    assert_eq!(made.follow(&snapshots, &[letter('x'), letter('q')]), Some(Turn::End(Ending::Quit)));
    sender.send(machine("nginx.service")).unwrap();
    assert_eq!(made.follow(&snapshots, &[letter('h'), letter('q'), letter('q')]), Some(Turn::End(Ending::Quit)));
    assert_eq!(made.follow(&snapshots, &[letter('a'), Input::End]), Some(Turn::End(Ending::Quit)));
    made.view = View::default();
    let target = Target::Unit("/system.slice/nginx.service".to_owned());
    assert_eq!(made.follow(&snapshots, &[letter('a'), letter('y')]), Some(Turn::End(Ending::Attach(target))));
    assert_eq!(made.follow(&snapshots, &[Input::Stop]), Some(Turn::Stop));
    assert_eq!(made.follow(&snapshots, &[Input::Redraw]), Some(Turn::Again));
    for (flag, turn) in [
        (made.signals.continued.clone(), Turn::Again),
        (made.signals.stop.clone(), Turn::Stop),
        (made.signals.end.clone(), Turn::End(Ending::Interrupted)),
    ] {
        flag.store(true, Ordering::Relaxed);
        assert_eq!(made.follow(&snapshots, &[]), Some(turn));
    }
    made.signals.end.store(false, Ordering::Relaxed);
    made.signals.stop.store(false, Ordering::Relaxed);
    drop(sender);
    assert_eq!(made.follow(&snapshots, &[]), Some(Turn::End(Ending::Closed)));
}

/// Set in the process that `script` starts: the way in which it is to end.
const WAY: &str = "NETTOLL_TEST_SCREEN";
/// Printed on the usual screen, where the terminal was given back.
const ENDED: &str = "the screen ended:";

/// Runs in a terminal that another claim makes.
#[test]
#[allow(clippy::print_stdout, reason = "the claim that started this reads it")]
fn in_a_terminal() {
    let Ok(way) = env::var(WAY) else { return };
    let (sender, snapshots) = sync_channel(1);
    // A measuring thread, which ends with the process.
    let measure = move || {
        for turn in 0..50 {
            if sender.send(machine("nginx.service")).is_err() {
                return;
            }
            match (turn, way.as_str()) {
                (2, "closed") => return,
                (2, "panic") => panic!("a bug"),
                (2, "SIGTERM") => raise(Signal::SIGTERM).unwrap(),
                (2, "SIGTSTP") => raise(Signal::SIGTSTP).unwrap(),
                _ => {}
            }
            thread::sleep(Duration::from_millis(100));
        }
    };
    thread::spawn(measure);
    let ending = show(&snapshots);
    println!("{ENDED} {ending:?}");
}

/// The bytes that a terminal gets when the screen ends in a way, with these keys typed.
fn on_a_terminal(way: &str, keys: &str) -> Option<String> {
    let program = env::current_exe().unwrap();
    let command = format!("stty rows 24 cols 80; exec '{}' top::screen::tests::in_a_terminal --exact --nocapture", program.display());
    let start = || {
        let mut script = Command::new("script");
        script.args(["-qec", &command, "/dev/null"]).env(WAY, way).env("TERM", "xterm").env_remove("NO_COLOR").env("LC_ALL", "C.UTF-8");
        script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()
    };
    let mut child = match start() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        child => child.unwrap(),
    };
    let mut stdin = child.stdin.take().unwrap();
    let keys = keys.to_owned();
    let typist = thread::spawn(move || {
        // After the first window was drawn.
        thread::sleep(Duration::from_millis(700));
        let _ = io::Write::write_all(&mut stdin, keys.as_bytes());
        thread::sleep(Duration::from_millis(2_500));
    });
    let started = Instant::now();
    let output = child.wait_with_output().unwrap();
    typist.join().unwrap();
    assert!(started.elapsed() < Duration::from_secs(30), "{way} takes too long");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn the_terminal_is_given_back_however_it_ends() {
    const ENTER: &str = "\u{1b}[?1049h";
    const LEAVE: &str = "\u{1b}[?1049l";
    for (way, keys, ending) in [
        ("keys", "q", "Ok(Quit)"),
        ("keys", "\u{3}", "Ok(Quit)"),
        ("keys", "ay", "Ok(Attach(Unit(\"/system.slice/nginx.service\")))"),
        ("closed", "", "Ok(Closed)"),
        ("panic", "", "Ok(Closed)"),
        ("SIGTERM", "", "Ok(Interrupted)"),
    ] {
        let Some(text) = on_a_terminal(way, keys) else {
            eprintln!("not run: there is no `script`");
            return;
        };
        let (screen, after) = text.rsplit_once(LEAVE).unwrap_or_else(|| panic!("{way}: {text:?}"));
        assert!(after.contains(&format!("{ENDED} {ending}")), "{way}: {after:?}");
        assert_eq!((text.matches(ENTER).count(), text.matches(LEAVE).count()), (1, 1), "{way}: {text:?}");
        assert_eq!((text.matches("\u{1b}[?25l").count() > 0, screen.ends_with("\u{1b}[?25h")), (true, true), "{way}: {text:?}");
        assert!(screen.contains("nginx.service"), "{way}: {text:?}");
        // In raw mode a line would not begin at the left.
        assert!(after.contains("\r\n"), "{way}: {after:?}");
        assert_eq!(after.contains("a bug"), way == "panic", "{way}: {after:?}");
    }
}
