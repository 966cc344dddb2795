//! Figures of a program that rules ask for.

use model::attach::{Attachment, Device, Look, Messages, Pattern, Sockets, TcpSums, WindowRecord};
use model::program_workload::{CallRate, pace};
use model::replay::Replay;
use model::{Nanos, Protocol};
use serde::Serialize;

use super::Now;
use crate::attached::{State, Work};

/// What was observed of a program, as rules need it: rates are of a second.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Observed {
    /// Windows that looked at messages.
    pub windows: usize,
    /// Exchanges.
    pub exchanges: f64,
    /// Kinds of exchange, the most frequent first, with their share of all.
    pub patterns: Vec<(Pattern, f64)>,
    /// Calls that move data.
    pub calls: Vec<CallRate>,
    /// Calls that gave data, and that took some.
    pub sends: f64,
    /// Calls that took data.
    pub receives: f64,
    /// Times that a thread waited for something, for each call that took data.
    pub wake_ups: f64,
    /// CPU time for each exchange in windows without an instrument, in ns; 0 where that is not known.
    pub cpu_of_exchange: f64,
    /// The same for each call that gave data.
    pub cpu_of_answer: f64,
    /// The same for each call that took data.
    pub cpu_of_receive: f64,
    /// Length of all these windows, in seconds.
    pub window_seconds: f64,
    /// CPUs kept busy.
    pub busy: f64,
    /// Share of the time that the program ran or was ready to, in which it had no CPU.
    pub delayed: f64,
    /// Share of the program's own code in its CPU time, where a receipt tells it.
    pub own: Option<f64>,
    /// Share of files in it.
    pub files: f64,
    /// Share of all that no replay does again: files, memory and other work of the kernel.
    pub not_sent: f64,
    /// Datagrams lost at receive buffers, a second, and as a share of those that came.
    pub lost: Option<(f64, f64)>,
    /// Share of looks at connections that found unsent bytes held back although the window had room
    /// for them, and the number of looks.
    pub held_back: (f64, usize),
    /// Share of looks at TCP connections, and at UDP sockets, that found bytes in the receive queue.
    pub queued: [f64; 2],
    /// Time that connections spent sending, and the part held back by send buffers, in µs.
    pub sending: (u64, u64),
    /// Mean connections at the end of a window, and sockets that moved data in one.
    pub connections: (f64, f64),
    /// Receive buffer of the UDP socket that lost most; send buffer of the connection that moved most.
    pub buffers: [Option<u32>; 2],
    /// CPUs that the program may use, where these are not all.
    pub cpus: Vec<u32>,
    /// CPUs that its peers on this machine may use, likewise.
    pub peer_cpus: Vec<u32>,
    /// The device by which connections sent most between the first look at sockets and the last, with
    /// the bytes a second that peers acknowledged.
    pub device: Option<(Device, f64)>,
}

impl Observed {
    /// Reads the windows of the first state of a run.
    pub fn new(run: &Attachment, state: &State, windows: &[WindowRecord]) -> Self {
        let own: Vec<&WindowRecord> = windows.iter().filter(|one| one.arm.is_none_or(|arm| arm == 0)).collect();
        let looked: Vec<(&WindowRecord, &Messages)> = own.iter().filter_map(|one| Some((*one, one.messages.as_ref()?))).collect();
        let seconds: f64 = looked.iter().map(|(one, _)| one.window.length().as_secs_f64()).sum::<f64>().max(1e-9);
        let sum = |of: fn(&Messages) -> f64| looked.iter().map(|(_, messages)| of(messages)).sum::<f64>();
        let exchanges = sum(|messages| messages.exchanges as f64);
        let [sends, receives] = [sum(|messages| messages.totals.sends as f64), sum(|messages| messages.totals.receives as f64)];
        let share = |work| state.work.iter().filter(|row| row.work == work).map(|row| row.share.value).sum::<f64>();
        let clean = Clean::of(&own);
        let sockets: Vec<&Sockets> = own.iter().filter_map(|one| one.sockets.as_ref()).collect();
        let moving = looked.iter().map(|(_, messages)| messages.sockets as f64).sum::<f64>() / looked.len().max(1) as f64;
        let open = sockets.iter().map(|one| one.sums.connections as f64).sum::<f64>() / sockets.len().max(1) as f64;
        Self {
            windows: looked.len(),
            exchanges: exchanges / seconds,
            patterns: state.patterns.iter().map(|one| (one.clone(), one.count as f64 / exchanges.max(1.0))).collect(),
            calls: calls(&looked, seconds),
            sends: sends / seconds,
            receives: receives / seconds,
            wake_ups: if clean.receives > 0.0 { clean.waited / clean.receives } else { 0.0 },
            cpu_of_exchange: if exchanges > 0.0 { clean.cpu_of_send() * sends / exchanges } else { 0.0 },
            cpu_of_answer: clean.cpu_of_send(),
            window_seconds: seconds,
            cpu_of_receive: if clean.receives > 0.0 { clean.cpu / clean.receives } else { 0.0 },
            busy: state.busy.map_or(0.0, |busy| busy.value),
            delayed: clean.delayed(),
            own: state.receipt().map(|_| share(Work::Own)),
            files: share(Work::Files),
            not_sent: Work::ALL.iter().filter(|work| !work.is_replayed()).map(|work| share(*work)).sum(),
            lost: lost(&own, receives / seconds),
            held_back: held_back(&sockets),
            queued: ["tcp", "udp"].map(|protocol| queued(&sockets, protocol)),
            sending: sending(&sockets),
            connections: (open, moving),
            buffers: buffers(&sockets),
            cpus: run.affinity.clone(),
            peer_cpus: run.peer_affinity.clone(),
            device: device(&own),
        }
    }

