//! Samples against the time that they stand for.

use std::slice;
use std::time::{Duration, Instant};

use model::Nanos;
use model::end::Window;
use model::profile::{Profile, SampleSource};
use profile::fold::{SYSCALL_EXIT, USER, fold};
use profile::kernel_names::KernelNames;
use profile::sampler::{PERIOD, Recording, Sampler, Settings, Target, Tasks};
use profile::symbols::{CLASSIC_FILTER, Symbols, UNKNOWN};
use sys::cpu::online;

use crate::Skip;
use crate::observed::{Observed, Report};

/// By the CPU clock, whose period is a time.
fn settings(pid: u32, longest: u64) -> Settings {
    Settings { source: Some(SampleSource::CpuClock), ..Settings::new(Target::Process(pid), Nanos::from_millis(longest)) }
}

fn sampled(what: &str) -> Result<(Recording, Report), Skip> {
    let mut observed = Observed::start(what)?;
    let begun = Instant::now();
    let mut sampler = Sampler::open(&settings(observed.pid(), 5_000))?;
    sampler.start()?;
    println!("attaching and starting a sampler: {:?}", begun.elapsed());
    let report = observed.work();
    Ok((sampler.finish()?, report))
}

fn time_of(profile: &Profile) -> u64 {
    profile.samples() * profile.period
}

/// Samples times period over CPU time, from the best of three: a virtual
/// machine whose host takes its CPU away counts that as the process's time.
fn closes(what: &str) -> Result<Profile, Skip> {
    let symbols = Symbols::of_kernel()?;
    let mut best: Option<(f64, Profile)> = None;
    for _ in 0..3 {
        let (recording, report) = sampled(what)?;
        let (profile, _) = fold(slice::from_ref(&recording), &symbols, Tasks::All, Some(report.window));
        let closure = time_of(&profile) as f64 / report.cpu.get() as f64;
        println!(
            "{what}: {} samples, closure {closure:.4}, lost {}, throttled {}, broken {}",
            profile.samples(),
            profile.lost,
            profile.throttled,
            profile.broken
        );
        assert_eq!((profile.lost, profile.broken), (0, 0));
        if best.as_ref().is_none_or(|(known, _)| (closure - 1.0).abs() < (known - 1.0).abs()) {
            best = Some((closure, profile));
        }
    }
    let (closure, profile) = best.unwrap();
    assert!((0.97..=1.03).contains(&closure), "{closure}");
    Ok(profile)
}

/// The share of samples with `name` in their chain.
fn share(profile: &Profile, name: &str) -> f64 {
    let Some(place) = profile.symbols.iter().position(|symbol| symbol == name) else { return 0.0 };
    let with = profile.stacks.iter().filter(|stack| stack.frames.contains(&(place as u32)));
    with.map(|stack| stack.count).sum::<u64>() as f64 / profile.samples() as f64
}

pub fn of_a_spinning_caller() -> Result<(), Skip> {
    let profile = closes("call:800")?;
    let (user, exit) = (share(&profile, USER), share(&profile, SYSCALL_EXIT));
    println!("user {user:.3}, system call exit {exit:.3}");
    // The way out of the kernel is a fixed part of every call.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    assert!(exit > 0.05 && user > 0.0 && exit + user < 0.7, "{exit}, {user}");
    Ok(())
}

pub fn of_a_spinning_sender() -> Result<(), Skip> {
    let profile = closes("send:600000:1")?;
    for function in ["udp_sendmsg", "__dev_queue_xmit"] {
        let share = share(&profile, function);
        println!("{function} in {share:.3} of all samples");
        assert!(share > 0.3, "{function}: {share}");
    }
    // Programs that others have put into this machine's kernel have no names.
    assert!(share(&profile, UNKNOWN) < 0.1);
    Ok(())
}

pub fn within_a_window() -> Result<(), Skip> {
    let symbols = Symbols::of_kernel()?;
    let (recording, report) = sampled("call:600")?;
    let middle = Nanos::new(report.window.start.get().midpoint(report.window.end.get()));
    let whole = fold(slice::from_ref(&recording), &symbols, Tasks::All, Some(report.window)).0.samples();
    let first = fold(slice::from_ref(&recording), &symbols, Tasks::All, Some(Window { end: middle, ..report.window })).0.samples();
    let second = fold(slice::from_ref(&recording), &symbols, Tasks::All, Some(Window { start: middle, ..report.window })).0.samples();
    assert_eq!(first + second, whole);
    assert!(first > 0 && second > 0);
    assert!(fold(slice::from_ref(&recording), &symbols, Tasks::All, None).0.samples() >= whole);
    Ok(())
}

