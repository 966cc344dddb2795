//! Hosts whose clocks tell another time.

use model::Warning;

use super::support::{Agent, B, Net, cells, secret};
use crate::support::tool::{Tool, program};
use crate::support::{Skip, succeeds};

crate::claims!(a_clock_that_is_a_quarter_of_an_hour_ahead);

const AHEAD_S: i64 = 900;

/// A clock that jumps in the middle of a trial cannot be had without a second
/// machine; the unit tests of `lab::clock` hold what is said of it.
fn a_clock_that_is_a_quarter_of_an_hour_ahead() -> Result<(), Skip> {
    if !succeeds("unshare -rT --fork --monotonic 900 true") {
        return Err(Skip("a time namespace with a clock of its own cannot be made here (unshare -T)".to_owned()));
    }
    let (net, tool) = (Net::new()?, Tool::new());
    let secret = secret(&tool);
    let (ahead, program) = (AHEAD_S.to_string(), program());
    let words = ["--time", "--monotonic", &ahead, "--fork", "--kill-child", program.to_str().unwrap(), "agent"];
    let agent = Agent::of(net.b.program(&tool, "unshare".as_ref(), &[&words[..], &secret].concat()));
    let host = format!("b={B}");
    let plan = cells(2, "[[cells]]\ntest = \"UDP_STREAM\"\nsize = 100\nrate = \"1000/s\"\nstamp = [false, true]");
    net.a.study(&tool, &plan, &[&["--host", &host][..], &secret].concat()).done();
    let mut signs = Vec::new();
    for (record, measured) in tool.stored().all_measured() {
        let clock = measured.clock.unwrap();
        // Host b is ahead, and receives unless the roles are exchanged.
        let truth = AHEAD_S * 1_000_000_000 * if record.swapped { -1 } else { 1 };
        assert!(clock.offset_ns.abs_diff(truth) <= clock.error_ns, "{}: {clock:?}", record.cell);
        assert!(clock.error_ns < 1_000_000_000);
        let doubts = |warning: &Warning| matches!(warning, Warning::ClockMoved { .. } | Warning::Misaligned { .. });
        assert!(!record.warnings.iter().any(doubts), "{:?}", record.warnings);
        signs.push(record.swapped);
    }
    assert!(signs.contains(&true) && signs.contains(&false));
    agent.kill();
    net.nothing_left(&[&tool]);
    Ok(())
}