    /// The part of some CPU time, in ns, that a replay with the program's own code has as well.
    pub fn replayed(&self, cpu: f64) -> Now {
        self.part(cpu, 1.0 - self.not_sent)
    }

    /// The same without the program's own code: what a change of its calls can touch.
    pub fn kernel(&self, cpu: f64) -> Now {
        self.part(cpu, 1.0 - self.not_sent - self.own.unwrap_or(0.0))
    }

    /// The same with the files, which the replay reads.
    pub fn kernel_with_files(&self, cpu: f64) -> Now {
        self.part(cpu, 1.0 - self.not_sent - self.own.unwrap_or(0.0) + self.files)
    }

    fn part(&self, cpu: f64, share: f64) -> Now {
        if self.own.is_some() { Now::Observed(cpu * share.clamp(0.0, 1.0)) } else { Now::Replayed { at_most: cpu } }
    }

    /// CPU time of the program's own code for each exchange.
    pub fn own_of_exchange(&self) -> Nanos {
        Nanos::new((self.cpu_of_exchange * self.own.unwrap_or(0.0)) as u64)
    }

    /// An exchange over TCP as it was seen: on as many connections, at the pace, with the CPU time of
    /// the program's own code, on its CPUs.
    pub fn replay(&self, pattern: &Pattern) -> Replay {
        self.bound(Replay {
            connections: self.clients(),
            pace: self.pace(),
            work: self.own_of_exchange(),
            ..Replay::new(Protocol::Tcp, pattern.received, pattern.sends.clone())
        })
    }

    /// A replay whose server runs where the program does, and whose clients run where its peers do.
    pub fn bound(&self, replay: Replay) -> Replay {
        Replay { cpus: self.cpus.clone(), client_cpus: self.peer_cpus.clone(), ..replay }
    }

    /// Connections that exchange at one time, 1 to 64.
    pub fn clients(&self) -> u32 {
        (self.connections.0.round() as u32).clamp(1, 64)
    }

    /// Time between two exchanges of one client; 0 where they follow one another at once.
    pub fn pace(&self) -> Nanos {
        pace(self.clients(), self.exchanges, self.busy)
    }

    /// The most frequent exchange of a protocol that `wanted` takes, where such are at least a half
    /// of all.
    pub fn pattern(&self, protocol: &str, wanted: impl Fn(&Pattern) -> bool) -> Option<(&Pattern, f64)> {
        let of_interest = || self.patterns.iter().filter(|(one, _)| one.protocol == protocol && wanted(one));
        let share: f64 = of_interest().map(|(_, share)| share).sum();
        let (first, _) = of_interest().next()?;
        (share >= 0.5).then_some((first, share.min(1.0)))
    }
}

/// Sums of windows without an instrument.
#[derive(Default)]
struct Clean {
    cpu: f64,
    delay: f64,
    waited: f64,
    sends: f64,
    receives: f64,
}

impl Clean {
    /// Those that have sums of socket calls; where none has, the windows that looked at them.
    fn of(windows: &[&WindowRecord]) -> Self {
        let counted = |look: Look| {
            let mut sums = Self::default();
            for window in windows.iter().filter(|window| window.look == look) {
                let Some(totals) = window.totals.or(window.messages.as_ref().map(|messages| messages.totals)) else { continue };
                sums.cpu += window.clocks.cpu.get() as f64;
                sums.delay += window.clocks.run_delay.map_or(0.0, |delay| delay.get() as f64);
                sums.waited += window.clocks.voluntary as f64;
                sums.sends += totals.sends as f64;
                sums.receives += totals.receives as f64;
            }
            sums
        };
        let clean = counted(Look::Clean);
        if clean.sends + clean.receives > 0.0 { clean } else { counted(Look::Messages) }
    }

    fn delayed(&self) -> f64 {
        let wanted = self.cpu + self.delay;
        if wanted > 0.0 { self.delay / wanted } else { 0.0 }
    }

    fn cpu_of_send(&self) -> f64 {
        if self.sends > 0.0 { self.cpu / self.sends } else { 0.0 }
    }
}

