//! Waits against what the scheduler itself says.

use std::time::Instant;

use model::Nanos;
use profile::Who;
use profile::waits::WaitRecorder;

use crate::Skip;
use crate::observed::Observed;

const LONGEST: Nanos = Nanos::from_millis(5_000);

pub fn against_schedstat() -> Result<(), Skip> {
    let mut observed = Observed::start("turns:50000")?;
    let begun = Instant::now();
    let recorder = WaitRecorder::open(Who::Workers(observed.pid()), LONGEST)?;
    println!("attaching the recorder of waits: {:?}", begun.elapsed());
    let report = observed.work();
    let log = recorder.finish()?;
    let waits = log.waits(report.tid, report.window)?;
    println!("{report:?}\n{waits:?}");
    let wall = report.window.length().get();
    let blocked = wall - report.cpu.get() - report.run_delay.get();
    let near = |one: u64, other: u64| (one as f64 - other as f64).abs() <= 0.05 * wall as f64;
    assert!(near(waits.runnable.get(), report.run_delay.get()), "runnable");
    assert!(near(waits.blocked.get(), blocked), "blocked: {blocked}");
    assert!(near(waits.blocked.get() + waits.runnable.get() + report.cpu.get(), wall), "together they are the wall time");
    assert!(waits.switches.abs_diff(report.switches) <= 1 + report.switches / 100, "{waits:?} {report:?}");
    assert!(waits.switches > 10_000, "it was to block for each of its turns");
    Ok(())
}

pub fn of_a_spinning_process() -> Result<(), Skip> {
    let mut observed = Observed::start("call:500")?;
    let recorder = WaitRecorder::open(Who::Workers(observed.pid()), LONGEST)?;
    let report = observed.work();
    let waits = recorder.finish()?.waits(report.tid, report.window)?;
    println!("{report:?}\n{waits:?}");
    assert!(waits.blocked.get() < report.window.length().get() / 50, "{waits:?}");
    let late = observed_late(report.tid);
    assert!(late, "a window from before the recording is refused");
    Ok(())
}

/// Whether a recorder refuses a window that began before it.
fn observed_late(tid: u32) -> bool {
    let window = model::end::Window { start: Nanos::new(1), end: Nanos::new(2) };
    let recorder = WaitRecorder::open(Who::Process(std::process::id()), LONGEST);
    recorder.and_then(WaitRecorder::finish).is_ok_and(|log| log.waits(tid, window).is_err())
}
