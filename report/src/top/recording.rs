//! A recording of `nettoll top`: as a page over time, as JSON and CSV, and next to another one.

use analysis::answer::notation::digits;
use analysis::top::{Cpus, LEAST_PARTS, Recorded, RecordingsCompared, Series, Shift, UnitChange, UnitOutcome, UnitToll};
use model::recording::{RecordedWindow, Recording};
use serde_json::json;

use crate::document::figure::{Figure, Panel, Trace};
use crate::document::{Block, Document, Masthead, Rows, Section, Tone};
use crate::number::{NOTHING, change, count, percent, time, whole};
use crate::sinks::csv::{Field, Sheet};
use crate::sinks::json;
use crate::words::plural;
use crate::{clock, origin};

use super::rows::{short, tail};

/// Milliseconds of a day.
const DAY_MS: u64 = 86_400_000;

/// Units that a chart has colours for; the others are one.
const MOST_DRAWN: usize = 12;
/// Units of a table; the JSON has all.
const MOST_ROWS: usize = 20;
/// Version of the table of windows.
const CSV_FORMAT: u32 = 1;
/// Version of the JSON.
const JSON_FORMAT: u32 = 1;
/// Columns after those of the recording.
const COLUMNS: [&str; 10] = ["time_ms", "elapsed_ns", "cpus_online", "unit", "cpus", "call", "softirq", "messages", "bytes", "samples"];

/// The page, and what a terminal shows.
pub fn document(recorded: &Recorded) -> Document {
    let (all, units) = recorded.units();
    let mut sections = vec![Section::new("units", "Who pays", who_pays(recorded, &all, &units))];
    let names = labels(recorded);
    let charts = [
        ("units-over-time", "CPUs by unit", recorded.unit_series(MOST_DRAWN)),
        ("layers-over-time", "CPUs by layer", recorded.layer_series()),
        ("kinds-over-time", "CPUs by kind of work", recorded.kind_series()),
    ];
    let figures: Vec<Figure> = charts.into_iter().filter_map(|(id, title, series)| figure(id, title, &names, &series)).collect();
    if let Some(block) = Block::figures(figures) {
        sections.push(Section::new("time", "Over time", [Block::usual([block])]));
    }
    if let Some(section) = steps(recorded) {
        sections.push(section);
    }
    sections.push(Section::new("how", "How it was recorded", [Block::usual([facts(recorded)])]));
    Document::of(Masthead::of("top", heading(&recorded.run, recorded.times()), [recorded.run.id.clone()]), sections)
}

fn heading(run: &Recording, [from, until]: [u64; 2]) -> String {
    let host = if run.host.is_empty() { "a machine".to_owned() } else { run.host.clone() };
    format!("The network's toll on {host}, {} to {} UTC", clock::short(from, true), clock::short(until, true))
}

/// A recording in a few words, for a list of runs.
pub fn headline(recorded: &Recorded) -> String {
    let (all, units) = recorded.units();
    let first = units.first().map_or_else(String::new, |unit| format!(", {} the most", tail(&unit.name, 1)));
    format!("{} CPUs for the network{first}, {} windows", digits(all.cpus), whole(recorded.windows() as u64))
}

fn who_pays(recorded: &Recorded, all: &Cpus, units: &[UnitToll]) -> Vec<Block> {
    let share = if recorded.cpus() > 0 { percent(all.cpus / f64::from(recorded.cpus())) } else { NOTHING.to_owned() };
    let line = format!(
        "The network took {} ({}–{}) of {} CPUs, {share}, in the mean.",
        digits(all.cpus),
        digits(all.low),
        digits(all.high),
        recorded.cpus()
    );
    let figure = |value: Option<f64>, write: fn(f64) -> String| value.map_or_else(|| NOTHING.to_owned(), write);
    let mut blocks = vec![Block::Paragraph(line.into())];
    if units.is_empty() {
        return blocks;
    }
    let names = short(units.iter().map(|unit| unit.name.as_str()));
    let shown = &units[..units.len().min(MOST_ROWS)];
    let table = Rows::of(shown)
        .words("unit", |unit| names.get(unit.name.as_str()).copied().unwrap_or_default().to_owned())
        .figures("CPUs", |unit| format!("{} ({}–{})", digits(unit.all.cpus), digits(unit.all.low), digits(unit.all.high)))
        .figures("call", |unit| digits(unit.call))
        .figures("softirq", |unit| digits(unit.softirq))
        .figures("msg/s", |unit| figure(unit.messages, count))
        .figures("B/s", |unit| figure(unit.bytes, count))
        .figures("per message", |unit| figure(unit.message_ns, time))
        .table()
        .labelled("Units", "CPU time of the network by unit, in CPUs, with 95 % intervals")
        .styled("tolls");
    blocks.push(table.into());
    if units.len() > shown.len() {
        blocks.push(Block::Aside(format!("{} more units are in the JSON.", units.len() - shown.len()).into()));
    }
    blocks
}

