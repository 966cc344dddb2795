//! Report of an endpoint: its flows, put together.

use std::collections::BTreeMap;
use std::fs;

use model::control::Task;
use model::end::{Back, Counts, CpuTime, EndReport, FlowReport, Opening, Progress, SocketOption, Switches, TcpInfo, Window};
use model::plan::TrialEnd;
use model::{Bytes, Nanos};

use crate::edge::{Edge, Usage};
use crate::recorder::Recorder;
use crate::socket;
use crate::timekeeper::TimekeeperReport;
use crate::traffic::{Account, ScheduleStats, Traffic};
use crate::watch::WatchReport;
use model::counts::{merge as merge_accounts, sum};

/// Puts the report together. `traffic` has the flows of the endpoint's own role
/// first, and then those of the other.
pub fn report(
    task: &Task,
    mut traffic: Vec<Traffic>,
    led: TimekeeperReport,
    options: Vec<SocketOption>,
    seen: Option<WatchReport>,
) -> EndReport {
    let whole = whole(task, &traffic, led.edges);
    for flow in traffic.iter_mut().filter(|flow| flow.usage.window.start > whole.window.start) {
        // What opened its own part came within that of all.
        flow.counts.first = Opening::default();
    }
    let switches = traffic.iter().fold(Switches::default(), |sum, flow| Switches {
        voluntary: sum.voluntary + flow.usage.switches.voluntary,
        involuntary: sum.involuntary + flow.usage.switches.involuntary,
    });
    let run_delay = traffic.iter().map(|flow| flow.usage.run_delay).sum_all();
    let options = socket::with_end(options, traffic.first_mut().map(|flow| std::mem::take(&mut flow.options)).unwrap_or_default());
    let mut returning = traffic.split_off((task.cell.flows as usize).min(traffic.len()));
    let (counts, total) = counted(&traffic);
    let returned = |of: fn(&Traffic) -> Option<TcpInfo>| merge_accounts(returning.iter().filter_map(of));
    let back = task.cell.bidirectional.then(|| counted(&returning)).map(|(counts, total)| Back {
        counts,
        total,
        tcp: returned(|flow| flow.tcp),
        tcp_at_start: returned(|flow| flow.tcp_at_start),
    });
    let schedule = merge_all(traffic.iter_mut().filter_map(|flow| flow.schedule.take()), ScheduleStats::add);
    let latency = merge_all(traffic.iter_mut().filter_map(|flow| flow.latency.take()), Recorder::add);
    let one_way = merge_all(traffic.iter_mut().chain(&mut returning).filter_map(|flow| flow.one_way.take()), Account::add);
    let one_way = one_way.map(|account| account.one_way());
    let tcp = merge_accounts(traffic.iter().filter_map(|flow| flow.tcp));
    let tcp_at_start = merge_accounts(traffic.iter().filter_map(|flow| flow.tcp_at_start));
    let mut drops = BTreeMap::new();
    for (name, count) in traffic.iter().chain(&returning).flat_map(|flow| &flow.drops) {
        *drops.entry((*name).to_owned()).or_default() += count;
    }
    let way = one_way.as_ref();
    let last = Progress { tcp, jitter: way.map(|way| way.jitter), missing: way.map(|way| way.missing), ..Progress::default() };
    // What the looks took is no part of what sending costs.
    let looks = seen.map_or(Nanos::default(), |seen| seen.within(whole.window.length()));
    let process_cpu = whole.process_cpu.since(looks);
    let sending = if task.role == model::Role::Sender { &traffic } else { &returning };
    EndReport {
        role: task.role,
        cpu: task.cpus.first().copied(),
        threads: traffic.iter().chain(&returning).map(|flow| flow.thread).collect(),
        window: whole.window,
        flow: whole_flow(sending),
        counts,
        total,
        cpu_time: CpuTime { process: process_cpu, irq: led.irq, kernel_threads: whole.ksoftirqd },
        user_cpu: None,
        switches,
        run_delay,
        options,
        tcp,
        tcp_at_start,
        latency: latency.and_then(|latency| latency.encode()),
        max_resident: max_resident(),
        flows: if task.cell.flows > 1 { each(task, &traffic) } else { Vec::new() },
        back,
        schedule: schedule.map(|stats| stats.schedule()),
        in_flight: seen.map(|seen| seen.in_flight),
        one_way,
        addresses: Vec::new(),
        drops,
        zero_copy: merge_all(traffic.iter().chain(&returning).filter_map(|flow| flow.zero_copy), |sum, other| sum.add(*other)),
        external: None,
        progress: match task.progress {
            Some(_) => led.progress.close(whole.window, counts.in_window(), back.map(|back| back.counts.in_window()), last),
            None => Vec::new(),
        },
    }
}