/// Of what runs on a CPU the samples of one process are the time that it had the CPU, whether
/// it keeps it or leaves it twice a message. From the best of three, as in [`closes`].
pub fn of_a_whole_cpu() -> Result<(), Skip> {
    let symbols = Symbols::of_kernel()?;
    // A switch is outside the records, and samples in it are those of one of its tasks.
    for (what, bar) in [("send:300000:1", 0.93..=1.07), ("turns:20000", 0.93..=1.35)] {
        let mut closures = Vec::new();
        for _ in 0..3 {
            let mut observed = Observed::start(what)?;
            let process = observed.pid();
            let mut sampler = Sampler::open(&Settings { target: Target::Cpu { cpu: 0, process }, ..settings(process, 5_000) })?;
            sampler.start()?;
            let report = observed.work();
            let (profile, _) = fold(&[sampler.finish()?], &symbols, Tasks::Process(process), Some(report.window));
            let account = profile.account.unwrap();
            let ran = account.on_cpu.unwrap().get() as f64;
            assert!(ran <= report.window.length().get() as f64);
            assert!(account.recorded >= profile.samples() && account.counted.unwrap() >= report.window.length().get());
            closures.push(time_of(&profile) as f64 / ran);
            println!(
                "{what}: {} samples, closure {:.4}, on the CPU {:.3} of the CPU time",
                profile.samples(),
                closures[closures.len() - 1],
                ran / report.cpu.get() as f64
            );
        }
        assert!(closures.iter().any(|closure| bar.contains(closure)), "{closures:?}");
    }
    Ok(())
}

/// Filters of seccomp and of a socket have no name in the kernel, and stand below what runs them.
pub fn of_classic_filters() -> Result<(), Skip> {
    let symbols = Symbols::of_kernel()?;
    for what in ["seccomp:400:2000", "filter:400:4000"] {
        let (recording, report) = sampled(what)?;
        let (profile, _) = fold(slice::from_ref(&recording), &symbols, Tasks::All, Some(report.window));
        let (filter, unknown) = (share(&profile, CLASSIC_FILTER), share(&profile, UNKNOWN));
        println!("{what}: {filter:.3} in the filter, {unknown:.3} unknown");
        // How much of a call a filter takes differs by machine, and so does code without names, such as the entry of
        // system calls; without its name all of the filter would be unknown.
        assert!(filter > 0.1 && unknown < filter / 10.0, "{what}: {filter}, {unknown}");
    }
    Ok(())
}

/// It is loaded after the names were read, and gone when they are asked for.
pub fn of_a_program_that_comes_and_goes() -> Result<(), Skip> {
    let mut names = KernelNames::read()?;
    names.refresh()?;
    let (recording, report) = sampled("program:400:4000")?;
    let mut notes = Vec::new();
    let of_program = |symbols: &Symbols| {
        let (profile, _) = fold(slice::from_ref(&recording), symbols, Tasks::All, Some(report.window));
        let names: Vec<&String> = profile.symbols.iter().filter(|name| name.starts_with("bpf_prog_")).collect();
        names.iter().map(|name| share(&profile, name)).fold(0.0, f64::max)
    };
    // The kernel takes its time.
    let gone = || std::fs::read_to_string("/proc/kallsyms").is_ok_and(|list| !list.contains("bpf_prog_"));
    let begun = Instant::now();
    while !gone() && begun.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(100));
    }
    let without = of_program(&Symbols::of_kernel()?);
    let named = of_program(names.up_to_date(&mut notes)?);
    if let Some(refusal) = notes.pop() {
        return Err(refusal.into());
    }
    println!("{named:.3} in the program, {without:.3} by the list of symbols alone");
    assert!(named > 0.3 && without < 0.1, "{named}, {without}");
    Ok(())
}

pub fn with_a_full_ring() -> Result<(), Skip> {
    let symbols = Symbols::of_kernel()?;
    let mut observed = Observed::start("call:1000")?;
    // Room for a millisecond is the least that there is: far too little here.
    let fine = Settings { period: 20_011, ..settings(observed.pid(), 1) };
    let mut sampler = Sampler::open(&fine)?;
    sampler.start()?;
    let report = observed.work();
    let (profile, _) = fold(&[sampler.finish()?], &symbols, Tasks::All, None);
    let expected = report.cpu.get() / profile.period;
    println!("{} kept and {} lost of about {expected}", profile.samples(), profile.lost);
    assert!(profile.samples() < expected / 2 && profile.samples() > 0);
    assert!(profile.lost + profile.samples() > expected / 2, "{} lost", profile.lost);
    Ok(())
}