/// Units whose level changed; none where no change is shown.
fn steps(recorded: &Recorded) -> Option<Section> {
    let steps = recorded.steps();
    if steps.is_empty() {
        return None;
    }
    let table = Rows::of(&steps)
        .words("unit", |step| tail(&step.name, 2).to_owned())
        .words("after (UTC)", |step| clock::short(step.time_ms, true))
        .figures("CPUs before", |step| digits(step.cpus[0]))
        .figures("after", |step| digits(step.cpus[1]))
        .table()
        .labelled("Steps", "Units whose CPU time changed its level, with medians before and after");
    Some(Section::new("steps", "Steps", [table.into(), Block::usual([Block::Aside(METHOD.into())])]))
}

/// How steps are found.
const METHOD: &str = "The clearest step of each unit, by a maximally selected t against shuffled stretches. A level load shows any step \
                      in one of 100 recordings; a load that drifts shows one where it is steepest.";

/// Steps over recordings that one machine made one after the other, which `recorded` has all windows of; `notes` name
/// what was left out.
pub fn history(recorded: &Recorded, runs: &[Recording], notes: &[String]) -> Document {
    let over = format!("{} of {}", plural(recorded.windows() as u64, "window"), plural(runs.len() as u64, "recording"));
    let parts = recorded.ends().len();
    let mut sections: Vec<Section> = steps(recorded).into_iter().collect();
    let none = match parts {
        few if few < LEAST_PARTS => format!("Too early: {few} of {LEAST_PARTS} windows that a step takes."),
        _ => format!("No step is shown in {over}."),
    };
    if sections.is_empty() {
        let method = Block::usual([Block::Aside(METHOD.into())]);
        sections.push(Section::new("steps", "Steps", [Block::Conclusion(Tone::Open, none), method]));
    }
    let figure = figure("units-over-time", "CPUs by unit", &labels(recorded), &recorded.unit_series(MOST_DRAWN));
    if let Some(block) = Block::figures(figure.into_iter().collect()) {
        sections.push(Section::new("time", "Over time", [Block::usual([block])]));
    }
    let table = Rows::of(runs)
        .words("recording", |run| run.id.clone())
        .words("since (UTC)", |run| clock::short(run.started_ms, true))
        .words("nettoll", |run| run.tool.clone())
        .table()
        .labelled("Recordings", "The recordings, the earliest first");
    let warnings = Block::warnings(notes.to_vec());
    sections.push(Section::new("recordings", "Recordings", warnings.into_iter().chain([Block::usual([table.into()])])));
    Document::of(Masthead::of("top", heading(&recorded.run, recorded.times()), [over]), sections)
}

/// The same as JSON; ends with a newline.
pub fn history_json(recorded: &Recorded, runs: &[Recording], notes: &[String]) -> String {
    json::pretty(&json!({
        "format": JSON_FORMAT,
        "recordings": runs,
        "notes": notes,
        "times_ms": recorded.times(),
        "windows": recorded.windows(),
        "damaged": recorded.damaged,
        "steps": recorded.steps(),
    }))
}

fn facts(recorded: &Recorded) -> Block {
    let (own, [due, made]) = recorded.watching();
    let samples = if due > 0.0 { percent(made / due) } else { NOTHING.to_owned() };
    Block::facts([
        ("windows", whole(recorded.windows() as u64)),
        ("samples made of those due", samples),
        ("cost of watching", format!("{} CPUs", digits(own))),
        ("damaged lines", whole(recorded.damaged)),
        ("recorded by", recorded.run.tool.clone()),
    ])
}

