//! How the arms or ways of a study are compared: woven, or in turn.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use analysis::agreement::agreements;
use analysis::woven::{LOOKS, Scatter, WovenSeries, extent};
use lab::study::StudyError;
use model::plan::{ApprovedPlan, Unfit, rather_in_turn, unfit};
use model::run::Status;
use model::{Nanos, Plan};
use store::{RunReader, StoreError};

use crate::args::{ExtentArgs, StudyArgs};
use crate::exit::Failure;
use crate::{output, report};

/// The study whose ways of sending are woven without being asked.
const WAYS: &str = "ways";
/// Time that a pilot measures, or a little more: each cell needs some instances for their scatter.
const PILOT: Nanos = Nanos::from_millis(5_000);
/// Fewest instances of a pilot.
const LEAST_OF_PILOT: u32 = 4;
/// Stored runs, the latest first, that are looked through for how instances scatter, and those of them that say it.
const LOOKED_THROUGH: usize = 200;
const MOST_RUNS: usize = 20;

/// Plans of a comparison: the one that is carried out, and the one with its arms in turn.
pub struct Comparison {
    /// The plan that is carried out.
    pub plan: ApprovedPlan,
    /// The plan with its arms in turn.
    pub in_turn: ApprovedPlan,
    /// The line that says which way, and why.
    pub way: Option<String>,
}

/// Decides how the arms of a plan are compared. `author` gives the plan with the lengths of trials that its author wrote,
/// for a time on the command line may bound the comparison.
///
/// # Errors
/// Arms that are to be woven and cannot be; a plan that cannot be resolved.
pub fn decide(plan: ApprovedPlan, args: &StudyArgs, author: impl FnOnce() -> Result<ApprovedPlan, Failure>) -> Result<Comparison, Failure> {
    let extent_args = &args.extent;
    let are_ways = plan.arms.len() < 2;
    // A study whose plan has the arms is carried out as its author wrote it, unless it is to be woven.
    let is_asked = if are_ways { args.name.as_deref() == Some(WAYS) } else { !args.arms.arm.is_empty() };
    if !args.weave.woven && !is_asked {
        return Ok(Comparison { in_turn: plan.clone(), plan, way: None });
    }
    let in_turn_for = |plan: ApprovedPlan, why: &str| Comparison { in_turn: plan.clone(), way: Some(in_turn(&plan, why)), plan };
    let why = match () {
        () if args.weave.woven => None,
        () if args.weave.in_turn => Some("--in-turn says so"),
        () if args.plan.is_some() => Some("a plan of one's own says how long trials are (--woven weaves it)"),
        () if !args.like.is_empty() => Some("--like predicts trials in turn"),
        () if extent_args.warmup.is_some() || extent_args.precision.is_some() => {
            Some("a warm-up and a precision are those of trials in turn (--woven weaves all the same)")
        }
        () if extent_args.length.is_some() && extent_args.blocks.is_some() => {
            Some("a time and a number of blocks together are those of trials in turn (--woven weaves all the same)")
        }
        () => None,
    };
    if let Some(why) = why {
        return Ok(in_turn_for(plan, why));
    }
    let unfit = if args.weave.woven { unfit } else { rather_in_turn };
    match unfit(&plan) {
        Some(why) if args.weave.woven => return Err(StudyError::NotWoven(why).into()),
        Some(why) => return Ok(in_turn_for(plan, &why.to_string())),
        None => {}
    }
    // A trial in turn is as long as its author wrote, where the time bounds all instances.
    let author = if extent_args.length.is_some() { author()? } else { plan.clone() };
    let instances = instances(&author, extent_args, args.weave.woven);
    let Some([least, most]) = instances else {
        let needed = Nanos::new(author.instances_time().get().saturating_mul(LOOKS[0] as u64));
        let why = format!(
            "the time given is that of a trial: {} instances of every cell take {:.1} s (--woven weaves all the same)",
            LOOKS[0],
            needed.as_secs_f64()
        );
        return Ok(in_turn_for(plan, &why));
    };
    let woven = author.clone().weave([least, most]).map_err(StudyError::NotWoven)?;
    Ok(Comparison { way: Some(how_woven(&woven)), plan: woven, in_turn: author })
}

/// Decides how the ways of an advice are compared: `blocks` of them where that is given; a `length` is that of trials in turn.
///
/// # Errors
/// A plan that cannot be woven after all.
pub fn ways(plan: ApprovedPlan, length: Option<Nanos>, blocks: Option<u32>) -> Result<Comparison, Failure> {
    let why = match length {
        Some(_) => Some("a time is that of a trial".to_owned()),
        None => rather_in_turn(&plan).map(|why| why.to_string()),
    };
    if let Some(why) = why {
        return Ok(Comparison { way: Some(in_turn(&plan, &why)), in_turn: plan.clone(), plan });
    }
    let instances = blocks.map_or_else(|| extent(&plan), |blocks| [blocks; 2]);
    let woven = plan.clone().weave(instances).map_err(StudyError::NotWoven)?;
    Ok(Comparison { way: Some(how_woven(&woven)), plan: woven, in_turn: plan })
}

