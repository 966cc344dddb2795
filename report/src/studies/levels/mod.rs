//! Conditions next to their base level.

mod chart;
mod hosts;
mod words;

pub use chart::all as charts;

use analysis::result::levels::{Level, LevelMetric, SeriesLevels};
use analysis::result::{Analysis, CellResult, LevelStudy};
use model::plan::Factor;
use model::sorting::Order;

use crate::document::{Block, Part, Rows, Section, Table, Tone};
use crate::interval;
use crate::number::{self, NOTHING};
use crate::series::billed_words;
use crate::studies::AT_TOP;
use crate::studies::glance::{NAME, figure};

/// Figures of a level that are the answer, each with the head of its column.
const AT_A_GLANCE: [(LevelMetric, &str); 4] = [
    (LevelMetric::Throughput, "throughput"),
    (LevelMetric::RoundTripP50, "round trip"),
    (LevelMetric::SenderCpu, "CPU, sender"),
    (LevelMetric::ReceiverCpu, "CPU, receiver"),
];

/// What arrives at and from several hosts, and each other level against the base of its series.
pub fn at_a_glance(study: &LevelStudy, analysis: &Analysis) -> Vec<Block> {
    let mut blocks = hosts::at_a_glance(study);
    if study.factors.iter().any(|factor| !factor.factor.is_of_hosts()) {
        blocks.extend(against_base(study));
    }
    // A level that keeps CPUs busy changes what wake-ups cost.
    let bases = study.factors.iter().flat_map(|factor| &factor.series).filter_map(|series| series.levels.first());
    let bases = bases.flat_map(|level| level.cells.iter().flatten()).filter_map(|place| analysis.cells.get(*place));
    let billed = billed_words(bases.filter_map(CellResult::billed_share), "the base's CPU time");
    blocks.extend(billed.map(|words| Block::Aside(words.into())));
    blocks
}

/// Each level against the base of its series, all sizes together.
fn against_base(study: &LevelStudy) -> [Block; 2] {
    let series = || study.factors.iter().flat_map(|factor| factor.series.iter().map(move |series| (factor.factor, series)));
    // Each series has a level at least.
    let each = (MOST_LEVELS / series().count().max(1)).max(1);
    let levels = series().take(MOST_LEVELS).flat_map(|(factor, series)| {
        series.levels.iter().skip(1).take(each).enumerate().map(move |(place, level)| (place == 0, factor, series, level))
    });
    let all: Vec<(bool, Factor, &SeriesLevels, &Level)> = levels.collect();
    let count: usize = series().map(|(_, series)| series.levels.len().saturating_sub(1)).sum();
    let mean = |level: &Level, compared: LevelMetric| level.figures.get(&compared).and_then(|figure| figure.mean);
    let known = AT_A_GLANCE.iter().filter(|(compared, _)| all.iter().any(|(.., level)| mean(level, *compared).is_some()));
    let mut rows = Rows::of(&all)
        .words("", |(first, _, series, _)| if *first { series.series.as_str() } else { "" })
        .words(("level", 20, ["", "level"]), |(_, factor, _, level)| name(*factor, &level.name));
    for (place, (compared, head)) in known.enumerate() {
        rows = rows.figures((*head, 9 - place as u8, ["", *head]), |(.., level)| figure(mean(level, *compared).as_ref(), 1.0));
    }
    let mut table = rows.table().labelled("Levels against their base", "");
    table.columns[0].cut = Some(NAME);
    table.columns[1].cut = Some(NAME);
    let more = count - all.len();
    let more = if more > 0 { format!(" {}.", crate::words::plural(more as u64, "more level")) } else { String::new() };
    let legend = format!("Ratios to the base level, paired by block; 1 is no change.{more}");
    [table.into(), Block::Aside(legend.into())]
}

/// A level of a condition: a bare number says nothing of its condition.
fn name(factor: Factor, level: &str) -> String {
    let bare = level.starts_with(|letter: char| letter.is_ascii_digit());
    if bare { format!("{} {level}", factor.name().replace('_', " ")) } else { level.to_owned() }
}

