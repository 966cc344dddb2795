//! The time that the reader takes on a machine of 128 CPUs: rings of this machine's, recorded at a higher rate, read as
//! those of 128 CPUs.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

use analysis::top::{Counters, Machine, STRETCHES};
use anyhow::{Context, ensure};
use attribution::Rules;
use model::Nanos;
use model::profile::SampleSource;
use model::top::{Bucket, Chain, CpuTime, Owner, Process, RATE, Sample, Task};
use profile::machine::{Drained, RingReader};
use profile::sampler::record::Records;
use profile::sampler::{Layout, Sampler, Settings, Target};
use profile::symbols::Symbols;
use sys::clock::process_cpu;

use super::role;
use crate::bars::Row;
use crate::pairs;

const CPUS: u32 = 128;
/// Seconds that are read: the first fill the window.
const SECONDS: usize = 2 * STRETCHES;
/// Samples a second of each CPU while rings are recorded.
const RECORDED_RATE: u64 = 4_999;
/// Spinning between two exchanges of the load, in ns.
const SPIN: u64 = 2_500;
/// Datagrams a second of the load.
const DATAGRAMS: u32 = 20_000;
/// Units that processes are in.
const UNITS: u32 = 40;
/// More than the number of any process (`PID_MAX_LIMIT`).
const PIDS: u32 = 1 << 22;
/// The most of one CPU, in %.
const MOST: f64 = 1.5;

/// Records of one CPU in one second.
type CpuSecond = Vec<u8>;

/// Shares of one CPU that the reader takes: with counters each second and a window every 10 s, as `--record` and `--listen`
/// have it; and with a window each second, as a screen has it.
pub fn measure() -> anyhow::Result<Vec<Row>> {
    let recorded = record()?;
    let symbols = Symbols::of_kernel()?;
    let rules = Rules::builtin()?;
    let mut machine = Machine::new(&rules, Vec::new(), STRETCHES);
    let mut counters = Counters::default();
    let (mut times, mut lost, mut made) = (Vec::new(), 0, 0);
    let layout = Layout::default();
    for second in recorded.chunks_exact(CPUS as usize) {
        let begun = process_cpu();
        let mut reader = RingReader::new(&symbols);
        for ring in second {
            // As they are taken from the kernel's memory.
            let bytes = ring.clone();
            reader.read(Records::new(&bytes, &layout));
        }
        let drained = reader.finish();
        let read = process_cpu();
        lost += drained.lost;
        made += drained.samples.len();
        let bucket = bucket(drained);
        let prepared = process_cpu();
        machine.add(&bucket, Vec::new());
        machine.count(&mut counters);
        let counted = process_cpu();
        let snapshot = machine.snapshot().context("a window")?;
        let shown = process_cpu();
        ensure!(snapshot.samples.made > 0 && snapshot.cpus == CPUS, "a window without samples");
        times.push([read.since(begun), counted.since(prepared), shown.since(counted)].map(|time| time.get() as f64 / 1e7));
    }
    lost += (recorded.len() * RATE as usize).abs_diff(made) as u64;
    // Of a full window.
    times.drain(..STRETCHES.min(times.len()));
    let row = |words: &str, of: fn(&[f64; 3]) -> f64| -> anyhow::Result<Row> {
        let words = format!("top: reader at {CPUS} CPUs x {RATE} Hz from recorded rings, {words}");
        Ok(Row::estimated(words, "% of one CPU", &pairs::of(&times.iter().map(of).collect::<Vec<_>>(), 0.95)?))
    };
    let whole = row(&format!("counters, {lost} samples lost"), |[read, counted, shown]| read + counted + shown / STRETCHES as f64)?;
    Ok(vec![
        row("names of chains alone", |[read, ..]| *read)?,
        whole.judged(format!("< {MOST} %, none lost"), |row| row.ends().1 < MOST && lost == 0),
        row("a window each second", |times| times.iter().sum())?,
    ])
}

/// Rings of every CPU under load, cut into as many seconds of as many CPUs, second by second.
fn record() -> anyhow::Result<Vec<CpuSecond>> {
    let online = sys::cpu::online().context("list the CPUs")?;
    let wanted = SECONDS * CPUS as usize;
    let samples = wanted as u64 * u64::from(RATE);
    // A tenth more than is needed.
    let length = Duration::from_secs_f64(1.1 * samples as f64 / (RECORDED_RATE * online.len() as u64) as f64);
    let longest = Nanos::from(length * 2);
    let open = |cpu: u32| {
        let settings = Settings {
            source: Some(SampleSource::CpuClock),
            period: 1_000_000_000 / RECORDED_RATE,
            cpu: Some(cpu),
            samplers: online.len(),
            ..Settings::new(Target::Cpu { cpu, process: std::process::id() }, longest)
        };
        Sampler::open(&settings)
    };
    let mut samplers = online.iter().map(|cpu| open(*cpu)).collect::<Result<Vec<_>, _>>()?;
    under_load(length, || samplers.iter_mut().try_for_each(Sampler::start))??;
    let mut rings: Vec<std::vec::IntoIter<CpuSecond>> = Vec::new();
    for sampler in samplers {
        let recording = sampler.finish()?;
        ensure!(recording.lost.unwrap_or(0) == 0, "the recording lost samples");
        for ring in recording.rings {
            rings.push(cut(&ring)?.into_iter());
        }
    }
    let mut seconds: Vec<CpuSecond> = Vec::with_capacity(wanted);
    while seconds.len() < wanted {
        let before = seconds.len();
        seconds.extend(rings.iter_mut().filter_map(Iterator::next));
        ensure!(seconds.len() > before, "the recording has {before} of {wanted} seconds of a CPU: was this machine idle or halted?");
    }
    seconds.truncate(wanted);
    seconds.iter_mut().zip((0..CPUS).cycle()).for_each(|(second, cpu)| move_to(second, cpu));
    Ok(seconds)
}

