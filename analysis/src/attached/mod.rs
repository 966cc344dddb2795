//! What a program's network costs it: from the windows of an attached run to a receipt of a
//! request, with its calls, exchanges and sockets.
//!
//! Windows are the passes of [`attribution::Receipt`], requests its messages: the same rows, the
//! same sums that can fail, the same intervals.

mod passes;
#[cfg(test)]
mod tests;
mod work;

pub(crate) use work::is_on_sockets;
pub use work::{OwnRow, Work, WorkRow};

use std::collections::BTreeMap;

use attribution::{Comparison, Doubt, Figure, Footing, Layer, Receipt, Rules, SampledSlices, compare, ratio};
use model::attach::{Attachment, Look, Pattern, Sockets, Way, WindowRecord};
use model::{Refusal, Role, choice};
use serde::Serialize;

use crate::studies::receipt::chain_attributes::ChainAttributes;
use crate::studies::receipt::chains::Chains;
use crate::studies::receipt::{ReceiptOutcome, end};
use crate::verdict::THRESHOLD;

/// An attached run, analysed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Attached {
    /// What was observed, and how.
    pub run: Attachment,
    /// The program in each of its arms; one of a program that was not switched.
    pub states: Vec<State>,
    /// The second arm against the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
    /// Lines that could not be read.
    pub bad_lines: u64,
}

/// Why the figures of a program whose sends are counted are per send, and not per request.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PerSend {
    /// The program is a client as well: it listens, and sends to servers.
    Client,
    /// An exchange takes several sends, here their mean.
    Several(f64),
    /// The same as a lower bound: some exchanges have more sends than a pattern keeps, and the calls do not tell how many.
    AtLeast(f64),
}

/// A program in one arm.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct State {
    /// The arm; `None` of a program that was not switched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// Why its figures are per send; `None` where they are per request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_send: Option<PerSend>,
    /// Windows that were used, by look.
    pub windows: Vec<(Look, u32)>,
    /// CPU time of a request in ns, by clocks in windows without an instrument; `None` where no request was
    /// counted in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Figure>,
    /// The receipt of a request, or why there is none.
    pub outcome: ReceiptOutcome,
    /// How far that receipt stands; `None` without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub footing: Option<Footing>,
    /// The CPU time by what the program asked of the kernel, the costliest first; empty without a
    /// receipt.
    pub work: Vec<WorkRow>,
    /// The program's own code by function, the costliest first; those without a name, or beyond what is kept apart, are one row.
    pub own_code: Vec<OwnRow>,
    /// Requests a second in windows without an instrument.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Figure>,
    /// CPUs that the program kept busy in them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy: Option<Figure>,
    /// Counts and times of a request that clocks and counters tell.
    pub per_request: Vec<Quantity>,
    /// System calls that carry data, the most frequent first.
    pub calls: Vec<Call>,
    /// Exchanges, the most frequent first, over all windows together.
    pub patterns: Vec<Pattern>,
    /// Exchanges of all kinds that were kept.
    pub exchanges: u64,
    /// The sockets at the end of the last window that looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sockets: Option<Sockets>,
    /// Softirq work of the network in other programs and in idle time, ns per request: the most
    /// that was done for the program elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<Figure>,
    /// Facts to know before believing the figures.
    pub notes: Vec<String>,
    /// What this machine refused, each once.
    pub refused: Vec<Refusal>,
}

impl State {
    /// The word for the things that its figures are per.
    pub const fn unit(&self) -> &'static str {
        if self.per_send.is_some() { "send" } else { "request" }
    }

    /// The receipt, if there is one.
    pub fn receipt(&self) -> Option<&Receipt> {
        self.outcome.receipt()
    }

    /// Share of a kind of work in what was sampled, 0 to 1: those of all kinds sum to 1. `None` where the
    /// receipt does not bear it.
    pub fn sampled(&self, work: Work) -> Option<f64> {
        match self.footing? {
            Footing::TooFew { .. } | Footing::Off => None,
            Footing::NoRecords | Footing::Hold => {
                let sum =
                    |of: &dyn Fn(Work) -> bool| -> f64 { self.work.iter().filter(|row| of(row.work)).map(|row| row.share.value).sum() };
                let all = sum(&|_| true);
                (all > 0.0).then(|| sum(&|one| one == work) / all)
            }
        }
    }

    /// True where it has a receipt that does not add up.
    pub fn is_red(&self) -> bool {
        self.receipt().is_some_and(Receipt::is_red)
    }

    /// The doubts of its receipt, the gravest first.
    pub fn doubts(&self) -> &[Doubt] {
        self.receipt().map_or(&[], |receipt| &receipt.doubts)
    }
}

