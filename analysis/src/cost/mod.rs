//! Cost of a message: t = a + b·bytes + c·frames + w·wake-ups.
//!
//! ```text
//! figures of all trials -> Sizes (medians by size) -> search: terms, breakpoints
//!   -> Fit on the medians -> intervals from resampled blocks, each draw choosing its
//!      form again -> named and judged
//! ```

pub mod simulation;
pub mod threshold;

mod assemble;
pub mod fit;
pub(crate) mod sizes;

use model::cell::Series;
use model::{Cell, Protocol};

use crate::grouping::group_by;
use crate::metric::Metric;
use crate::paths::Paths;
use crate::table::CellTrials;
use sizes::Sizes;

pub use fit::{Breakpoint, CostModel, Fit, FitOutcome, FitPoint, Piece, Quantity, TermEstimate};

use crate::confidence::Confidence;
use stats::bootstrap::{self, Batches};
use stats::cost::{LEAST_SIZES, Term};
use stats::median;

/// Fewer blocks show neither how much medians scatter nor how sure a
/// coefficient is.
const LEAST_BLOCKS: usize = bootstrap::LEAST_BLOCKS;

/// Largest share of a stream's datagrams that may be lost: beyond it the time
/// between those that arrive is not the time that one takes.
const MOST_LOST: f64 = 0.01;

/// The conditions that hold for all models of a run.
#[derive(Debug, Clone)]
pub struct Context<'a> {
    /// The confidence of its intervals.
    pub confidence: Confidence,
    /// The batches by which its blocks are resampled.
    pub batches: &'a Batches,
    /// Facts about the links.
    pub paths: &'a Paths,
    /// Seed of the resampling.
    pub seed: u64,
}

/// The models of every series of stream cells, in the order in which series
/// first come up, each for every quantity.
pub fn models(cells: &[CellTrials], context: &Context) -> Vec<CostModel> {
    // A mix has no size to put a line through: it is what models are for.
    let streams = cells.iter().filter(|trials| trials.cell.test.is_stream() && trials.cell.mix.is_none());
    let series = group_by(streams, |trials| trials.cell.series());
    let all = series.iter().flat_map(|(series, members)| Quantity::ALL.iter().map(move |quantity| (series, members, *quantity)));
    all.map(|(series, members, quantity)| CostModel {
        series: series.clone(),
        protocol: series.test().protocol(),
        quantity,
        outcome: outcome(series, members, quantity, context),
    })
    .collect()
}

fn outcome(series: &Series, members: &[&CellTrials], quantity: Quantity, context: &Context) -> FitOutcome {
    let sizes = Sizes::from_trials(members, quantity.metric(), context.batches);
    match refusal(series, members, quantity, &sizes, context) {
        Some(reason) => FitOutcome::NotALine { reason },
        None => assemble::fit(&sizes, &members[0].cell, &optional(members, quantity, context), context),
    }
}

/// Reason why there cannot be a model, whatever the figures are.
fn refusal(series: &Series, members: &[&CellTrials], quantity: Quantity, sizes: &Sizes, context: &Context) -> Option<String> {
    if series.test().protocol() == Protocol::Tcp && !series.nodelay() {
        let reason = "without TCP_NODELAY Nagle's algorithm holds small messages back and joins them, so that the time per message \
                      is not a line in its size; set it (`--nodelay`) for a model";
        return Some(reason.to_owned());
    }
    if let Some(reason) = not_its_own(series, quantity) {
        return Some(reason.to_owned());
    }
    let blocks = context.batches.blocks();
    if blocks < LEAST_BLOCKS {
        return Some(format!("a model needs {LEAST_BLOCKS} blocks; this run has {blocks}"));
    }
    let measured = sizes.len();
    if measured < LEAST_SIZES {
        let were = if measured == 1 { "size was" } else { "sizes were" };
        return Some(format!("{measured} {were} measured and a line needs {LEAST_SIZES}: add sizes (`--size 1..16K:x4`)"));
    }
    if quantity == Quantity::Elapsed { disturbed(members).or_else(|| survivors(members)) } else { None }
}

