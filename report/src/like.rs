//! A plan in the light of earlier runs: how they scatter, the cheapest split of the plan
//! into blocks and trial lengths, and what its arms, or several such runs, would show.

use analysis::stopping::Confidence;
use analysis::variance::{Components, LengthLaw};
use analysis::verdict::Options;
use model::plan::{LOOKS, PlanEnd};
use model::sorting::Order;
use model::{Nanos, Plan};

use crate::number::{percent, significant};
use crate::words::plural;

/// Numbers of runs on a side for which it is said what they show.
const RUNS: [usize; 2] = [3, 5];

/// Sentences, each for itself.
pub fn sentences(plan: &Plan, found: &Components) -> Vec<String> {
    let mut all = vec![scatter(found)];
    all.extend(split(plan, found));
    all.extend(arms(plan, found));
    let options = Options { confidence: plan.blocks.confidence, ..Options::default() };
    let several =
        RUNS.iter().filter_map(|runs| Some(format!("{runs} a side {}", percent(found.runs_show(*runs, plan.blocks.most, &options)?))));
    let several: Vec<String> = several.collect();
    if !several.is_empty() {
        all.push(format!(
            "Compared with other runs of {}, in one cell: {} in four comparisons of five.",
            blocks(plan.blocks.most),
            several.join(", ")
        ));
    }
    all
}

fn blocks(count: u32) -> String {
    plural(u64::from(count), "block")
}

fn scatter(found: &Components) -> String {
    let of_blocks =
        found.block.map_or("; one cell does not tell blocks from trials".to_owned(), |block| format!(", blocks by {}", percent(block)));
    let of_runs = found.run.map_or(String::new(), |run| format!(", whole runs by {}", percent(run)));
    format!(
        "Trials of one block scattered by {} in the median cell and {} in the noisiest{of_blocks}{of_runs} (standard deviations of the time per message, {} of {}).",
        percent(found.trial),
        percent(found.worst),
        plural(found.blocks as u64, "block"),
        plural(found.runs as u64, "run"),
    )
}

/// What the wanted interval takes as planned, and what it takes at the least.
fn split(plan: &Plan, found: &Components) -> Option<String> {
    let PlanEnd::Length(length) = plan.end else { return None };
    let (wanted, at) = (plan.blocks.interval, Confidence::new(&plan.blocks).found_at());
    let trials = plan.shape().trials() as f64;
    let overhead = plan.warmup.as_secs_f64() + plan.overheads().as_secs_f64() / plan.trials().max(1) as f64;
    let seconds = |blocks: u32, times: f64| f64::from(blocks) * trials * (overhead + length.as_secs_f64() * times);
    let told = |blocks: u32, times: f64| format!("{} ({})", self::blocks(blocks), time(seconds(blocks, times)));
    let planned = found.blocks_for(wanted, at, 1.0).map(|blocks| (blocks, 1.0));
    let times = found.cheapest(length.as_secs_f64(), overhead);
    let best = found.blocks_for(wanted, at, times).map(|blocks| (blocks, times));
    let better =
        best.filter(|(blocks, times)| planned.is_none_or(|(before, same)| seconds(*blocks, *times) < 0.95 * seconds(before, same)));
    let as_planned = match planned {
        Some((blocks, times)) => format!("{} of trials of {length}", told(blocks, times)),
        None => format!("no reasonable number of blocks of trials of {length}"),
    };
    let cheaper = match (better, found.law) {
        (Some((blocks, times)), LengthLaw::Root { exponent }) => format!(
            "cheapest are trials of {} in {} (--length, --blocks): in these runs the scatter of trials went as their length to the power of {} (-0.5: its root)",
            time(length.as_secs_f64() * times),
            told(blocks, times),
            significant(exponent, 2)
        ),
        (Some(_), LengthLaw::Untested) => {
            "whether trials of another length would be cheaper is not known, for these runs have one length (--like with runs of others)"
                .to_owned()
        }
        (_, LengthLaw::Other { exponent }) => format!(
            "another length is no remedy: in these runs the scatter of trials went as their length to the power of {} (0: no matter how long)",
            significant(exponent, 2)
        ),
        (None, _) => "no other length is cheaper by much".to_owned(),
    };
    Some(format!("An interval of ±{} in the noisiest cell takes {as_planned}; {cheaper}.", percent(wanted)))
}