/// A count or a time of one request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Quantity {
    /// Its name: `wake-ups`, `bytes received`.
    pub name: String,
    /// `ns`, `bytes` or empty of a count.
    pub unit: &'static str,
    /// Per request.
    pub figure: Figure,
}

/// System calls of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Call {
    /// The call.
    pub call: String,
    /// Way of its data.
    pub way: Way,
    /// Protocol of its socket.
    pub protocol: String,
    /// Calls that moved data, per request.
    pub per_request: Figure,
    /// Mean bytes of these.
    pub mean_bytes: f64,
    /// Calls that found nothing, or no room, per request.
    pub empty: f64,
    /// Share that moved less than it asked for, of calls of which this is known; `None` of none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short: Option<f64>,
    /// Mean bytes asked for, of the same calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_bytes: Option<f64>,
    /// Share of these that asked for more, since pieces beyond the eighth are not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// Sizes asked for and their calls, the most frequent first.
    pub asked_sizes: Vec<(u64, u64)>,
    /// Sizes moved and their calls, the most frequent first.
    pub sizes: Vec<(u64, u64)>,
}

impl State {
    /// The sizes that the program gives to sockets, as a mix that `nettoll workload` reads: each
    /// with the share of the calls of at most that size. Empty without calls.
    pub fn mix(&self) -> String {
        let mut sizes: BTreeMap<u64, u64> = BTreeMap::new();
        for (size, calls) in self.calls.iter().filter(|call| call.way == Way::Out).flat_map(|call| &call.sizes) {
            *sizes.entry(*size).or_default() += calls;
        }
        let all: u64 = sizes.values().sum();
        if all == 0 {
            return String::new();
        }
        let mut text = "message_bytes,cumulative_fraction\n".to_owned();
        let mut below = 0;
        for (size, calls) in sizes {
            below += calls;
            text += &format!("{size},{}\n", below as f64 / all as f64);
        }
        text
    }
}

/// One state against another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// Names of the two.
    pub names: [String; 2],
    /// By layer.
    pub layers: Comparison<Layer>,
    /// True where each does not add up.
    pub red: [bool; 2],
    /// Sends of an exchange in each, where they differ and figures are per send: no difference of requests is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sends: Option<[f64; 2]>,
    /// CPU time of a request in the second over that in the first, paired by block; `None` of
    /// two runs, whose blocks are no pairs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<stats::estimate::Estimate>,
    /// The share of the first's CPU time up to which a difference is none.
    pub threshold: f64,
    /// The verdict on the CPU time of a request.
    pub verdict: Verdict,
}

choice! {
    /// A verdict on the CPU time of a request.
    Verdict, "a verdict" {
        /// The second costs more, surely and by more than the threshold.
        Worse = "worse",
        /// It costs less, surely and by more than the threshold.
        Better = "better",
        /// The whole interval lies within the threshold on both sides of none.
        Equivalent = "equivalent",
        /// None of these is shown, a receipt does not add up, or the sends of an exchange differ.
        Inconclusive = "inconclusive",
    }
}

impl Change {
    /// Both ends of the difference as a share of the first: of pairs by their ratio.
    pub fn share(&self) -> Option<[f64; 2]> {
        if let Some(ratio) = &self.ratio {
            return ratio.interval.map(|ends| [ends.low - 1.0, ends.high - 1.0]);
        }
        let cpu = &self.layers.cpu;
        cpu.difference.interval.filter(|_| cpu.ns[0] > 0.0).map(|ends| ends.map(|end| end / cpu.ns[0]))
    }

    fn judged(mut self) -> Self {
        let cpu = &self.layers.cpu;
        let value = self.ratio.map_or((cpu.ns[1] - cpu.ns[0]) / cpu.ns[0], |ratio| ratio.value - 1.0);
        self.verdict = match self.share() {
            None => Verdict::Inconclusive,
            _ if self.red.contains(&true) || self.sends.is_some() => Verdict::Inconclusive,
            Some([low, _]) if low > 0.0 && value > self.threshold => Verdict::Worse,
            Some([_, high]) if high < 0.0 && -value > self.threshold => Verdict::Better,
            Some([low, high]) if -low < self.threshold && high < self.threshold => Verdict::Equivalent,
            Some(_) => Verdict::Inconclusive,
        };
        self
    }
}

/// Confidence of the ratio of two arms.
const CONFIDENCE: f64 = 0.95;

