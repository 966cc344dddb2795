//! The clock that trials are timed with.

use std::io;
use std::time::Duration;

use model::Nanos;
use model::check::{Area, Check, Need};
use nix::time::{ClockId, clock_getres, clock_gettime};

use super::answer::{Subject, read, said};

/// Enough readings for a steady mean; well under 20 ms at the slowest clock.
const READINGS: u32 = 10_000;

/// A reading through a system call takes longer than this, one without less.
const SLOW: Duration = Duration::from_nanos(200);

/// Trials last 20 ms and more: a coarser clock would show in them.
const COARSE: Duration = Duration::from_micros(10);

pub(super) fn checks() -> Vec<Check> {
    let subject = |name, need| Subject { area: Area::Clock, name, need };
    vec![monotonic(subject("monotonic clock", Need::Required)), source(subject("cheap reading", Need::Useful))]
}

fn monotonic(subject: Subject) -> Check {
    const TRIED: &str = "clock_getres(CLOCK_MONOTONIC)";
    match clock_getres(ClockId::CLOCK_MONOTONIC).map(Duration::from) {
        Ok(resolution) if resolution <= COARSE => subject.present(format!("resolution {}", Nanos::from(resolution))),
        Ok(resolution) => subject.absent(
            format!("{TRIED}: {}", Nanos::from(resolution)),
            "Turn on high-resolution timers (CONFIG_HIGH_RES_TIMERS, no `highres=off` on the kernel's command line).",
        ),
        Err(errno) => subject.absent(said(TRIED, &errno.into()), "A sandbox seems to filter the clock: run nettoll outside it."),
    }
}

fn source(subject: Subject) -> Check {
    let name = read("/sys/devices/system/clocksource/clocksource0/current_clocksource").unwrap_or_else(|_| "unknown".to_owned());
    match cost_of_reading() {
        Ok(cost) if cost <= SLOW => subject.present(format!("{name}, {} ns a reading", cost.as_nanos())),
        Ok(cost) => subject.absent(
            format!("clock_gettime(CLOCK_MONOTONIC): {} ns a reading, clock source {name}", cost.as_nanos()),
            "Use the processor's own clock where it is sound (`clocksource=tsc` on the kernel's command line); request/response tests pay for each reading.",
        ),
        Err(error) => subject.absent(said("clock_gettime(CLOCK_MONOTONIC)", &error), "A sandbox seems to filter the clock: run nettoll outside it."),
    }
}

/// The time of one reading: the mean of many, timed with the clock itself.
fn cost_of_reading() -> io::Result<Duration> {
    let now = || clock_gettime(ClockId::CLOCK_MONOTONIC).map(Duration::from);
    let first = now()?;
    let mut last = first;
    for _ in 0..READINGS {
        last = now()?;
    }
    Ok(last.saturating_sub(first) / READINGS)
}
