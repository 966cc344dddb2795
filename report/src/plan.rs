//! A plan before it is run: what it would measure, how long that takes, and
//! how much it can be expected to show.

use std::collections::BTreeSet;

use analysis::answer::notation::verb;
use analysis::duration::{PlanDuration, silences};
use analysis::stopping::Confidence;
use analysis::variance::{Components, LengthLaw, half_width};
use analysis::verdict::Options;
use analysis::woven::{Smallest, WOVEN_TIME};
use model::Plan;
use model::plan::{Factor, FleetPlan, Group, HostPlace, PlanEnd, Shortened};

use crate::document::{Block, Document, Tone};
use crate::like;
use crate::number::percent;
use crate::sinks::json;
use crate::studies::fleet;
use crate::words::{capital, plural};

/// Usual scatter between trials of one cell, from a quiet machine to a busy
/// virtual one, as shares of the median.
const NOISE: [f64; 3] = [0.02, 0.05, 0.15];

/// Cells that are named one by one.
const MOST_CELLS: usize = 10;

/// A plan that is not run, and what to expect of the run.
#[derive(Debug)]
pub struct DryRun<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// How earlier runs scatter, where there are some.
    pub earlier: Option<&'a Components>,
    /// The smallest difference that woven arms show by stored runs, where there are some.
    pub smallest: Option<&'a Smallest>,
    /// The length of a trial, where it is not as the plan's author wrote it.
    pub shortened: Option<Shortened>,
    /// What this machine, or an agent, says to it.
    pub notes: &'a [String],
}

impl DryRun<'_> {
    /// Describes the plan, in the light of earlier runs.
    pub fn document(&self) -> Document {
        let plan = self.plan;
        let paragraph = |text: String| Block::Paragraph(text.into());
        // The time that it takes, then what it can be expected to show, decide whether it is run.
        let mut blocks = vec![paragraph(expected_time(plan))];
        let outlook = match plan.fleet {
            Some(_) => fleet::outlook(plan),
            None if plan.woven && plan.arms.is_empty() => vec![ways(plan)],
            None if plan.woven => vec![smallest(self.smallest), looks(plan)],
            None if plan.arms.len() > 1 => differences(plan).into_iter().collect(),
            None => expected_after(plan).into_iter().map(|blocks| expected(plan, blocks)).collect(),
        };
        blocks.extend(outlook.into_iter().map(paragraph));
        blocks.extend(self.shortened.map(|shortened| Block::Conclusion(Tone::Bad, capital(&shorter(shortened)))));
        blocks.extend(self.earlier.map(|earlier| Block::piece("After the earlier runs", Block::sentences(like::sentences(plan, earlier)))));
        if !plan.arms.is_empty() {
            let arms = plan.arms.iter().enumerate().map(|(place, arm)| {
                let baseline = if place == 0 { " (the baseline)" } else { "" };
                let nothing = if arm.settings.is_empty() { ": nothing set" } else { "" };
                format!("{arm}{nothing}{baseline}")
            });
            let arms = Block::sentences(arms);
            let wide = "Settings of this machine may be changed for it, and are set back at the end.";
            let wide = plan.host_wide.then(|| Block::Paragraph(wide.into()));
            let heading = if plan.woven { "Arms, in turns of milliseconds" } else { "Arms, side by side in each block" };
            blocks.push(Block::piece(heading, arms.into_iter().chain(wide)));
        }
        let more = plan.cells.len().saturating_sub(MOST_CELLS);
        let more = (more > 0).then(|| format!("and {} (-J lists all)", plural(more as u64, "more cell")));
        let cells = plan.cells.iter().take(MOST_CELLS).map(ToString::to_string).chain(more);
        blocks.push(Block::piece(format!("{}: {}", plan.name, plan.title), Block::sentences(cells)));
        blocks.push(Block::Lead(extent(plan).into()));
        blocks.extend((!plan.hosts.is_empty()).then(|| paragraph(hosts(plan))));
        blocks.extend((!plan.description.is_empty()).then(|| Block::usual([Block::Lead(plan.description.as_str().into())])));
        Document::plain("", blocks)
    }

    /// The same as JSON: the plan as resolved, and what to expect of the run.
    pub fn json(&self) -> String {
        let plan = self.plan;
        let widths = |blocks: u32| expected_widths(plan, blocks).into_iter().map(move |(scatter, width)| (blocks, scatter, width));
        let expected = expected_after(plan).into_iter().flat_map(widths);
        let expected: Vec<_> = expected
            .map(|(blocks, scatter, half_width)| serde_json::json!({ "blocks": blocks, "scatter": scatter, "half_width": half_width }))
            .collect();
        let earlier = self.earlier.map(|earlier| like::sentences(plan, earlier));
        let shortened = self.shortened.map(|found| serde_json::json!({ "from": found.from, "to": found.to, "budget": found.budget }));
        let duration = PlanDuration::of(plan);
        json::pretty(&serde_json::json!({
            "plan": plan,
            "cells": plan.cells.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "trials": plan.trials(),
            "duration": { "s": duration.time.as_secs_f64(), "at_least": duration.at_least },
            "shortened": shortened,
            "expected": expected,
            "outlook": plan.fleet.is_some().then(|| fleet::outlook(plan)),
            "earlier": earlier,
            "smallest": self.smallest.map(|found| serde_json::json!({
                "s": found.time.as_secs_f64(), "half_width": found.half_width, "difference": found.difference, "cell": found.cell.to_string(), "runs": found.runs,
            })),
            "notes": self.notes,
        }))
    }
}