/// Runs datagrams and a stream for a time, from `started` on.
fn under_load<T>(length: Duration, started: impl FnOnce() -> T) -> anyhow::Result<T> {
    let millis = (length + Duration::from_secs(1)).as_millis().to_string();
    let port = UdpSocket::bind("127.0.0.1:0")?.local_addr()?.port().to_string();
    let [spin, rate] = [SPIN, u64::from(DATAGRAMS)].map(|number| number.to_string());
    let words: [&[&str]; 3] = [&["__truth", &spin, &millis], &["__take", &port, &millis], &["__give", &port, &rate, &millis]];
    let start = |words: &[&str]| role(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
    let loads = words.into_iter().map(start).collect::<Result<Vec<_>, _>>()?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let taker = thread::spawn(move || -> std::io::Result<()> {
        let (mut stream, mut room) = (listener.accept()?.0, [0; 64 << 10]);
        while stream.read(&mut room)? > 0 {}
        Ok(())
    });
    let mut stream = TcpStream::connect(address)?;
    let result = started();
    let begun = std::time::Instant::now();
    while begun.elapsed() < length {
        stream.write_all(&[0; 16 << 10])?;
    }
    drop(stream);
    taker.join().ok().context("the taker of the stream")??;
    for load in loads {
        load.wait_with_output().context("wait for a load")?;
    }
    Ok(result)
}

/// Places in a record: its kind and length, and the process, thread and CPU of a sample.
const KIND: usize = 0;
const LENGTH: usize = 6;
const PID: usize = 16;
const TID: usize = 20;
const CPU: usize = 32;
const SAMPLE: u32 = 9;

fn word(record: &[u8], at: usize) -> u32 {
    record.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_ne_bytes)
}

fn length(record: &[u8]) -> usize {
    record.get(LENGTH..LENGTH + 2).and_then(|bytes| bytes.try_into().ok()).map_or(0, |bytes| usize::from(u16::from_ne_bytes(bytes)))
}

/// The records of a ring, one after the other.
fn records(mut ring: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (record, rest) = ring.split_at_checked(length(ring)).filter(|(record, _)| !record.is_empty())?;
        ring = rest;
        Some(record)
    })
}

/// The whole seconds of a ring's samples.
fn cut(ring: &[u8]) -> anyhow::Result<Vec<CpuSecond>> {
    let samples: Vec<&[u8]> = records(ring).filter(|record| word(record, KIND) == SAMPLE && record.len() > CPU + 4).collect();
    ensure!(!samples.is_empty(), "a CPU without samples");
    Ok(samples.chunks_exact(RATE as usize).map(<[_]>::concat).collect())
}

/// Makes the samples those of another CPU, and of processes of its own.
fn move_to(second: &mut [u8], cpu: u32) {
    let mut at = 0;
    while at < second.len() {
        let record = &mut second[at..];
        at += length(record).max(CPU);
        for place in [PID, TID] {
            let id = word(record, place);
            // The idle task is every CPU's.
            let moved = if id == 0 { 0 } else { id % PIDS + cpu * PIDS };
            record[place..place + 4].copy_from_slice(&moved.to_ne_bytes());
        }
        record[CPU..CPU + 4].copy_from_slice(&cpu.to_ne_bytes());
    }
}

/// A second with its processes, of which each second one is met as the owner of a socket.
fn bucket(drained: Drained) -> Bucket {
    let unit = |pid: u32| Some(pid % UNITS);
    let sample = |(place, sample): (usize, &profile::machine::MachineSample)| {
        let pid = sample.pid;
        let task = if pid == 0 { Task::Idle } else { Task::Process(pid) };
        let owner = (pid != 0 && place % 2 == 0).then(|| Owner { process: Some(pid), unit: unit(pid) });
        Sample { cpu: sample.cpu, task, chain: sample.chain, socket_call: Some(false), owner }
    };
    let samples: Vec<Sample> = drained.samples.iter().enumerate().map(sample).collect();
    let process = |pid: u32| (pid, Process { name: "load".to_owned(), unit: unit(pid), ..Process::default() });
    Bucket {
        elapsed: Nanos::from_millis(1_000),
        period: Nanos::new(1_000_000_000 / u64::from(RATE)),
        cpus: (0..CPUS).map(|cpu| (cpu, CpuTime::default())).collect(),
        lost: drained.lost,
        symbols: drained.symbols,
        chains: drained.chains.into_iter().map(|(frames, user)| Chain { frames, user }).collect(),
        processes: drained.samples.iter().map(|sample| sample.pid).filter(|pid| *pid != 0).map(process).collect::<BTreeMap<_, _>>(),
        units: (0..UNITS).map(|unit| format!("/unit-{unit}")).collect(),
        samples,
        ..Bucket::default()
    }
}