/// Analyses a run by its windows; `bad_lines` could not be read.
pub fn analyse(run: Attachment, windows: &[WindowRecord], bad_lines: u64, rules: &Rules) -> Attached {
    let arms: Vec<Option<usize>> = if run.arms.is_empty() { vec![None] } else { (0..run.arms.len()).map(Some).collect() };
    let state = |arm: &Option<usize>| {
        let own: Vec<&WindowRecord> = windows.iter().filter(|window| window.arm == *arm).collect();
        let name = arm.and_then(|arm| run.arms.get(arm).cloned());
        if passes::unseen(&run, &own) {
            // Too few requests would make every figure of a request too large.
            let own: Vec<WindowRecord> = own.into_iter().map(|window| WindowRecord { requests: None, ..window.clone() }).collect();
            return state(&run, name, &own.iter().collect::<Vec<_>>(), rules);
        }
        state(&run, name, &own, rules)
    };
    let states: Vec<State> = arms.iter().map(state).collect();
    let change = match states.as_slice() {
        [a, b] => {
            change([a, b], ["a", "b"].map(str::to_owned), THRESHOLD).map(|change| Change { ratio: paired(windows), ..change }.judged())
        }
        _ => None,
    };
    Attached { run, states, change, bad_lines }
}

/// Frame of the program's own code.
const USER: &str = "[user]";

/// The call chains of all windows of an arm in the flame graph tools' folded format, with functions
/// of the program's own code as frames below that of user code; empty without samples.
pub fn folded(windows: &[WindowRecord], arm: Option<usize>) -> String {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for window in windows.iter().filter(|window| window.arm == arm) {
        let Some(profile) = &window.profile else { continue };
        let mut named: Vec<(&str, u64)> =
            window.own_code.iter().flat_map(|own| &own.functions).map(|(name, count)| (name.as_str(), *count)).collect();
        let mut add = |chain: String, count: u64| {
            let sum = sums.entry(chain).or_default();
            *sum = sum.saturating_add(count);
        };
        for (chain, count) in attribution::folded(profile).lines().filter_map(|line| line.rsplit_once(' ')) {
            let mut left: u64 = count.parse().unwrap_or(0);
            if chain == USER {
                for (name, samples) in std::mem::take(&mut named) {
                    let own = samples.min(left);
                    left -= own;
                    add(format!("{USER};{name}"), own);
                }
            }
            add(chain.to_owned(), left);
        }
    }
    sums.iter().filter(|(_, count)| **count > 0).map(|(chain, count)| format!("{chain} {count}\n")).collect()
}

/// The second state against the first, where a difference of up to `threshold`, a share, is none;
/// `None` where one has no receipt.
pub fn change(states: [&State; 2], names: [String; 2], threshold: f64) -> Option<Change> {
    let [a, b] = [states[0].receipt()?, states[1].receipt()?];
    let layers = compare(a, b, |receipt| &receipt.rows.layers);
    let red = [a.is_red(), b.is_red()];
    let sends = passes::uneven(states.map(|state| state.per_send));
    Some(Change { names, layers, red, sends, ratio: None, threshold, verdict: Verdict::Inconclusive }.judged())
}

/// The two arms' CPU time of a request in the clean windows of each block.
fn paired(windows: &[WindowRecord]) -> Option<stats::estimate::Estimate> {
    let clean = |block: u32, arm: usize| {
        let mut found = windows.iter().filter(|one| one.block == block && one.arm == Some(arm) && one.look == Look::Clean);
        let add = |(cpu, requests), one: &WindowRecord| Some((cpu + one.clocks.cpu.get() as f64, requests + one.requests? as f64));
        let (cpu, requests): (f64, f64) = found.try_fold((0.0, 0.0), add)?;
        (requests > 0.0).then(|| cpu / requests)
    };
    let last = windows.iter().map(|window| window.block).max()?;
    let pairs: Vec<(f64, f64)> = (0..=last).filter_map(|block| Some((clean(block, 0)?, clean(block, 1)?))).collect();
    let ratios: Vec<f64> = pairs.iter().filter(|(a, _)| *a > 0.0).map(|(a, b)| b / a).collect();
    stats::median::estimate(&ratios, CONFIDENCE)
}

