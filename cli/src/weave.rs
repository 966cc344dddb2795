//! How the arms of a study are compared: woven, or in turn.

use std::path::{Path, PathBuf};

use analysis::agreement::agreements;
use analysis::woven::extent;
use lab::study::StudyError;
use model::plan::{ApprovedPlan, Unfit, rather_in_turn};
use model::run::Status;

use crate::args::StudyArgs;
use crate::exit::Failure;
use crate::{output, report};

/// Decides how the arms of a plan are compared; the line that says which way, and why.
///
/// # Errors
/// Arms that are to be woven and cannot be.
pub fn decide(plan: ApprovedPlan, args: &StudyArgs) -> Result<(ApprovedPlan, Option<String>), Failure> {
    const WOVEN: &str = "the arms are woven: all are alive and take turns of 10 to 40 ms (--in-turn compares them in turn)";
    let instances = args.extent.blocks.map_or_else(|| extent(&plan), |blocks| [blocks; 2]);
    if args.weave.woven {
        return Ok((plan.weave(instances).map_err(StudyError::NotWoven)?, Some(WOVEN.to_owned())));
    }
    // A study whose plan has the arms is carried out as its author wrote it.
    if args.arms.arm.is_empty() || plan.arms.len() < 2 {
        return Ok((plan, None));
    }
    let why = match () {
        () if args.weave.in_turn => "--in-turn says so".to_owned(),
        () if args.plan.is_some() || !args.like.is_empty() || args.extent.is_of_trials() => {
            "lengths or numbers of trials are given (--woven weaves the arms)".to_owned()
        }
        () => match rather_in_turn(&plan) {
            None => return Ok((plan.weave(instances).map_err(StudyError::NotWoven)?, Some(WOVEN.to_owned()))),
            Some(why) => why.to_string(),
        },
    };
    Ok((plan, Some(in_turn(&why))))
}

/// The line of arms that are compared in turn.
pub fn in_turn(why: &str) -> String {
    format!("the arms are compared in turn: {why}")
}

/// Compares the arms of a run the other way, and says whether both ways agree. `trials` is the plan with its arms in turn.
///
/// # Errors
/// The other way cannot be carried out, or a run cannot be read.
pub fn check(
    path: &Path,
    plan: &ApprovedPlan,
    trials: ApprovedPlan,
    args: &StudyArgs,
    carry_out: impl FnOnce(&ApprovedPlan) -> (Option<PathBuf>, Result<Status, StudyError>),
) -> Result<(), Failure> {
    let (other, names) = match plan.woven {
        true => (trials, ["woven", "in turn"]),
        false => {
            if let Some(why) = rather_in_turn(&trials) {
                return not_checked(why);
            }
            let instances = extent(&trials);
            (trials.weave(instances).map_err(StudyError::NotWoven)?, ["in turn", "woven"])
        }
    };
    output::note(&format!("checking the arms {}", names[1]));
    let (again, outcome) = carry_out(&other);
    let status = match outcome {
        Err(StudyError::NotWoven(why)) => return not_checked(why),
        outcome => outcome?,
    };
    let Some(again) = again.filter(|_| status != Status::Interrupted) else {
        output::note("the check was interrupted");
        return Ok(());
    };
    let gate = &args.arms.gate.gate;
    report::write(&again, None, gate)?;
    let [first, second] = [path, &again].map(|path| report::collect(path, None).map(|collector| collector.with_gate(gate).finish()));
    let (first, second) = (first?, second?);
    let labels: Vec<&str> = first.cells.iter().map(|cell| cell.label.as_str()).collect();
    ::report::verdict::agreement(&agreements(first.verdicts(), second.verdicts()), &labels, names)
        .iter()
        .for_each(|line| output::note(line));
    output::note(&format!("the check is {}", again.display()));
    Ok(())
}

/// Says why the arms were not compared the other way. It is no failure: a verdict is there.
#[expect(clippy::unnecessary_wraps, reason = "it ends what may fail")]
fn not_checked(why: Unfit) -> Result<(), Failure> {
    output::note(&format!("not checked: the arms cannot be woven: {why}"));
    Ok(())
}