/// The end of each part, in UTC; no two are the same.
fn labels(recorded: &Recorded) -> Vec<String> {
    let ends = recorded.ends();
    let is_of_days = ends.last().zip(ends.first()).is_some_and(|(last, first)| last.abs_diff(*first) >= DAY_MS);
    let mut labels: Vec<String> = Vec::new();
    for end in ends {
        let label = if is_of_days { clock::short(end, false) } else { clock::time(end) };
        // A clock that was set back comes by a time again.
        let again = labels.iter().filter(|known| known.split(" (").next() == Some(&label)).count();
        labels.push(if again > 0 { format!("{label} ({})", again + 1) } else { label });
    }
    labels
}

fn figure(id: &'static str, title: &'static str, names: &[String], series: &Series) -> Option<Figure> {
    let short = short(series.iter().map(|(name, _)| name.as_str()));
    let traces: Vec<Trace> = series
        .iter()
        .enumerate()
        .map(|(place, (name, cpus))| {
            let name = short.get(name.as_str()).copied().unwrap_or_default();
            let point = |(at, cpus): (&String, &f64)| (at.clone(), *cpus, at.clone(), format!("{} CPUs", digits(*cpus)));
            Trace { stacked: true, ..Trace::points(name, place, names.iter().zip(cpus).map(point)) }
        })
        .collect();
    (names.len() > 1 && !traces.is_empty()).then(|| Figure {
        id: id.into(),
        title: title.into(),
        caption: "Means of stretches of equal length, each at the time (UTC) of its end.".to_owned(),
        alt: format!("{title} over time, stacked. The table above has the means."),
        sizes: None,
        panels: vec![Panel::of("CPUs", "")],
        traces,
    })
}

/// Everything as JSON; ends with a newline.
pub fn json(recorded: &Recorded) -> String {
    let (all, units) = recorded.units();
    let (own, [due, made]) = recorded.watching();
    let series = |series: Series| series.into_iter().map(|(name, cpus)| json!({ "name": name, "cpus": cpus })).collect::<Vec<_>>();
    json::pretty(&json!({
        "format": JSON_FORMAT,
        "run": recorded.run,
        "times_ms": recorded.times(),
        "windows": recorded.windows(),
        "damaged": recorded.damaged,
        "cpus_online": recorded.cpus(),
        "samples": { "due": due, "made": made },
        "own_cpus": own,
        "network": all,
        "units": units,
        "steps": recorded.steps(),
        "parts": {
            "ends_ms": recorded.ends(),
            "units": series(recorded.unit_series(MOST_DRAWN)),
            "layers": series(recorded.layer_series()),
            "kinds": series(recorded.kind_series()),
        },
    }))
}

/// The names of the columns of a table of windows, as a line.
pub fn csv_head(run: &Recording) -> String {
    let origin = origin::of_recording(run).map(|(name, _)| name);
    Sheet::new(["format"].into_iter().chain(origin).chain(COLUMNS)).finish()
}

/// Rows of one window: a row for each unit.
pub fn csv_rows(run: &Recording, window: &RecordedWindow) -> String {
    let mut sheet = Sheet::of_rows();
    let origin = origin::of_recording(run).map(|(_, fact)| Field::from(fact.as_str()));
    let first: Vec<Field> = [Field::from(CSV_FORMAT)].into_iter().chain(origin).collect();
    let worth = window.period.get() as f64 / window.elapsed.get().max(1) as f64;
    for unit in &window.units {
        let counted = |count: u64| Field::from(window.has_messages.then_some(count as f64));
        let cpus = |samples: u64| Field::from(samples as f64 * worth);
        sheet.row(first.iter().chain(&[
            Field::from(window.time_ms as f64),
            Field::from(window.elapsed.get() as f64),
            Field::from(window.cpus),
            Field::from(unit.name.as_str()),
            cpus(unit.samples()),
            cpus(unit.call),
            cpus(unit.softirq),
            counted(unit.messages),
            counted(unit.bytes),
            Field::from(unit.samples() as f64),
        ]));
    }
    sheet.finish()
}