/// The line of a woven plan, with what stays in turn.
fn how_woven(plan: &Plan) -> String {
    let few = |answer: &str| match plan.blocks.most {
        most if most < LOOKS[0] as u32 => format!("; a {answer} takes {} instances, here are {most}", LOOKS[0]),
        _ => String::new(),
    };
    if plan.arms.len() > 1 {
        let how = "the arms are woven: all are alive and take turns of milliseconds (--in-turn compares them in turn)";
        return format!("{how}{}", few("verdict"));
    }
    let mut in_turn: BTreeMap<Unfit, BTreeSet<String>> = BTreeMap::new();
    for (why, member) in plan.groups().iter().flat_map(|group| group.members.iter().skip(1).map(|member| (group.in_turn, member))) {
        let Some(why) = why else { continue };
        in_turn.entry(why).or_default().insert(plan.cells[member.cell].api.to_string());
    }
    let words =
        |(why, ways): (Unfit, BTreeSet<String>)| format!("; {} stays in turn: {why}", ways.into_iter().collect::<Vec<_>>().join(", "));
    let in_turn: String = in_turn.into_iter().map(words).collect();
    format!("the ways are woven: each takes turns of milliseconds with a reference{in_turn}{}", few("ranking"))
}

/// Fewest and most instances of a woven comparison. `None` where a time is given that is too short for the first look,
/// and the arms need not be woven: it is that of a trial.
fn instances(plan: &ApprovedPlan, extent_args: &ExtentArgs, forced: bool) -> Option<[u32; 2]> {
    if let Some(blocks) = extent_args.blocks {
        return Some([blocks; 2]);
    }
    let [_, usual] = extent(plan);
    let least = LOOKS[0] as u32;
    let fits =
        extent_args.length.map(|time| time.get() / plan.instances_time().get().max(1)).map(|fits| u32::try_from(fits).unwrap_or(u32::MAX));
    if fits.is_some_and(|fits| fits < least) && !forced {
        return None;
    }
    let most = fits.into_iter().chain(extent_args.most).min().unwrap_or(usual).max(1);
    if plan.arms.len() < 2 {
        return Some([most; 2]);
    }
    // The last look is at all of them: before the second there is one look, beyond it the last that has room.
    Some(match LOOKS.into_iter().map(|look| look as u32).rfind(|look| *look <= most) {
        Some(last) if last > least => [least, last],
        _ => [most; 2],
    })
}

/// How the instances of stored woven runs scatter.
///
/// # Errors
/// A directory of runs that cannot be read. A run that cannot is left out.
pub fn scatter(runs: &Path) -> Result<Scatter, Failure> {
    let mut scatter = Scatter::default();
    let paths = match store::paths(runs) {
        Err(StoreError::NoRuns { .. }) => Vec::new(),
        found => found?,
    };
    let woven = paths.iter().rev().take(LOOKED_THROUGH).filter_map(|path| RunReader::open(path).ok()).filter(|run| run.run().plan.woven);
    for run in woven.take(MOST_RUNS) {
        let plan = &run.run().plan;
        let mut series = WovenSeries::for_plan(plan);
        for cell in 0..plan.cells.len() {
            let (instances, _) = run.slices(cell).unwrap_or_default();
            instances.iter().for_each(|one| series.push(cell, one.instance, &one.slices));
        }
        scatter.add(plan, &series);
    }
    Ok(scatter)
}

/// The plan of a pilot, which tells how instances of a woven plan scatter.
///
/// # Errors
/// Arms that are not woven.
pub fn pilot(plan: &ApprovedPlan, way: Option<&str>) -> Result<ApprovedPlan, Failure> {
    if plan.arms.len() < 2 {
        return Err(Failure::misuse("--pilot tells which difference of arms can be shown; ways have intervals of their own: leave it out"));
    }
    if !plan.woven {
        let why = way.map_or_else(String::new, |way| format!(": {way}"));
        return Err(Failure::misuse(format!("--pilot measures woven arms{why}; leave it out")));
    }
    let fits = PILOT.get().div_ceil(plan.instances_time().get().max(1));
    let instances = u32::try_from(fits).unwrap_or(u32::MAX).max(LEAST_OF_PILOT);
    Ok(plan.clone().weave([instances; 2]).map_err(StudyError::NotWoven)?)
}

/// The line of a plan that is compared in turn.
pub fn in_turn(plan: &Plan, why: &str) -> String {
    format!("the {} are compared in turn: {why}", if plan.arms.len() > 1 { "arms" } else { "ways" })
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
    if plan.arms.len() < 2 {
        return not_checked(Unfit::NoArms);
    }
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
    let gate = &args.arms.gate.gate();
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
