//! Parts that are measured for the papers: before, as a list with their seconds, and after, as commands and runs.

use model::sorting::Order;
use serde::Serialize;

use crate::document::{Block, Document, Rows, Section};
use crate::json;
use crate::words::plural;

/// A part: what it measures, and what became of it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// Year of the first paper that it is for.
    pub year: u16,
    /// The command that measures it.
    pub command: String,
    /// Seconds that it takes; 0: it is measured already.
    pub seconds: f64,
    /// Its run.
    pub run: Option<String>,
    /// Reason for which it is not measured, or not whole.
    pub lacks: Option<String>,
}

/// Parts of each year.
fn by_year(parts: &[Part]) -> Vec<(u16, Vec<&Part>)> {
    let mut years = analysis::group_by(parts, |part| part.year);
    years.order_by_key(|(year, _)| *year);
    years
}

/// What would be measured: a line a paper, with the seconds of each part.
pub fn dry_run(parts: &[Part]) -> Document {
    let left = parts.iter().filter(|part| part.lacks.is_none());
    let sum: f64 = left.map(|part| part.seconds).sum();
    let one = |part: &&Part| match () {
        () if part.lacks.is_some() => format!("{} (not here)", part.name),
        () if part.seconds == 0.0 => format!("{} (measured)", part.name),
        () => format!("{} {:.0} s", part.name, part.seconds),
    };
    let facts = by_year(parts).into_iter().map(|(year, of)| (year.to_string(), of.iter().map(one).collect::<Vec<_>>().join(", ")));
    let heading = format!("papers: {}, about {:.0} min", plural(parts.len() as u64, "part"), (sum / 60.0).ceil());
    Document::plain(heading, [Block::facts(facts)].into_iter().chain(lacking(parts)))
}

/// The same as JSON.
pub fn parts_json(parts: &[Part]) -> String {
    json::pretty(&serde_json::json!({ "parts": parts }))
}

/// Parts that are not measured, a sentence for each reason.
fn lacking(parts: &[Part]) -> Option<Block> {
    let without = parts.iter().filter_map(|part| Some((part.name.as_str(), part.lacks.as_deref()?)));
    let reasons = analysis::group_by(without.collect::<Vec<_>>(), |(_, lacks)| *lacks);
    let sentence = |(lacks, parts): (&str, Vec<(&str, &str)>)| {
        let names: Vec<&str> = parts.iter().map(|(name, _)| *name).collect();
        format!("{}: {}.", names.join(", "), lacks.trim_end_matches('.'))
    };
    Block::sentences(reasons.into_iter().map(sentence))
}

/// What is not measured, or not whole: part of the answer.
pub(super) fn not_measured(parts: &[Part]) -> Option<Block> {
    lacking(parts).map(|block| Block::piece("Not measured", [block]))
}

/// Commands that repeat each part, and their runs.
pub(super) fn section(parts: &[Part]) -> Option<Section> {
    let table = Rows::of(parts)
        .words("Part", |part| part.name.as_str())
        .words("Command", |part| part.command.as_str())
        .words("Run", |part| part.run.clone())
        .words("Not measured", |part| part.lacks.clone())
        .table();
    (!parts.is_empty()).then(|| Section::new("parts", "Parts and the commands that repeat them", [Block::usual([table.into()])]))
}

#[cfg(test)]
mod tests {
    use super::{Part, dry_run, lacking};
    use crate::sinks::terminal::{Style, render};

    fn part(year: u16, name: &str, seconds: f64, lacks: Option<&str>) -> Part {
        Part { name: name.to_owned(), year, command: format!("nettoll study {name}"), seconds, run: None, lacks: lacks.map(str::to_owned) }
    }

    #[test]
    fn a_dry_run_is_a_line_a_paper() {
        let parts = [
            part(1984, "cabrera1984", 119.6, None),
            part(1984, "host-load", 260.0, None),
            part(1988, "buffers", 0.0, None),
            part(1993, "receipt", 300.0, Some("perf events: EPERM. Set perf_event_paranoid to 1")),
            part(1997, "microscope", 120.0, Some("there is no QEMU")),
            part(1993, "checksums", 90.0, Some("perf events: EPERM. Set perf_event_paranoid to 1")),
        ];
        insta::assert_snapshot!(render(&dry_run(&parts), Style::PLAIN));
        assert!(lacking(&parts[..3]).is_none());
    }
}