/// Lists plans, each with its duration and its title.
pub fn list(plans: &[Plan]) -> Document {
    let names = plans.iter().map(|plan| plan.name.len()).max().unwrap_or(0);
    let times: Vec<String> = plans.iter().map(|plan| shown(PlanDuration::of(plan))).collect();
    let room = times.iter().map(|time| time.chars().count()).max().unwrap_or(0);
    let fact = |(plan, time): (&Plan, String)| (format!("{:names$}  {time:>room$}", plan.name), plan.title.clone());
    let facts = Block::facts(plans.iter().zip(times).map(fact));
    let how = "Run one: nettoll study NAME. What it would do: --dry-run. A plan of your own: --plan FILE. All flags: --help.";
    Document::plain("Studies that come with nettoll", [facts, Block::Paragraph(how.into())])
}

/// The same as JSON.
pub fn list_json(plans: &[Plan]) -> String {
    let one = |plan: &Plan| {
        let duration = PlanDuration::of(plan);
        serde_json::json!({
            "name": plan.name,
            "title": plan.title,
            "about": plan.description,
            "cells": plan.cells.len(),
            "trials": plan.trials(),
            "duration": { "s": duration.time.as_secs_f64(), "at_least": duration.at_least },
        })
    };
    json::pretty(&plans.iter().map(one).collect::<Vec<_>>())
}

/// Says that trials are shorter than written, and what to do about it.
pub fn shorter(shortened: Shortened) -> String {
    let Shortened { from, to, budget } = shortened;
    format!(
        "each trial measures {to} in place of {from}, so that all of them take {budget}; give a length (-t {}) for longer ones",
        from.exact()
    )
}

/// Says that arms are measured in few cells, and how to have others.
pub fn few_cells(plan: &Plan, factors: &BTreeSet<Factor>) -> String {
    let cells: Vec<String> = plan.cells.iter().map(ToString::to_string).collect();
    let flags: Vec<String> =
        factors.iter().chain(factors.is_empty().then_some(&Factor::Test)).map(|factor| format!("--{}", factor.name())).collect();
    format!(
        "the arms are compared at {}, for an answer in seconds; for other cells give {}",
        model::words::list(&cells),
        flags.join(" or ")
    )
}

/// Rounds and trials of a fleet.
fn extent_of_fleet(plan: &Plan, fleet: &FleetPlan) -> String {
    let times = if fleet.parallel { "all pairs of a round at once" } else { "one pair after the other" };
    format!(
        "{} in {} of {}, none in two pairs of a round, each pair in both directions, {times}: {} of {}, in an order drawn from seed {}.",
        plural(fleet.hosts.len() as u64, "host"),
        plural(u64::from(fleet.rounds), "round"),
        plural(fleet.pairs() as u64, "pair"),
        plural(plan.trials(), "trial"),
        plural(plan.cells.len() as u64, "cell"),
        plan.seed,
    )
}

fn extent(plan: &Plan) -> String {
    if let Some(fleet) = &plan.fleet {
        return extent_of_fleet(plan, fleet);
    }
    let blocks = match (plan.blocks.least, plan.blocks.most) {
        (least, most) if least == most => plural(u64::from(most), "block"),
        (least, most) => format!("{least} to {most} blocks"),
    };
    let trials = plan.trials();
    let arms = if plan.arms.is_empty() { String::new() } else { format!(" in {} arms", plan.arms.len()) };
    let most = if plan.blocks.least == plan.blocks.most { "" } else { "at most " };
    let passes = match plan.shape().passes.len() {
        1 => String::new(),
        passes => format!(" in {passes} passes"),
    };
    format!(
        "{}{arms}{passes} in {blocks}: {most}{}, in an order drawn from seed {}, over {}.",
        plural(plan.cells.len() as u64, "cell"),
        plural(trials, "trial"),
        plan.seed,
        crate::studies::run::links(plan),
    )
}

