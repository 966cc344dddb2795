//! What an advice saves, by its replays.

use model::Refusal;
use model::replay::Replayed;
use model::sorting::Order;
use serde::Serialize;
use stats::estimate::{Estimate, Interval};

use super::{Advice, Measure, Now};

/// The least saving that is shown, as a share of what there is.
pub const LEAST: f64 = 0.10;
/// Reach of what a replay cannot know of the program, as a share of the saving: where its peers run,
/// what else is in its caches. An allowance: tests hold it against programs that were mended.
pub const MODEL: f64 = 0.20;
/// Confidence of the ratio of both ways.
const CONFIDENCE: f64 = 0.95;
/// So much more of its time a replay may be without a CPU than the program was.
const DISTURBED: f64 = 0.10;
/// Share of the blocks in which both ways exchanged anything, at least: a busy machine may keep one from it.
const WHOLE: f64 = 0.75;
/// Fewer datagrams lost in the observed way are no loss that was brought about.
const LEAST_LOST: f64 = 0.002;

/// An advice whose saving was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verified {
    /// The advice.
    pub advice: Advice,
    /// What it saves, as a share of the program's present cost: the median over blocks, its interval
    /// widened by [`MODEL`]. `None` where the replays show nothing.
    pub share: Option<Estimate>,
    /// The same in ns for each answer or message, or as a share of all datagrams. Its upper end may
    /// exceed what was observed, which is uncertain as well.
    pub saving: Option<Estimate>,
    /// Both ways in each block: ns, or the share that was lost.
    pub blocks: Vec<[f64; 2]>,
    /// The saving is shown: its whole interval is above 0, and it is a tenth at least.
    pub shown: bool,
    /// Share of the time that servers of the replays ran or were ready to, in which they had no CPU:
    /// the median over blocks.
    pub delayed: f64,
    /// The replays had less of the CPUs than the program: something else ran, which may be the program
    /// itself under its load. Their times are then of another machine than the program's.
    pub disturbed: bool,
    /// Why nothing is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Judges an advice by the replays of each block, the observed way first; the program itself had no CPU
/// for a share `delayed` of the time that it wanted one.
pub fn verify(advice: Advice, replays: &[[Replayed; 2]], delayed: f64) -> Verified {
    let blocks: Vec<[f64; 2]> = replays.iter().map(|both| both.map(|one| value(advice.measure, &one))).collect();
    let whole: Vec<&[f64; 2]> = blocks.iter().filter(|both| both.iter().all(|one| one.is_finite())).collect();
    let reproduced = whole.len() as f64 >= WHOLE * blocks.len() as f64
        && (advice.measure != Measure::Lost || blocks.iter().all(|[now, _]| *now > LEAST_LOST));
    let shares: Vec<f64> = if reproduced { whole.iter().map(|[now, then]| 1.0 - then / now).collect() } else { Vec::new() };
    let share = stats::median::estimate(&shares, CONFIDENCE).map(widened);
    let now = match advice.now {
        Now::Observed(now) => now,
        Now::Replayed { at_most } => median(blocks.iter().map(|[now, _]| *now).collect()).min(at_most),
    };
    let saving = share.map(|share| share.map(|share| share * now));
    // Nothing saves more than there is.
    let share = share.map(|share| Estimate { interval: share.interval.map(|ends| Interval { high: ends.high.min(1.0), ..ends }), ..share });
    let shown = share.is_some_and(|share| share.value >= LEAST && share.interval.is_some_and(|ends| ends.low > 0.0));
    let reason = match share {
        _ if shown => None,
        None => Some("the replay does not show what was observed".to_owned()),
        Some(share) if share.interval.is_none() => Some("there are too few blocks; six at least".to_owned()),
        Some(_) => {
            let none = format!("the replays show no saving of {:.0} % or more", LEAST * 100.0);
            let after_all =
                |share: f64| format!("{none}; the kernel copied {:.0} % of the sends that it was lent memory for", share * 100.0);
            Some(copied(replays).map_or_else(|| none.clone(), after_all))
        }
    };
    let own = median(replays.iter().flatten().map(waiting).collect());
    Verified { saving, share, blocks, shown, delayed: own, disturbed: own > delayed + DISTURBED, reason, advice }
}

/// Share of the sends with MSG_ZEROCOPY that the kernel copied after all, where it is not none: memory
/// that goes to a program of the same machine, or by a device without checksums and scatter-gather.
fn copied(replays: &[[Replayed; 2]]) -> Option<f64> {
    let notices = replays.iter().flatten().filter_map(|one| one.zero_copy);
    let [sends, copied] = notices.fold([0.0; 2], |[sends, copied], one| [sends + one.sends as f64, copied + one.copied as f64]);
    (copied > 0.0).then(|| copied / sends)
}

/// Share of its wanted time that a server had no CPU.
fn waiting(of: &Replayed) -> f64 {
    let wanted = of.cpu.get().saturating_add(of.delay.get());
    if wanted > 0 { of.delay.get() as f64 / wanted as f64 } else { 0.0 }
}

fn median(mut values: Vec<f64>) -> f64 {
    stats::sort(&mut values);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// An advice whose replays this machine refused.
pub fn refused(advice: Advice, refusal: &Refusal) -> Verified {
    Verified {
        advice,
        share: None,
        saving: None,
        blocks: Vec::new(),
        shown: false,
        delayed: 0.0,
        disturbed: false,
        reason: Some(refusal.to_string()),
    }
}

/// The figure that an advice changes, of one replay; infinite where nothing was exchanged.
fn value(measure: Measure, of: &Replayed) -> f64 {
    let each = |sum: u64| if of.exchanges == 0 { f64::INFINITY } else { sum as f64 / of.exchanges as f64 };
    match measure {
        Measure::Cpu => each(of.cpu.get()),
        Measure::Time => each(of.wall.get()),
        Measure::Lost if of.handed == 0 => f64::INFINITY,
        Measure::Lost => of.handed.saturating_sub(of.taken) as f64 / of.handed as f64,
    }
}

fn widened(share: Estimate) -> Estimate {
    let by = MODEL * share.value.abs();
    let interval = share.interval.map(|ends| Interval { low: ends.low - by, high: ends.high + by, ..ends });
    Estimate { interval, ..share }
}

/// The shown ones first, those that save the largest share before others.
pub fn ranked(mut all: Vec<Verified>) -> Vec<Verified> {
    let key = |one: &Verified| (one.shown, one.share.map_or(f64::NEG_INFINITY, |share| share.value));
    all.order_by(|a, b| {
        let ((shown_a, a), (shown_b, b)) = (key(a), key(b));
        shown_b.cmp(&shown_a).then(b.total_cmp(&a))
    });
    all
}