pub fn of_a_process_that_dies() -> Result<(), Skip> {
    let symbols = Symbols::of_kernel()?;
    let mut observed = Observed::start("call:60000")?;
    let mut sampler = Sampler::open(&settings(observed.pid(), 5_000))?;
    sampler.start()?;
    observed.begin();
    std::thread::sleep(Duration::from_millis(300));
    observed.kill();
    let (profile, _) = fold(&[sampler.finish()?], &symbols, Tasks::All, None);
    assert!(profile.samples() > 100, "{}", profile.samples());
    assert!(share(&profile, SYSCALL_EXIT) > 0.0, "its code is still known");
    let gone = Sampler::open(&settings(observed.pid(), 5_000)).unwrap_err();
    assert!(gone.answer.contains("ESRCH"), "{gone}");
    Ok(())
}

/// Switched off between two slices, a sampler has no record of the second, and goes on in the third.
pub fn while_it_is_off() -> Result<(), Skip> {
    let symbols = Symbols::of_kernel()?;
    let mut observed = Observed::start("call:900")?;
    let mut sampler = Sampler::open(&settings(observed.pid(), 5_000))?;
    sampler.start()?;
    observed.begin();
    let slice = |on: bool| -> Result<Window, Skip> {
        sampler.switch(on)?;
        let start = sys::clock::monotonic();
        std::thread::sleep(Duration::from_millis(200));
        Ok(Window { start, end: sys::clock::monotonic() })
    };
    let slices = [slice(true)?, slice(false)?, slice(true)?];
    observed.line();
    let recording = sampler.finish()?;
    let samples = slices.map(|window| fold(slice::from_ref(&recording), &symbols, Tasks::All, Some(window)).0.samples());
    println!("samples on, off, on: {samples:?}");
    assert!(samples[0] > 100 && samples[1] == 0 && samples[2] > 100, "{samples:?}");
    let switches = recording.switches.iter().flatten().flatten();
    let off = slices[1];
    assert!(!switches.into_iter().any(|switch| (off.start.get()..off.end.get()).contains(&switch.time)));
    Ok(())
}

pub fn of_ksoftirqd() -> Result<(), Skip> {
    for cpu in online().unwrap() {
        let tid = ksoftirqd(cpu).ok_or_else(|| Skip(format!("ksoftirqd/{cpu} is not to be seen")))?;
        let mut sampler = Sampler::open(&Settings {
            source: Some(SampleSource::CpuClock),
            ..Settings::new(Target::Thread(tid), Nanos::from_millis(100))
        })?;
        sampler.start()?;
        assert!(sampler.finish()?.records().all(|record| record.is_ok()));
    }
    Ok(())
}

/// Pairs of one run with a sampler and one without, in turn.
const PAIRS: usize = 11;

pub fn at_what_cost() -> Result<(), Skip> {
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for pair in 0..PAIRS * 2 {
        // Which of the two comes first changes from pair to pair.
        let observe = (pair + pair / 2) % 2 == 0;
        let mut observed = Observed::start("send:200000:1")?;
        let mut sampler = Sampler::open(&settings(observed.pid(), 2_000))?;
        if observe {
            sampler.start()?;
        }
        let cpu = observed.work().cpu.get();
        if observe { with.push(cpu) } else { without.push(cpu) }
    }
    let median = |times: &mut Vec<u64>| {
        times.sort_unstable();
        times[times.len() / 2] as f64
    };
    let (ratio, least) = (median(&mut with) / median(&mut without), with[0] as f64 / without[0] as f64);
    println!(
        "a sender's CPU time with a sampler of {PERIOD} ns over without: ratio of medians {ratio:.4}, of minima {least:.4}, {PAIRS} pairs"
    );
    // A virtual machine whose host is busy pays more for each timer, and a host that takes the CPU
    // away lengthens some runs by any factor: the shortest ones are compared. A sampler that wakes
    // somebody at each sample costs more than this everywhere.
    assert!(least < 1.5, "{least}");
    Ok(())
}

/// The id of the kernel thread `ksoftirqd` of `cpu`, as this process sees it;
/// `None` where it is not visible.
fn ksoftirqd(cpu: u32) -> Option<u32> {
    let name = format!("ksoftirqd/{cpu}");
    let entries = std::fs::read_dir("/proc").ok()?;
    entries.flatten().find_map(|entry| {
        let id = entry.file_name().to_str()?.parse().ok()?;
        let comm = std::fs::read_to_string(entry.path().join("comm")).ok()?;
        (comm.trim_end() == name).then_some(id)
    })
}