/// Times and counts between the edges of the whole.
///
/// One flow reads its edges itself, between two messages. Several flows notice
/// the same edge at different times: by microseconds where each has a CPU, by
/// a time slice where they share. The earliest start and the latest end would
/// make the window too long by all of that. But a flow looks at its stage after
/// each message, so what it counts are the messages that began while the stage
/// said `Measure`, whenever it noticed; and the main thread said so to all of
/// them within a microsecond. So the window is the main thread's, and the
/// clocks of process and kernel threads are those that it read there: they are
/// of all threads. What is counted wrongly is the message that each flow was in
/// at each edge: one comes in for one that goes out. The rate is right within
/// (time to tell all flows + one message a flow) / length: some 10 us of 150 ms.
///
/// Where all flows ended before that, the window ends with the last. A trial of a number of messages has no common edges: its
/// window holds every message counted, from the first flow's start to the last
/// one's end, with what was idle because flows did not end together.
fn whole(task: &Task, traffic: &[Traffic], kept: Option<(Edge, Edge)>) -> Usage {
    let edges = traffic.iter().map(|flow| flow.usage);
    match traffic {
        [one] => one.usage,
        _ => {
            let first = edges.clone().map(|usage| usage.start).min_by_key(Edge::time).unwrap_or_default();
            let last = edges.map(|usage| usage.end).max_by_key(Edge::time).unwrap_or_default();
            match (task.end, kept) {
                (TrialEnd::Length(_), Some((start, end))) => {
                    let end = if last.time() < end.time() { last } else { end };
                    start.until(&end)
                }
                _ => first.until(&last),
            }
        }
    }
}

fn counted(traffic: &[Traffic]) -> (Counts, Counts) {
    let all = |of: fn(&Traffic) -> Counts| traffic.iter().map(of).fold(Counts::default(), sum);
    (all(|flow| flow.counts), all(|flow| flow.total))
}

/// From the first message of all flows to the last.
fn whole_flow(traffic: &[Traffic]) -> Option<Window> {
    let flows = || traffic.iter().filter_map(|flow| flow.flow);
    let (start, end) = (flows().map(|flow| flow.start).min()?, flows().map(|flow| flow.end).max()?);
    Some(Window { start, end })
}

fn each(task: &Task, traffic: &[Traffic]) -> Vec<FlowReport> {
    let report = |(number, flow): (usize, &Traffic)| FlowReport {
        cpu: task.cpus.get(number % task.cpus.len().max(1)).copied(),
        counts: flow.counts,
        total: flow.total,
        switches: flow.usage.switches,
        done: matches!(task.end, TrialEnd::Messages(_)).then_some(flow.usage.window.end),
        tcp: flow.tcp,
        tcp_at_start: flow.tcp_at_start,
    };
    traffic.iter().enumerate().map(report).collect()
}

/// Results of flows, merged into one.
fn merge_all<T>(flows: impl Iterator<Item = T>, add: fn(&mut T, &T)) -> Option<T> {
    flows.reduce(|mut all, other| {
        add(&mut all, &other);
        all
    })
}

/// Sums of what may be missing.
trait SumAll {
    /// `None` when one is missing.
    fn sum_all(self) -> Option<Nanos>;
}

impl<I: Iterator<Item = Option<Nanos>>> SumAll for I {
    fn sum_all(mut self) -> Option<Nanos> {
        self.try_fold(Nanos::default(), |sum, time| Some(sum + time?))
    }
}

/// Largest resident size of this process. `getrusage` would also count the
/// process that started it.
fn max_resident() -> Bytes {
    resident_in(&fs::read_to_string("/proc/self/status").unwrap_or_default())
}

/// The same in the text of a process's `status`.
pub fn resident_in(status: &str) -> Bytes {
    let kib = sys::process::field(status, "VmHWM").and_then(|size| size.strip_suffix("kB")?.trim().parse::<u64>().ok());
    Bytes::new(kib.unwrap_or(0) << 10)
}