fn calls(looked: &[(&WindowRecord, &Messages)], seconds: f64) -> Vec<CallRate> {
    let mut found: Vec<(CallRate, [u64; 5])> = Vec::new();
    for kind in looked.iter().flat_map(|(_, messages)| &messages.calls).filter(|kind| kind.calls > 0) {
        let same = |(one, _): &&mut (CallRate, _)| (&one.call, one.way, &one.protocol) == (&kind.call, kind.way, &kind.protocol);
        let told = if kind.asked.is_some() { kind.calls.saturating_sub(kind.untold) } else { 0 };
        let sums = [kind.calls, kind.bytes, kind.asked.unwrap_or(0), kind.short.unwrap_or(0), told];
        match found.iter_mut().find(same) {
            Some((_, all)) => all.iter_mut().zip(sums).for_each(|(all, one)| *all = all.saturating_add(one)),
            None => {
                let (size, calls) = kind.sizes.first().copied().unwrap_or_default();
                let one = CallRate {
                    call: kind.call.clone(),
                    way: kind.way,
                    protocol: kind.protocol.clone(),
                    per_second: 0.0,
                    mean: 0.0,
                    usual: (size, calls as f64 / kind.calls as f64),
                    asked: None,
                    short: None,
                };
                found.push((one, sums));
            }
        }
    }
    let taken = |(one, [calls, bytes, asked, short, told]): (CallRate, [u64; 5])| {
        let of_told = |sum: u64| (told > 0).then(|| sum as f64 / told as f64);
        CallRate {
            per_second: calls as f64 / seconds,
            mean: bytes as f64 / calls.max(1) as f64,
            asked: of_told(asked),
            short: of_told(short),
            ..one
        }
    };
    found.into_iter().map(taken).collect()
}

/// Datagrams lost between the first look at sockets and the last.
fn lost(windows: &[&WindowRecord], receives: f64) -> Option<(f64, f64)> {
    let looks: Vec<(u64, u64)> = windows.iter().filter_map(|one| Some((one.window.end.get(), one.sockets.as_ref()?.drops))).collect();
    let (first, last) = (looks.first()?, looks.last()?);
    let seconds = last.0.checked_sub(first.0).filter(|time| *time > 0)? as f64 / 1e9;
    let rate = last.1.saturating_sub(first.1) as f64 / seconds;
    Some((rate, if rate > 0.0 { rate / (rate + receives) } else { 0.0 }))
}

/// The device by which most was sent; connections that closed meanwhile are gone, so that a device
/// may seem to have sent less.
fn device(windows: &[&WindowRecord]) -> Option<(Device, f64)> {
    let looks: Vec<(u64, &Sockets)> = windows.iter().filter_map(|one| Some((one.window.end.get(), one.sockets.as_ref()?))).collect();
    let ((start, first), (end, last)) = (looks.first()?, looks.last()?);
    let seconds = (end.saturating_sub(*start) as f64 / 1e9).max(1e-9);
    let before = |name: &str| first.devices.iter().find(|one| one.name == name).map_or(0, |one| one.acknowledged);
    let sent = |one: &Device| one.acknowledged.saturating_sub(before(&one.name));
    let busiest = last.devices.iter().max_by_key(|one| (sent(one), one.acknowledged))?;
    Some((busiest.clone(), sent(busiest) as f64 / seconds))
}

/// Looks at connections with unsent bytes that no window keeps from being sent.
fn held_back(sockets: &[&Sockets]) -> (f64, usize) {
    let looks = sockets.iter().flat_map(|one| &one.connections).filter_map(|one| Some((one, one.tcp?)));
    let (mut all, mut held) = (0, 0);
    for (one, tcp) in looks {
        all += 1;
        held += usize::from(one.unsent > 0 && one.unacked > 0 && one.unacked < tcp.snd_cwnd && one.unsent < tcp.snd_mss.max(1));
    }
    (held as f64 / all.max(1) as f64, all)
}

fn queued(sockets: &[&Sockets], protocol: &str) -> f64 {
    let looks: Vec<bool> =
        sockets.iter().flat_map(|one| &one.connections).filter(|one| one.protocol == protocol).map(|one| one.receive_queue > 0).collect();
    looks.iter().filter(|queued| **queued).count() as f64 / looks.len().max(1) as f64
}

/// What connections did between the first look and the last; those that closed meanwhile are gone.
fn sending(sockets: &[&Sockets]) -> (u64, u64) {
    let sums = |one: &&Sockets| -> TcpSums { one.sums };
    let (Some(first), Some(last)) = (sockets.first().map(sums), sockets.last().map(sums)) else { return (0, 0) };
    (last.busy.saturating_sub(first.busy), last.buffer_limited.saturating_sub(first.buffer_limited))
}

fn buffers(sockets: &[&Sockets]) -> [Option<u32>; 2] {
    let last = || sockets.iter().rev().flat_map(|one| &one.connections);
    let lossy = last().filter(|one| one.protocol == "udp").max_by_key(|one| one.drops);
    let busiest = last().find(|one| one.protocol == "tcp");
    [lossy.map(|one| one.receive_buffer), busiest.map(|one| one.send_buffer)]
}