/// What arms would show.
fn arms(plan: &Plan, found: &Components) -> Vec<String> {
    if plan.arms.len() < 2 {
        return Vec::new();
    }
    let options = Options { confidence: plan.blocks.confidence, ..Options::default() };
    let mut counts: Vec<u32> = LOOKS.iter().copied().chain([plan.blocks.least, plan.blocks.most]).collect();
    counts.order();
    counts.dedup();
    let shown = counts.iter().filter_map(|count| {
        let least = found.arms_show(*count, plan.cells.len(), plan.arms.len(), &options)?;
        Some(format!("{count} {}", percent(least)))
    });
    let shown: Vec<String> = shown.collect();
    let mut all = Vec::new();
    if !shown.is_empty() {
        all.push(format!(
            "Blocks, and the difference between arms that they show in a median cell in four of five runs: {}.",
            shown.join(", ")
        ));
    }
    let threshold = percent(options.threshold);
    all.push(match found.blocks_for_equivalence(&options) {
        Some(blocks) => format!("Equal arms are shown equivalent within {threshold} in the noisiest cell after {}, in four runs of five; a true difference of {threshold} is found in half of all runs at most.", plural(blocks as u64, "block")),
        None => format!("No reasonable number of blocks shows equal arms to be equivalent within {threshold} in the noisiest cell."),
    });
    all
}

fn time(seconds: f64) -> String {
    // Two figures are enough of a proposal.
    let unit = 10_f64.powf(seconds.log10().floor() - 1.0);
    Nanos::new(((seconds / unit).round() * unit * 1e9).round() as u64).to_string()
}

#[cfg(test)]
mod tests {
    use super::sentences;
    use analysis::variance::{Components, LengthLaw};
    use model::plan::{RawPlan, preset, resolve};

    const NOISY: Components = Components {
        runs: 3,
        blocks: 27,
        run: Some(0.012),
        block: Some(0.008),
        trial: 0.03,
        worst: 0.12,
        metrics: 3,
        law: LengthLaw::Root { exponent: -0.45 },
    };

    #[test]
    fn an_earlier_run_says_what_a_plan_takes() {
        let mut raw = RawPlan::parse(preset("quick").unwrap()).unwrap();
        let mut plan = resolve(&raw, &[], 7).unwrap().into_plan();
        let as_planned = &sentences(&plan, &NOISY)[1];
        assert!(as_planned.contains("no other length is cheaper"), "{as_planned}");
        plan.blocks.interval = 0.01;
        let plain = sentences(&plan, &NOISY);
        assert_eq!(plain.len(), 3, "{plain:#?}");
        assert!(
            plain[0].contains("3.0 % in the median cell and 12 % in the noisiest, blocks by 0.80 %, whole runs by 1.2 %"),
            "{}",
            plain[0]
        );
        assert!(plain[1].starts_with("An interval of ±") && plain[1].contains("--length"), "{}", plain[1]);
        // Longer trials are advised where these runs bear it.
        let of = |law| sentences(&plan, &Components { law, ..NOISY })[1].clone();
        let (untested, other) = (of(LengthLaw::Untested), of(LengthLaw::Other { exponent: 0.08 }));
        assert!(untested.contains("is not known") && !untested.contains("cheapest"), "{untested}");
        assert!(other.contains("no remedy") && other.contains("power of 0.08") && !other.contains("--length"), "{other}");
        assert!(plain[2].contains("3 a side") && plain[2].contains("5 a side"), "{}", plain[2]);
        raw.arms = vec!["a".into(), "b: nodelay=on".into()];
        let arms = sentences(&resolve(&raw, &[], 7).unwrap(), &Components { run: None, block: None, ..NOISY });
        assert_eq!(arms.len(), 4, "{arms:#?}");
        assert!(
            arms[0].contains("one cell does not tell") && arms[2].contains("30 ") && arms[3].contains("equivalent within 2.0 %"),
            "{arms:#?}"
        );
    }
}