/// Makes the section of a study of levels.
pub fn section(study: &LevelStudy, analysis: &Analysis) -> Section {
    let confidence = number::percent(analysis.run.plan.blocks.confidence);
    let mut parts: Vec<Block> = Vec::new();
    for factor in &study.factors {
        parts.extend(factor.series.iter().enumerate().map(|(place, series)| Block::from(part(factor.factor, series, place == 0))));
    }
    let charts = Block::figures(charts(study).into_iter().skip(AT_TOP).collect());
    let all = Block::folded("Every series, level by level", charts.into_iter().chain(parts));
    Section::study(
        "levels",
        "Levels",
        format!("± is the farther end of the {confidence} interval; one with 1 in it shows no change."),
        Vec::new(),
        std::iter::once(findings(study).into()).chain(all),
    )
}

/// Levels of a table of the answer.
const MOST_LEVELS: usize = 8;

/// Findings that a terminal has patience for; a page as well: the farthest lead.
const MOST_FINDINGS: usize = 12;

/// Figures beyond a factor of two.
fn findings(study: &LevelStudy) -> Part {
    let shown = study.findings.iter().filter(|finding| finding.shown).count() as u64;
    let conclusion = match shown {
        0 => "No figure is shown to be beyond a factor of two of its base.".to_owned(),
        1 => "1 figure is shown to be beyond a factor of two of its base.".to_owned(),
        many => format!("{} figures are shown to be beyond a factor of two of their base.", number::whole(many)),
    };
    let mut notes: Vec<String> =
        study.findings.iter().take(MOST_FINDINGS).map(words::finding).map(|text| crate::words::capital(&text)).collect();
    let rest = study.findings.len().saturating_sub(MOST_FINDINGS);
    if rest > 0 {
        notes.push(format!("{rest} more, less far: in the tables, and one by one in the JSON."));
    }
    let tone = if shown > 0 { Tone::Open } else { Tone::Good };
    Part { heading: "Beyond a factor of two".to_owned(), conclusion: Some((tone, conclusion)), notes, ..Part::default() }
}

/// One series at each level. What the levels took is said where `first`.
fn part(factor: Factor, series: &SeriesLevels, first: bool) -> Part {
    let mut part = Part { heading: format!("{}: {}", words::factor(factor), series.series), ..Part::default() };
    part.tables.push(all_sizes(series));
    let headline = if series.test.is_stream() { LevelMetric::Throughput } else { LevelMetric::RoundTripP50 };
    if series.sizes.len() > 1 || headline != LevelMetric::Throughput {
        part.tables.extend(absolute(series, headline));
    }
    if let Some(took) = took(series) {
        if first { part.tables.push(took) } else { part.more.push(took) }
    }
    for compared in LevelMetric::ALL {
        part.more.extend(by_size(series, *compared));
    }
    part.notes.extend(words::curves(series));
    let mut places: Vec<&str> = series.steps.iter().map(|step| step.at.as_str()).collect();
    places.dedup();
    for at in places {
        part.notes.push(words::steps(factor, at, &series.steps.iter().filter(|step| step.at == at).collect::<Vec<_>>()));
    }
    part.notes.extend(series.both.iter().map(words::both));
    if first {
        part.notes.extend(notes(series));
    }
    part
}

/// Jobs replaced on the hosts, and load outside a pid namespace.
fn notes(series: &SeriesLevels) -> Vec<String> {
    let took = || series.levels.iter().filter_map(|level| level.took.as_ref());
    let mut replaced: Vec<&String> = took().flat_map(|took| &took.replaced).collect();
    replaced.order();
    replaced.dedup();
    let replaced: Vec<String> = replaced.into_iter().cloned().collect();
    let mut notes = Vec::new();
    if !replaced.is_empty() {
        notes.push(format!("What these hosts lack of the jobs of the load was replaced: {}.", crate::words::list(&replaced)));
    }
    notes.extend(
        took().find_map(|took| took.not_caged.as_ref()).map(|why| format!("The load was not in a pid namespace of its own: {why}")),
    );
    notes
}