fn hosts(plan: &Plan) -> String {
    let place = |name: &str| match plan.hosts.get(name) {
        Some(HostPlace::Agent(at)) => format!("host {name} is the agent at {at}"),
        Some(at) => format!("host {name} is {at}"),
        None => format!("host {name} is this machine"),
    };
    let port = plan.data_port.map_or_else(String::new, |port| format!("; messages come to port {port}"));
    let places = [0, 1].map(|side| plan.hosts_at(side).into_iter().map(place).collect::<Vec<_>>()).concat().join(", ");
    format!("{places}{port}. When a host is lost: {}.", plan.on_loss)
}

/// A duration in a few letters: `41 s`.
fn shown(duration: PlanDuration) -> String {
    let seconds = duration.time.as_secs_f64();
    let text = match seconds {
        ..9.95 => format!("{seconds:.1} s"),
        ..99.5 => format!("{seconds:.0} s"),
        ..5_400.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3_600.0),
    };
    format!("{}{text}", if duration.at_least { "> " } else { "" })
}

/// The smallest difference that woven arms show here, in a sentence.
pub fn smallest(found: Option<&Smallest>) -> String {
    let Some(Smallest { time, difference, cell, runs, .. }) = found else {
        return format!(
            "The smallest difference that {WOVEN_TIME} show here is not known: no woven run of such cells is stored (--pilot measures for it)."
        );
    };
    format!(
        "{time} of each cell find a difference of {} or more here in 4 of 5 runs ({cell}, by {}).",
        percent(*difference),
        plural(*runs as u64, "stored run"),
    )
}

/// When woven arms have been looked at often enough, in a sentence.
fn looks(plan: &Plan) -> String {
    let looks: Vec<String> = analysis::woven::looks(&plan.blocks).iter().map(ToString::to_string).collect();
    match looks.as_slice() {
        [only] => format!("After {only} instances of each cell."),
        looks => {
            format!("As soon as every verdict is settled after {} instances of each cell, and after the last of these.", looks.join(", "))
        }
    }
}

/// How woven ways are measured, in a sentence.
fn ways(plan: &Plan) -> String {
    let groups = plan.groups();
    let (woven, in_turn): (Vec<&Group>, Vec<&Group>) = groups.iter().partition(|group| group.in_turn.is_none());
    let others = |groups: &[&Group]| groups.iter().map(|group| group.members.len() as u64 - 1).sum::<u64>();
    let in_turn = match others(&in_turn) {
        0 => String::new(),
        cells => format!(" ({} in turn)", plural(cells, "cell")),
    };
    format!(
        "{} of {} around a reference, {} compared with it{in_turn}.",
        plural(u64::from(plan.blocks.most), "instance"),
        plural(woven.len() as u64, "group"),
        plural(others(&woven), "cell"),
    )
}

/// Duration of a plan in a sentence.
pub fn expected_time(plan: &Plan) -> String {
    if plan.woven {
        let [least, most] = [plan.blocks.least, plan.blocks.most].map(|instances| shown(PlanDuration::of_instances(plan, instances)));
        let from = if plan.blocks.least == plan.blocks.most { String::new() } else { format!("{least} to the first look, ") };
        return format!("Takes about {from}{most} at most: in each instance all arms or ways take turns.");
    }
    let counts = || plan.cells.iter().filter_map(|cell| cell.count);
    if let (Some(least), Some(most), true) = (counts().min(), counts().max(), plan.cells.iter().all(|cell| cell.count.is_some())) {
        let warmup = if plan.warmup.get() == 0 { "" } else { "a tenth as many messages of warm-up, then " };
        let overhead = plan.overheads();
        return format!("Takes about {overhead} and the time of the messages: each trial {warmup}{least} to {most} messages.");
    }
    let found = PlanDuration::of(plan);
    let all = if found.at_least { "How long it takes is not known beforehand".to_owned() } else { format!("Takes about {}", shown(found)) };
    let least = if plan.least.get() > 0 { format!(", more where they last less than {}", plan.least) } else { String::new() };
    match plan.end {
        PlanEnd::Length(length) => {
            let more = match silences(plan) {
                waits if waits.get() == 0 => String::new(),
                waits => format!(", up to {} where datagrams are lost", shown(PlanDuration { time: found.time + waits, ..found })),
            };
            format!("Takes about {}{more}: each trial {} of warm-up, {length} measured.", shown(found), plan.warmup)
        }
        PlanEnd::Messages(messages) => format!("{all}: each trial {} of warm-up, then {messages} messages{least}.", plan.warmup),
        PlanEnd::Bytes(bytes) => format!("{all}: each trial {} of warm-up, then {bytes}{least}.", plan.warmup),
    }
}