fn state(run: &Attachment, arm: Option<String>, windows: &[&WindowRecord], rules: &Rules) -> State {
    // Bytes of a part of its processes are no size of a request, and sums without those of children would be of
    // another program.
    let seen: Vec<&WindowRecord> = if passes::uncounted(run, windows) { Vec::new() } else { windows.to_vec() };
    let mut chains = Chains::default();
    let (mut kept, sampled) = passes::kept(run, windows, &mut chains);
    kept.sampled = SampledSlices::Absent("a running program is not stopped for them".to_owned());
    let mut known = ChainAttributes::new(&chains, rules);
    let tallies = end::tallies(&kept, &mut known);
    let mut receipt = end::receipt(passes::size(&seen), Role::Receiver, &kept, &tallies, &mut known);
    let processes = windows.iter().map(|window| window.clocks.processes).max().unwrap_or(0);
    if let Ok(receipt) = &mut receipt
        && processes > 1
    {
        // Waits of several processes are not followed, as the refusals say.
        receipt.doubts.retain(|doubt| !matches!(doubt, Doubt::NoWaits));
    }
    let made = receipt.as_ref().ok();
    let clean = || windows.iter().filter(|window| window.look == Look::Clean);
    let seconds = |window: &WindowRecord| window.window.length().as_secs_f64();
    let rate: Vec<(f64, f64)> = clean().filter_map(|window| Some((window.requests? as f64, seconds(window)))).collect();
    let busy: Vec<(f64, f64)> = clean().map(|window| (window.clocks.cpu.as_secs_f64(), seconds(window))).collect();
    let figure = |pairs: &[(f64, f64)]| (!pairs.is_empty()).then(|| ratio(pairs).figure());
    let mut refused: Vec<Refusal> = run.refused.clone();
    for refusal in windows.iter().flat_map(|window| &window.refused) {
        if !refused.contains(refusal) {
            refused.push(refusal.clone());
        }
    }
    let looks = Look::ALL.iter().map(|look| (*look, windows.iter().filter(|window| window.look == *look).count() as u32));
    let (patterns, exchanges) = passes::patterns(&seen);
    let sockets = windows.iter().rev().find_map(|window| window.sockets.clone());
    State {
        arm,
        cpu: passes::cpu(windows),
        footing: made.map(Receipt::footing),
        windows: looks.filter(|(_, count)| *count > 0).collect(),
        work: made.map_or_else(Vec::new, |receipt| work::rows(&sampled, receipt)),
        own_code: made.map_or_else(Vec::new, |receipt| work::own_rows(&sampled, receipt)),
        rate: figure(&rate),
        busy: figure(&busy),
        per_request: passes::quantities(windows, &seen),
        calls: passes::calls(&seen),
        patterns,
        exchanges,
        per_send: passes::per_send(run, &seen, sockets.as_ref()),
        sockets,
        elsewhere: passes::elsewhere(windows),
        notes: notes(run, windows, made),
        refused,
        outcome: match receipt {
            Ok(receipt) => ReceiptOutcome::Made(Box::new(receipt)),
            Err(error) => ReceiptOutcome::Absent { reason: passes::absent(run, windows, &error) },
        },
    }
}

fn notes(run: &Attachment, windows: &[&WindowRecord], receipt: Option<&Receipt>) -> Vec<String> {
    let mut notes = Vec::new();
    if run.irq_time_subtracted == Some(true) {
        notes.push(
            "This kernel takes interrupt time out of process clocks: the CPU time of a request lacks what interrupts took.".to_owned(),
        );
    }
    if run.counts_sends() {
        notes.push(
            "A counter of socket calls is on in every window, since requests are counted by it: its time is in the figures.".to_owned(),
        );
    }
    let beyond: u64 = windows.iter().filter_map(|window| window.messages.as_ref()).map(|messages| messages.beyond).sum();
    if beyond > 0 {
        let kept: u64 = windows.iter().filter_map(|window| window.messages.as_ref()).map(|messages| messages.kept).sum();
        notes.push(format!("Calls, sizes and exchanges are of {kept} calls; another {beyond} were counted in the sums alone."));
    }
    let ended: u64 = windows.iter().map(|window| window.clocks.ended.get()).sum();
    if ended > 0 {
        notes.push(
            "Children ended meanwhile: the kernel gives their CPU time in steps of 10 ms, those that nobody waits for not at all."
                .to_owned(),
        );
    }
    if passes::uncounted(run, windows) {
        notes
            .push("Socket calls, bytes and exchanges cannot be counted: processes came and went, and theirs are not seen here.".to_owned());
    }
    if windows.iter().any(|window| passes::gone(window)) {
        notes.push("Wake-ups and waits cannot be counted: those of processes that ended went with them.".to_owned());
    }
    if receipt.is_some_and(Receipt::is_red) {
        notes.push("The receipt does not add up: its rows are not to be used.".to_owned());
    }
    notes
}
