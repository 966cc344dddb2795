//! Samples of whatever else runs on a CPU.

use std::fs;
use std::io::stdin;
use std::thread;
use std::time::{Duration, Instant};

use model::Nanos;
use model::end::Window;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{ForkResult, fork};
use profile::elsewhere::outside;
use profile::sampler::{Sampler, Settings, Target};
use profile::symbols::Symbols;
use sys::clock::monotonic;

use crate::Skip;
use crate::child::bind_to;
use crate::observed::Observed;

/// How long a loop of this process runs on the CPU, and how long none does.
const BUSY: Duration = Duration::from_millis(300);
const LEFT: Duration = Duration::from_millis(300);

fn sampler() -> Result<(Symbols, Sampler), model::Refusal> {
    let settings = Settings::new(Target::Cpu { cpu: 0, process: std::process::id() }, Nanos::from_millis(10_000));
    let (symbols, mut sampler) = (Symbols::of_kernel()?, Sampler::open(&settings)?);
    sampler.start()?;
    Ok((symbols, sampler))
}

/// In a namespace of process ids of its own: samples a CPU until a window is given, and says what was outside.
pub fn child() {
    if let Err(errno) = unshare(CloneFlags::CLONE_NEWPID) {
        return println!("unshare(CLONE_NEWPID): {errno}");
    }
    // SAFETY: this process has one thread; the child goes on as a whole program.
    match unsafe { fork() }.unwrap() {
        ForkResult::Parent { child } => drop(nix::sys::wait::waitpid(child, None).unwrap()),
        ForkResult::Child => {
            let (symbols, sampler) = match sampler() {
                Ok(opened) => opened,
                Err(refusal) => return println!("{refusal}"),
            };
            println!("ready");
            let mut line = String::new();
            stdin().read_line(&mut line).unwrap();
            let Some((start, end)) = line.trim().split_once(' ') else { return };
            let window = Window { start: Nanos::new(start.parse().unwrap()), end: Nanos::new(end.parse().unwrap()) };
            let found = outside(&[sampler.finish().unwrap()], &symbols, &[], window);
            println!("{} {}", found.others, found.untold);
        }
    }
}

/// What a process of another namespace takes for others is what one of the first namespace does, which idle time is not.
pub fn in_a_namespace_of_ids() -> Result<(), Skip> {
    if !fs::read_link("/proc/self/ns/pid").is_ok_and(|namespace| namespace.as_os_str() == "pid:[4026531836]") {
        return Err(Skip("this is no process of the first namespace".to_owned()));
    }
    let mut observed = Observed::start("outside")?;
    let (symbols, sampler) = sampler()?;
    let start = monotonic();
    thread::spawn(|| {
        bind_to(0);
        let begun = Instant::now();
        while begun.elapsed() < BUSY {}
    })
    .join()
    .unwrap();
    thread::sleep(LEFT);
    let window = Window { start, end: monotonic() };
    observed.tell(&format!("{} {}", window.start.get(), window.end.get()));
    let line = observed.line();
    let (others, untold) =
        line.split_once(' ').map(|(others, untold)| (others.parse::<u64>().unwrap(), untold.parse::<u64>().unwrap())).unwrap();
    let recording = sampler.finish()?;
    let (period, first) = (recording.period, outside(&[recording], &symbols, &[], window));
    println!("others {others} and {untold} untold in a namespace, {} in the first one", first.others);
    assert!(first.others * period >= BUSY.as_nanos() as u64 / 2 && first.untold == 0, "{first:?}");
    assert!(others.abs_diff(first.others) <= first.others / 20 + 10 && untold <= first.others / 100, "{others}, {untold}, {first:?}");
    Ok(())
}
