//! Cost of a sample on this machine, by trying.
//!
//! A timer's interrupt costs 1 to 4 µs on bare metal and up to 20 where a hypervisor delivers
//! it. The period of a receipt follows from that.

use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixDatagram;
use std::thread;
use std::time::{Duration, Instant};

use model::profile::SampleSource;
use model::{Nanos, Refusal};
use nix::unistd::gettid;

use super::{Sampler, Settings, Target};
use crate::system::bind_this_thread;
use sys::refused_call;

/// What sees the event before it starts.
type Tie<'a> = dyn Fn(BorrowedFd) -> Result<(), Refusal> + Sync + 'a;

/// Distance of samples while their cost is measured: short enough that 1 µs shows.
const PERIOD: u64 = 53_381;
/// Pairs of one run with samples and one without; the shortest of each count, since whatever
/// disturbs a run makes it longer.
const PAIRS: usize = 12;
/// About how long a run takes.
const RUN: Duration = Duration::from_millis(4);
/// Calls between two looks at the clock while the number of calls of a run is found.
const STEP: u32 = 64;

/// Returns the time that one sample with its chain of calls takes from what runs on `cpu`, with whatever `tie` ties to its
/// event. Takes some 100 ms.
///
/// # Errors
/// When nothing can be sampled here, or the thread cannot be bound to `cpu`.
pub fn of_sample(cpu: u32, tie: impl Fn(BorrowedFd) -> Result<(), Refusal> + Sync) -> Result<Nanos, Refusal> {
    // A thread of its own, which may be bound without moving anybody.
    let measured = thread::scope(|scope| scope.spawn(|| measure(cpu, &tie)).join());
    measured.unwrap_or_else(|_| Err(Refusal::new("the cost of a sample", "the measuring thread ended early", "Give a period")))
}

fn measure(cpu: u32, tie: &Tie) -> Result<Nanos, Refusal> {
    let refused = |tried: &str, error: std::io::Error| refused_call("the cost of a sample", tried, &error, "Give a period");
    bind_this_thread(cpu).map_err(|error| refused("sched_setaffinity", error))?;
    let sockets = UnixDatagram::pair().map_err(|error| refused("socketpair", error))?;
    let calls = calls_of_a_run(&sockets);
    let (mut with, mut without) = (Duration::MAX, Duration::MAX);
    for pair in 0..PAIRS {
        for sampled in [pair % 2 == 0, pair % 2 != 0] {
            let sampler = if sampled { Some(started(cpu, tie)?) } else { None };
            let took = run(&sockets, calls);
            drop(sampler);
            let shortest = if sampled { &mut with } else { &mut without };
            *shortest = took.min(*shortest);
        }
    }
    let samples = with.as_nanos() as f64 / PERIOD as f64;
    Ok(Nanos::new((with.saturating_sub(without).as_nanos() as f64 / samples) as u64))
}

/// A sampler of the whole CPU, or of this thread where that is refused.
fn started(cpu: u32, tie: &Tie) -> Result<Sampler, Refusal> {
    let settings =
        |target| Settings { source: Some(SampleSource::CpuClock), period: PERIOD, ..Settings::new(target, Nanos::from(RUN * 4)) };
    let whole = Sampler::open(&settings(Target::Cpu { cpu, process: std::process::id() }));
    let mut sampler = whole.or_else(|_| Sampler::open(&settings(Target::Thread(gettid().as_raw().unsigned_abs()))))?;
    sampler.events().try_for_each(tie)?;
    sampler.start()?;
    Ok(sampler)
}

/// A message to oneself and back: calls about as deep as those of an end.
fn call((to, from): &(UnixDatagram, UnixDatagram)) {
    // A call that fails takes time as well, and the next run is as long.
    let _ = to.send(&[0]);
    let _ = from.recv(&mut [0]);
}

fn run(sockets: &(UnixDatagram, UnixDatagram), calls: u32) -> Duration {
    let begun = Instant::now();
    (0..calls).for_each(|_| call(sockets));
    begun.elapsed()
}

fn calls_of_a_run(sockets: &(UnixDatagram, UnixDatagram)) -> u32 {
    let begun = Instant::now();
    let mut calls = 0;
    while begun.elapsed() < RUN {
        (0..STEP).for_each(|_| call(sockets));
        calls += STEP;
    }
    calls
}
