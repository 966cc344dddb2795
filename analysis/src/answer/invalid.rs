//! Figures that are not to be used. Width, a virtual machine, and CPUs that others use are no reason:
//! they widen what is compared side by side, and do not make it wrong.

use attribution::Footing;
use model::Warning;
use model::trial::Windows;

use super::notation::whole;
use super::{Invalid, InvalidFigure};
use crate::findings::Finding;
use crate::studies::Analysis;

/// What is wrong in fewer trials than one in this many leaves the others as they are.
const RARE: u64 = 10;

/// Returns whether one end measured while the other did not. An end whose measured time lies within the other's has
/// right rates and times of its own.
fn lie_apart(warning: &Warning) -> bool {
    let Warning::WindowsApart { overlap_ns, sender, receiver } = *warning else { return false };
    (overlap_ns as f64) < sender.min(receiver).get() as f64 * Windows::LEAST
}

/// Returns whether rates and times of a run are not to be used.
pub fn of_times(analysis: &Analysis) -> bool {
    counted(analysis).any(|finding| lie_apart(&finding.warning))
}

/// Doubts of more trials than a few.
fn counted(analysis: &Analysis) -> impl Iterator<Item = &Finding> {
    let all = analysis.trials + analysis.failed;
    analysis.findings.iter().filter(move |finding| finding.is_of_whole_arm || finding.trials == 0 || finding.trials * RARE >= all)
}

/// The figures of a run that are not to be used, and why.
pub fn of(analysis: &Analysis) -> Vec<Invalid> {
    if analysis.trials == 0 {
        let (reason, remedy) = analysis
            .findings
            .first()
            .map_or_else(|| ("no trial was measured".to_owned(), String::new()), |first| (first.text.clone(), first.remedy.clone()));
        return vec![Invalid { figure: InvalidFigure::Every, reason, remedy }];
    }
    let mut invalid: Vec<Invalid> = counted(analysis)
        .filter_map(|finding| {
            let figure = figure(finding, analysis.fleet().is_some())?;
            Some(Invalid { figure, reason: finding.text.clone(), remedy: finding.remedy.clone() })
        })
        .collect();
    let receipts = analysis.receipt().map_or(&[][..], |study| &study.cells);
    let red = receipts.iter().flat_map(crate::receipt::CellReceipt::receipts).filter(|receipt| receipt.footing() == Footing::Off).count();
    invalid.extend((red > 0).then(|| Invalid {
        figure: InvalidFigure::Named("the rows of receipts that do not add up".to_owned()),
        reason: format!(
            "the sums of {} fail: samples against the time on a CPU, waits, or the time billed before the end ran",
            whole(red as u64)
        ),
        remedy: "Their CPU time stays good; the report names them.".to_owned(),
    }));
    invalid
}

/// The figure that a doubt makes invalid; `None` of one that does not.
fn figure(finding: &Finding, is_fleet: bool) -> Option<InvalidFigure> {
    let name = match &finding.warning {
        Warning::Unaccounted { .. } => "the loss".to_owned(),
        Warning::WrongPath { .. } | Warning::NoLink { .. } | Warning::Claim { .. } => return Some(InvalidFigure::Every),
        Warning::OptionNotTaken { option, .. } => format!("what depends on {option}"),
        // Of a fleet a host that is not there is the answer.
        Warning::TrialFailed { .. } if is_fleet => return None,
        Warning::TrialFailed { .. } if finding.is_of_whole_arm => "the arm that failed".to_owned(),
        Warning::TrialFailed { .. } | Warning::MissingHosts { .. } => {
            return Some(InvalidFigure::OfCells { labels: finding.cells.clone(), places: finding.places.clone() });
        }
        Warning::Impossible { figure, .. } => figure.clone(),
        Warning::WindowsApart { .. } if lie_apart(&finding.warning) => "rates and times".to_owned(),
        _ => return None,
    };
    Some(InvalidFigure::Named(name))
}