/// Two recordings, unit by unit.
pub fn compared(compared: &RecordingsCompared) -> Document {
    let [first, second] = &compared.runs;
    let least = percent(compared.threshold);
    let mut blocks: Vec<Block> = compared.changed().map(conclusion).collect();
    if blocks.is_empty() {
        let equal = compared.units.iter().filter(|unit| is_equivalent(unit)).count();
        let words =
            format!("No change beyond {least} is shown of {} units; {equal} are equivalent to within {least}.", compared.units.len());
        blocks.push(Block::Conclusion(Tone::Open, words));
    }
    let message = |unit: &UnitChange| {
        let Some(Shift { means: [before, after], .. }) = &unit.message_ns else { return NOTHING.to_owned() };
        format!("{} → {}", time(*before), time(*after))
    };
    let of_message =
        |unit: &UnitChange| unit.message_ns.as_ref().filter(|shift| shift.means[0] > 0.0).map_or_else(|| NOTHING.to_owned(), difference);
    let names = short(compared.units.iter().map(|unit| unit.name.as_str()));
    let shown = &compared.units[..compared.units.len().min(MOST_ROWS)];
    let table = Rows::of(shown)
        .words("unit", |unit| names.get(unit.name.as_str()).copied().unwrap_or_default().to_owned())
        .figures("CPUs", |unit| format!("{} → {}", digits(unit.cpus.means[0]), digits(unit.cpus.means[1])))
        .figures("change", |unit| difference(&unit.cpus))
        .figures("per message", message)
        .figures("its change", of_message)
        .words("", outcome)
        .table()
        .labelled("Units", "CPU time of the network by unit, and that of a message, in both, with 95 % intervals of the change");
    blocks.push(table.into());
    blocks.push(Block::usual([Block::Aside(
        "Means of at most 24 stretches of each recording, by Welch's t, with Holm's correction over all units: two recordings of the \
         same load name a unit in one of 100 comparisons. CPU time follows the load; that of a message does not."
            .into(),
    )]));
    let masthead = Masthead::of("compare", format!("{second} against {first}"), []);
    Document::of(masthead, [Section::new("change", "Units that changed", blocks)])
}

fn is_equivalent(unit: &UnitChange) -> bool {
    unit.shifts().all(|shift| shift.outcome == UnitOutcome::Equivalent)
}

/// What is shown of a unit and of its messages.
fn outcome(unit: &UnitChange) -> String {
    let words = |shift: &Shift, [more, less]: [&'static str; 2]| match shift.outcome {
        UnitOutcome::More => Some(more),
        UnitOutcome::Less => Some(less),
        UnitOutcome::Equivalent | UnitOutcome::Open => None,
    };
    let of_message = unit.message_ns.as_ref().and_then(|shift| words(shift, ["dearer", "cheaper"]));
    let changes: Vec<&str> = words(&unit.cpus, ["more", "less"]).into_iter().chain(of_message).collect();
    match () {
        () if is_equivalent(unit) => "equivalent".to_owned(),
        () => changes.join(", "),
    }
}

/// The change as a share of what was before, with its interval; in CPUs where there was nothing.
fn difference(shift: &Shift) -> String {
    let [value, low, high] = shift.difference;
    let before = shift.means[0];
    if before > 0.0 {
        let [value, low, high] = [value, low, high].map(|cpus| change(cpus / before));
        format!("{value} ({low} to {high})")
    } else {
        format!("{value:+.3} CPUs ({low:+.3} to {high:+.3})")
    }
}

fn conclusion(unit: &UnitChange) -> Block {
    let share = |[before, after]: [f64; 2]| if before > 0.0 { format!(" ({})", change((after - before) / before)) } else { String::new() };
    let [before, after] = unit.cpus.means;
    let message = unit.message_ns.map_or_else(String::new, |Shift { means, .. }| {
        format!("; a message costs {} and {}{}", time(means[0]), time(means[1]), share(means))
    });
    let tone = if unit.shifts().any(|shift| shift.outcome == UnitOutcome::More) { Tone::Bad } else { Tone::Good };
    let share = share(unit.cpus.means);
    Block::Conclusion(tone, format!("{}: {} and {} CPUs{share}{message}.", unit.name, digits(before), digits(after)))
}

#[cfg(test)]
mod tests;