/// Numbers of blocks after which the interval is told.
fn expected_after(plan: &Plan) -> Vec<u32> {
    [Some(plan.blocks.least), Some(plan.blocks.most).filter(|most| *most > plan.blocks.least)].into_iter().flatten().collect()
}

/// Half-widths to expect, each with the scatter between trials.
fn expected_widths(plan: &Plan, blocks: u32) -> Vec<(f64, f64)> {
    // Looking more than once costs width.
    let found_at = Confidence::new(&plan.blocks).found_at();
    NOISE.iter().filter_map(|&noise| Some((noise, half_width(blocks, found_at, noise)?))).collect()
}

fn expected(plan: &Plan, blocks: u32) -> String {
    let width = |(noise, width): (f64, f64)| format!("±{} where trials scatter by {}", percent(width), percent(noise));
    let widths: Vec<String> = expected_widths(plan, blocks).into_iter().map(width).collect();
    match widths.is_empty() {
        true => format!("Would show no interval: {} {} too few.", plural(u64::from(blocks), "block"), verb(u64::from(blocks), "is", "are")),
        false => format!("Would show each median, after {}, within {}.", plural(u64::from(blocks), "block"), widths.join(", ")),
    }
}

/// The differences between arms, in turn, that a plan shows by the scatter of its trials; `None` of too few blocks.
fn differences(plan: &Plan) -> Option<String> {
    let options = Options { confidence: plan.blocks.confidence, ..Options::default() };
    let shown = NOISE.iter().filter_map(|&noise| {
        let scatter = Components {
            runs: 1,
            blocks: plan.blocks.most as usize,
            run: None,
            block: None,
            trial: noise,
            worst: noise,
            metrics: 1,
            law: LengthLaw::Untested,
        };
        let least = scatter.arms_show(plan.blocks.most, plan.cells.len(), plan.arms.len(), &options)?;
        Some(format!("{} where trials scatter by {}", percent(least), percent(noise)))
    });
    let shown: Vec<String> = shown.collect();
    (!shown.is_empty()).then(|| format!("Would find, in 4 of 5 runs, a difference between arms of {}, or more.", shown.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::{DryRun, Shortened, list};
    use crate::sinks::terminal::{Style, render};
    use model::plan::{PRESETS, RawPlan, preset, resolve};
    use model::{Nanos, Plan};

    fn plan(text: &str) -> Plan {
        resolve(&RawPlan::parse(text).unwrap(), &[], 7).unwrap().into_plan()
    }

    fn dry(plan: &Plan) -> DryRun<'_> {
        DryRun { plan, earlier: None, smallest: None, shortened: None, notes: &[] }
    }

    #[test]
    fn a_dry_run_says_what_how_long_and_how_well() {
        insta::assert_snapshot!(render(&dry(&plan(preset("quick").unwrap())).document(), Style::PLAIN));
    }

    #[test]
    fn a_dry_run_in_json_has_the_plan_and_the_same_figures() {
        let plan = plan(preset("quick").unwrap());
        let shortened = Some(Shortened { from: Nanos::from_millis(150), to: Nanos::from_millis(54), budget: Nanos::from_millis(45_000) });
        let told = DryRun { shortened, notes: &["something".to_owned()], ..dry(&plan) };
        let value: serde_json::Value = serde_json::from_str(&told.json()).unwrap();
        assert_eq!((value["plan"]["name"].as_str(), value["trials"].as_u64()), (Some("quick"), Some(189)));
        assert_eq!((value["duration"]["s"].as_f64(), value["cells"].as_array().unwrap().len()), (Some(40.635), 21));
        assert_eq!((value["expected"][1]["scatter"].as_f64(), value["notes"][0].as_str()), (Some(0.05), Some("something")));
        assert_eq!(value["shortened"]["to"], 54_000_000);
        assert!(
            render(&told.document(), Style::PLAIN).contains("Each trial measures 54 ms in place of 150 ms, so that all of them take 45 s;")
        );
    }

    #[test]
    fn each_preset_is_listed_with_its_duration() {
        let plans: Vec<Plan> = PRESETS.iter().map(|(_, text)| plan(text)).collect();
        insta::assert_snapshot!(render(&list(&plans), Style::PLAIN));
    }

    #[test]
    fn between_machines_lost_datagrams_are_waited_for() {
        let text = "name = \"x\"\nhosts = { b = \"db1\" }\ntrial = { length = \"100ms\", warmup = \"5ms\" }\nblocks = { least = 5, most = 5 }\n\
                    [[cells]]\ntest = [\"UDP_STREAM\", \"TCP_STREAM\"]\nsize = 64";
        let plan = plan(text);
        let text = render(&dry(&plan).document(), Style::PLAIN).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.starts_with("Takes about 1.4 s, up to 2.4 s where datagrams are lost: each trial 5 ms of warm-up"), "{text}");
    }
}
