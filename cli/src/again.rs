//! `nettoll study --again`: a run measured again with more blocks, pooled with what there is.

use std::path::Path;

use model::plan::{ApprovedPlan, Factor, Level};
use model::run::Pooled;
use model::sorting::Order;
use model::{Cell, Plan};
use store::RunReader;

use crate::args::StudyArgs;
use crate::consent::{self, Consent};
use crate::exit::Failure;
use crate::version;

/// The plan of a run to be measured again, and the runs that it is pooled with.
///
/// # Errors
/// A run of a fleet, of one trial or by another build, sizes that it does not have, other flags than those of the
/// extent that keep its trials as they are, and what the user does not consent to.
pub fn plan(word: &Path, args: &StudyArgs, seed: u64) -> Result<(ApprovedPlan, Pooled), Failure> {
    let path = args.runs.find(word)?;
    if store::is_attached(&path) || store::is_exact(&path) {
        return Err(Failure::misuse(format!("{} is no run of a study: measure it again by its own command", path.display())));
    }
    consent::own(&path)?;
    let run = RunReader::open(&path)?.run().clone();
    let id = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    if run.plan.fleet.is_some() {
        return Err(Failure::misuse(format!("{id} is a run of a fleet: measure it again with more rounds, by `nettoll fleet --rounds`")));
    }
    if run.tool != version::SHORT {
        let (tool, here) = (&run.tool, version::SHORT);
        return Err(Failure::misuse(format!(
            "{id} was measured by nettoll {tool}, this is {here}, and their trials would not pool: measure it with this build"
        )));
    }
    if let Some(other) = args.factors.other_than(Factor::Size) {
        return Err(Failure::misuse(format!(
            "--again keeps the plan of {id}: --{} cannot be changed, --size and --blocks can",
            other.name()
        )));
    }
    if args.extent.keeps_blocks_alone() {
        let pooled = run.pooled.clone().unwrap_or_else(|| Pooled { runs: Vec::new(), cells: run.plan.cells.len() });
        let pooled = Pooled { runs: pooled.runs.into_iter().chain([id]).collect(), ..pooled };
        let plan = changed(run.plan, args, seed)?;
        let consent = Consent { host_wide: args.arms.host_wide, allow_exec: args.allow_exec, yes: args.yes };
        return Ok((consent::to_stored(&path, plan, consent)?, pooled));
    }
    Err(Failure::misuse(format!("--again keeps the trials of {id} as they are: of their extent only --blocks and --seed can be changed")))
}

/// The plan with the sizes and the number of blocks that are asked for.
fn changed(mut plan: Plan, args: &StudyArgs, seed: u64) -> Result<Plan, Failure> {
    let wanted: Vec<_> = args
        .factors
        .overrides()
        .map_err(model::plan::PlanError::from)?
        .into_iter()
        .flat_map(|(_, levels)| levels)
        .filter_map(|level| if let Level::Size(size) = level { Some(size) } else { None })
        .collect();
    if !wanted.is_empty() {
        let known: Vec<Cell> = plan.cells.iter().filter(|cell| wanted.contains(&cell.size)).cloned().collect();
        if let Some(other) = wanted.iter().find(|size| !known.iter().any(|cell| cell.size == **size)) {
            let mut sizes: Vec<u64> = plan.cells.iter().map(|cell| cell.size.get()).collect();
            sizes.order();
            sizes.dedup();
            let sizes = sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
            return Err(Failure::misuse(format!("the run has no messages of {} B; its sizes are {sizes}", other.get())));
        }
        plan.cells = known;
    }
    let blocks = args.extent.blocks.unwrap_or(plan.blocks.most);
    (plan.blocks.least, plan.blocks.most, plan.seed) = (blocks, blocks, args.extent.seed.unwrap_or(seed));
    Ok(plan)
}