/// Ratios of all sizes together.
fn all_sizes(series: &SeriesLevels) -> Table {
    let stream = series.test.is_stream();
    let known: Vec<LevelMetric> = LevelMetric::ALL
        .iter()
        .copied()
        .filter(|compared| stream || !compared.is_difference())
        .filter(|compared| series.levels.iter().any(|level| level.figures.contains_key(compared)))
        .collect();
    let mut heads = vec!["level".to_owned()];
    heads.extend(known.iter().map(|compared| words::head(*compared, stream).to_owned()));
    let cell = |level: &Level, compared: LevelMetric| {
        let mean = level.figures.get(&compared).and_then(|figure| figure.mean);
        match mean {
            Some(mean) if compared.is_difference() && words::is_shown(&mean, 0.0) => number::change(mean.value),
            Some(mean) if compared.is_difference() && mean.interval.is_some() => "none shown".to_owned(),
            Some(_) if compared.is_difference() => "not shown".to_owned(),
            mean => words::ratio(mean.as_ref()),
        }
    };
    let row = |level: &Level| std::iter::once(level.name.clone()).chain(known.iter().map(|compared| cell(level, *compared))).collect();
    let sizes = match series.sizes.as_slice() {
        [one] => format!("{} B", number::whole(one.get())),
        sizes => format!("all {} sizes together, their geometric mean", sizes.len()),
    };
    let lost = if known.contains(&LevelMetric::Loss) { "; lost: so much more than there" } else { "" };
    Table::of_figures(format!("Against {}, {sizes}{lost}", series.base()), heads, series.levels.iter().skip(1).map(row).collect())
}

/// The medians at each level and size.
fn absolute(series: &SeriesLevels, compared: LevelMetric) -> Option<Table> {
    let stream = series.test.is_stream();
    let (title, write): (&str, fn(f64) -> String) = match compared {
        LevelMetric::Throughput => ("Goodput in bit/s", number::count),
        _ => ("Median round trip", number::time),
    };
    let cell = |level: &Level, place: usize| -> String {
        let value = level.figures.get(&compared).and_then(|figure| figure.by_size.get(place)?.value);
        interval::narrow(value.as_ref(), write)
    };
    let by = if stream { "message size" } else { "size of request and response" };
    over_sizes(format!("{title} by {by}"), series, compared, cell)
}

/// A row for each level and a column for each size; `None` where no level has the figure.
fn over_sizes(title: String, series: &SeriesLevels, figure: LevelMetric, cell: impl Fn(&Level, usize) -> String) -> Option<Table> {
    let heads = std::iter::once("level".to_owned()).chain(series.sizes.iter().map(|size| format!("{} B", number::whole(size.get()))));
    let row = |level: &Level| std::iter::once(level.name.clone()).chain((0..series.sizes.len()).map(|place| cell(level, place))).collect();
    let known = series.levels.iter().any(|level| level.figures.contains_key(&figure));
    known.then(|| Table::of_figures(title, heads.collect(), series.levels.iter().map(row).collect()))
}

/// Every figure at each level and size: the median, and against the base.
fn by_size(series: &SeriesLevels, compared: LevelMetric) -> Option<Table> {
    let stream = series.test.is_stream();
    let write = words::writer(compared, stream);
    let cell = |level: &Level, place: usize| -> Option<String> {
        let figure = level.figures.get(&compared)?.by_size.get(place)?;
        let value = words::between(&figure.value?, write);
        Some(match figure.against_base {
            Some(difference) if compared.is_difference() => format!("{value}; {}", words::between(&difference, number::change)),
            Some(ratio) => format!("{value}; × {}", words::between(&ratio, words::times)),
            None => value,
        })
    };
    let against = if compared.is_difference() { "and less the base" } else { "and over the base" };
    let title = format!("{}, {against}", crate::words::capital(words::compared(compared, stream)));
    over_sizes(title, series, compared, |level, place| cell(level, place).unwrap_or_else(|| NOTHING.to_owned()))
}

/// CPU time and bandwidth that the conditions took; `None` where none took any.
fn took(series: &SeriesLevels) -> Option<Table> {
    let levels: Vec<(&str, Vec<(&'static str, String)>)> =
        series.levels.iter().filter_map(|level| Some((level.name.as_str(), words::took(level.took.as_ref()?)))).collect();
    let mut heads: Vec<&'static str> = Vec::new();
    for (head, _) in levels.iter().flat_map(|(_, cells)| cells) {
        if !heads.contains(head) {
            heads.push(head);
        }
    }
    let row = |(name, cells): &(&str, Vec<(&'static str, String)>)| {
        let cell = |head: &&'static str| cells.iter().find(|(known, _)| known == head).map_or(NOTHING.to_owned(), |(_, text)| text.clone());
        std::iter::once((*name).to_owned()).chain(heads.iter().map(cell)).collect()
    };
    let rows: Vec<Vec<String>> = levels.iter().map(row).collect();
    let names = std::iter::once("level").chain(heads.iter().copied()).map(str::to_owned).collect();
    (!heads.is_empty()).then(|| Table::of_figures("What the levels really took", names, rows))
}