/// Reason why the times of a series are not those of a message.
fn not_its_own(series: &Series, quantity: Quantity) -> Option<&'static str> {
    if series.rate().is_some() {
        return Some(
            "a rate was offered, so that the time per message is the schedule's and its CPU time holds the waiting between two messages; \
             leave the rate out for a model",
        );
    }
    (series.bidirectional() && quantity != Quantity::Elapsed)
        .then_some("both ends sent, and nothing says which way an end's CPU time went; send one way for a model")
}

fn disturbed(members: &[&CellTrials]) -> Option<String> {
    let (disturbed, trials) = mostly_disturbed(members)?;
    Some(format!(
        "{disturbed} of its {trials} trials were disturbed (see the warnings), so that elapsed times are those of this machine and \
         what else ran on it; CPU time is less affected"
    ))
}

/// Disturbed trials and all of a series, where the former are at least half.
fn mostly_disturbed(members: &[&CellTrials]) -> Option<(usize, usize)> {
    let trials: usize = members.iter().map(|trials| trials.figures.len()).sum();
    let disturbed: usize = members.iter().map(|trials| trials.figures.iter().filter(|trial| trial.disturbed).count()).sum();
    (disturbed * 2 >= trials).then_some((disturbed, trials))
}

fn survivors(members: &[&CellTrials]) -> Option<String> {
    let loss = |trials: &&CellTrials| {
        let shares: Vec<f64> = trials.figures.iter().filter_map(|trial| trial.get(Metric::LossShare)).collect();
        Some((median::median(&shares)?, trials.cell.size))
    };
    let (share, size) = members.iter().filter_map(loss).max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(share, _)| *share > MOST_LOST)?;
    Some(format!(
        "datagrams were lost, {:.1} % of those of {} B, so that the time per message is the spacing of the survivors; see the sender's \
         rate and CPU time",
        share * 100.0,
        size.get()
    ))
}

/// The terms that a model may have besides a message and its bytes.
///
/// A receiver that is slow is woken less often, so wake-ups are not a cause of
/// elapsed time; of CPU time they are, at both ends: the sender pays for the
/// wake-up that its message brings about. In a series that is mostly disturbed
/// both follow from what else ran, and are no cause of each other.
fn optional(members: &[&CellTrials], quantity: Quantity, context: &Context) -> Vec<Term> {
    let frame = frames_count(&members[0].cell, context).then_some(Term::Frame);
    let wakeup = (quantity != Quantity::Elapsed && mostly_disturbed(members).is_none()).then_some(Term::Wakeup);
    frame.into_iter().chain(wakeup).collect()
}

/// Returns whether the number of frames follows from the size of a message.
fn frames_count(cell: &Cell, context: &Context) -> bool {
    cell.protocol() == Protocol::Udp || context.paths.of_cell(cell).segments_are_frames
}

#[cfg(test)]
mod tests {
    use super::{Context, Quantity, optional};
    use crate::confidence::Confidence;
    use crate::paths::Paths;
    use crate::table::CellTrials;
    use crate::testing::{cell, figures, measured, record, run};
    use model::{Role, Test, Warning};
    use stats::bootstrap::Batches;
    use stats::cost::Term;

    /// The terms tried for a series of ten trials of which some are disturbed.
    fn tried(disturbed: u32, quantity: Quantity) -> Vec<Term> {
        let mut trials = CellTrials::new(cell(Test::UdpStream, 64));
        trials.figures.extend((0..10).map(|block| {
            let mut record = record(Test::UdpStream, 64, block, measured(Test::UdpStream, 64));
            record.warnings.extend((block < disturbed).then_some(Warning::Contended { role: Role::Sender, share: 0.5 }));
            figures(&record)
        }));
        let confidence = Confidence::new(&run(Vec::new(), 9).plan.blocks);
        let context = Context { confidence, batches: &Batches::from_blocks(0..10), paths: &Paths::default(), seed: 1 };
        optional(&[&trials], quantity, &context)
    }

    #[test]
    fn wakeups_are_no_cause_in_a_disturbed_series() {
        assert_eq!(tried(4, Quantity::ReceiverCpu), [Term::Frame, Term::Wakeup]);
        assert_eq!(tried(5, Quantity::ReceiverCpu), [Term::Frame]);
        assert_eq!(tried(0, Quantity::Elapsed), [Term::Frame]);
    }
}
