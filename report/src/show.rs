//! Stored runs: a line each, or all that is known of one without reading its trials.

use analysis::result::Analysis;
use model::run::Status;
use model::{Run, Summary};
use serde_json::{Value, json};

use crate::document::{Block, Cut, Document, Keeps, Rows};
use crate::sinks::json::pretty;
use crate::studies::run::{host, link};
use crate::studies::setup::trial;
use crate::{clock, number};

/// A stored run.
#[derive(Debug, Clone, Copy)]
pub struct Listed<'a> {
    /// Name of its directory.
    pub id: &'a str,
    /// Its `run.json`, or why that cannot be read.
    pub run: Result<&'a Run, &'a str>,
    /// Its summary, where it has been analysed.
    pub summary: Option<&'a Summary>,
}

/// Digits at the end of a name that set runs apart.
const DIGITS: usize = 4;
/// What stays of words where room is short.
const LEAST_HEADLINE: usize = 12;

/// Runs that cannot be read and are told of with the reason.
const MOST_UNREAD: usize = 5;

/// Makes the summary of a run; `duration_ms` is the time from its start to that of its last trial.
pub fn summary(analysis: &Analysis, duration_ms: u64) -> Summary {
    let answer = analysis::answer::of(analysis);
    let mut kernels: Vec<&str> = analysis.hosts.iter().map(|host| host.kernel.as_str()).collect();
    kernels.dedup();
    Summary {
        kernel: kernels.join(", "),
        duration_ms,
        trials: analysis.trials,
        failed: analysis.failed,
        cells: analysis.cells.len() as u64,
        warnings: analysis.findings.len() as u64,
        question: answer.question,
        headline: answer.headline,
        brief: answer.brief,
        grade: answer.grade.name().to_owned(),
        reason: answer.reason,
        next: answer.next.and_then(|next| next.command),
        ..Summary::default()
    }
}

/// A line for each run, the earliest first.
pub fn list(runs: &[Listed]) -> Document {
    let names = short_names(runs);
    let named: Vec<(&Listed, String)> = runs.iter().zip(names).collect();
    type Of<T> = fn(&T) -> Option<String>;
    let of_run = |of: Of<Run>| move |(listed, _): &(&Listed, String)| listed.run.ok().and_then(of);
    let of_summary = |of: Of<Summary>| move |(listed, _): &(&Listed, String)| listed.summary.and_then(of);
    let table = Rows::of(&named)
        .words(("Run", 9, ["", "Run"]), |(_, name)| name.as_str())
        .words(("Started", 9, ["", "Started"]), of_run(|run| Some(clock::short(run.started_ms, false))))
        .words(("Question", 9, ["", "Question"]), |(listed, _)| question(listed))
        .words(("Answer", 9, ["", "Answer"]), |(listed, _)| shows(listed))
        .words(("Grade", 9, ["", "Grade"]), of_summary(|summary| Some(summary.grade.clone())));
    let mut table = table.table();
    for (place, least) in [(2, LEAST_HEADLINE), (3, LEAST_HEADLINE)] {
        table.columns[place].cut = Some(Cut { least, keeps: Keeps::Start });
    }
    let mut unread: Vec<String> = runs.iter().filter_map(|listed| Some(format!("{}: {}", listed.id, listed.run.err()?))).collect();
    let more = unread.len().saturating_sub(MOST_UNREAD);
    unread.truncate(MOST_UNREAD);
    unread.extend((more > 0).then(|| format!("and {} more that cannot be read", number::whole(more as u64))));
    let legend = "One run: nettoll show RUN. Its report again: nettoll report RUN.";
    let blocks = std::iter::once(table.into()).chain(Block::sentences(unread)).chain([Block::Lead(legend.into())]);
    Document::plain("", blocks)
}

/// The same as JSON.
pub fn list_json(runs: &[Listed]) -> String {
    pretty(&runs.iter().map(value).collect::<Vec<_>>())
}

/// Facts of one run.
pub fn one(listed: &Listed, hosts: &[model::host::HostFacts], path: &str) -> Document {
    let run = match listed.run {
        Ok(run) => run,
        Err(error) => return Document::plain("", [Block::Paragraph(error.into())]),
    };
    let plan = &run.plan;
    let mut facts =
        vec![("Run", path.to_owned()), ("Started", clock::utc(run.started_ms)), ("Status", run.status.describe()), ("Link", link(plan))];
    facts.extend(hosts.iter().map(|found| ("Host", format!("{}: {}", found.name, host(found)))));
    facts.push(("Trial", trial(plan)));
    facts.extend((!plan.arms.is_empty()).then(|| ("Arms", plan.arms.iter().map(|arm| arm.name.as_str()).collect::<Vec<_>>().join(", "))));
    match listed.summary {
        None => facts.push(("Shows", format!("not analysed as it stands; `nettoll report {}` does that", listed.id))),
        Some(summary) => {
            let failed = if summary.failed > 0 { format!(", {} failed", number::whole(summary.failed)) } else { String::new() };
            let reason = if summary.reason.is_empty() { String::new() } else { format!(": {}", summary.reason) };
            facts.extend([("Answer", summary.headline.clone()), ("Grade", format!("{}{reason}", summary.grade))]);
            facts.extend(summary.next.clone().map(|next| ("Next", next)));
            facts.extend([
                ("Took", took(summary.duration_ms)),
                ("Trials", format!("{}{failed}", number::whole(summary.trials))),
                ("Warnings", format!("{} (nettoll report {})", summary.warnings, listed.id)),
            ]);
        }
    }
    facts.push(("nettoll", run.tool.clone()));
    if matches!(run.status, Status::Running | Status::Interrupted) {
        let command = if plan.fleet.is_some() { "fleet" } else { "study" };
        facts.push(("Go on", format!("nettoll {command} --resume {}", listed.id)));
    }
    let about = (!plan.description.is_empty()).then(|| Block::Paragraph(plan.description.as_str().into()));
    Document::plain(format!("{}: {}", plan.name, plan.title), about.into_iter().chain([Block::facts(facts)]))
}

/// The same as JSON, with the plan.
pub fn one_json(listed: &Listed) -> String {
    let mut value = value(listed);
    if let (Ok(run), Some(fields)) = (listed.run, value.as_object_mut()) {
        fields.insert("run".to_owned(), json!(run));
    }
    pretty(&value)
}

fn value(listed: &Listed) -> Value {
    let run = listed.run.ok();
    let known = listed.summary;
    json!({
        "id": listed.id,
        "error": listed.run.err(),
        "study": run.map(|run| &run.plan.name),
        "title": run.map(|run| &run.plan.title),
        "started_ms": run.map(|run| run.started_ms),
        "status": run.map(|run| &run.status),
        "link": run.map(|run| link(&run.plan)),
        "kernel": known.map(|summary| &summary.kernel),
        "duration_s": known.map(|summary| summary.duration_ms as f64 / 1e3),
        "trials": known.map(|summary| summary.trials),
        "failed": known.map(|summary| summary.failed),
        "cells": run.map(|run| run.plan.cells.len()),
        "warnings": known.map(|summary| summary.warnings),
        "question": known.map(|summary| &summary.question),
        "headline": known.map(|summary| &summary.headline),
        "grade": known.map(|summary| &summary.grade),
        "reason": known.map(|summary| &summary.reason),
        "next": known.map(|summary| &summary.next),
    })
}

/// What a run was asked, or the name of its study.
fn question(listed: &Listed) -> String {
    let known = listed.summary.map(|summary| summary.question.clone()).filter(|text| !text.is_empty());
    known.or_else(|| listed.run.ok().map(|run| run.plan.name.clone())).unwrap_or_default()
}

/// What a run shows, or why it shows nothing, or not all.
fn shows(listed: &Listed) -> String {
    let run = match listed.run {
        Ok(run) => run,
        Err(_) => return "cannot be read".to_owned(),
    };
    let headline = listed.summary.map(|summary| summary.brief.clone()).filter(|text| !text.is_empty());
    match (&run.status, headline) {
        (Status::IntervalMet | Status::Settled | Status::BlocksDone, Some(headline)) => headline,
        (Status::IntervalMet | Status::Settled | Status::BlocksDone, None) => "not analysed".to_owned(),
        (Status::Running, None) => "not finished".to_owned(),
        (Status::Running, Some(headline)) => format!("not finished; {headline}"),
        (Status::Interrupted, headline) => format!("interrupted; {}", headline.unwrap_or_default()),
        (Status::Failed { .. }, _) => run.status.describe(),
    }
}

fn took(ms: u64) -> String {
    match ms / 1_000 {
        seconds @ 0..100 => format!("{seconds} s"),
        seconds @ 100..6_000 => format!("{} min", (seconds + 30) / 60),
        seconds => format!("{} h", number::significant(seconds as f64 / 3_600.0, 2)),
    }
}

/// Shortest end of each name that no other run has.
fn short_names(runs: &[Listed]) -> Vec<String> {
    let alone = |part: &str| runs.iter().filter(|other| other.id.contains(part)).count() == 1;
    let one = |listed: &Listed| {
        let starts = listed.id.char_indices().rev().map(|(place, _)| place).skip(DIGITS - 1);
        let part = starts.map(|place| &listed.id[place..]).find(|part| alone(part));
        part.unwrap_or(listed.id).to_owned()
    };
    runs.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::{Listed, list, list_json, one, short_names};
    use crate::sinks::terminal::{Style, render};
    use model::run::Status;
    use model::{Run, Summary};
    use testkit::made;

    fn runs() -> Vec<(Run, Option<Summary>)> {
        let summary = Summary {
            kernel: "6.18.5-cloud-amd64".to_owned(),
            duration_ms: 41_200,
            trials: 189,
            cells: 21,
            warnings: 3,
            question: "quick, TCP and UDP".to_owned(),
            headline: "A 1 B TCP message costs 8.54 µs (7.12–9.01) of CPU; both ends together.".to_owned(),
            brief: "1 B: 8.54 µs CPU".to_owned(),
            grade: "rough".to_owned(),
            reason: "CPU known within ±8 to ±50 %".to_owned(),
            next: Some("nettoll study --again 7f3a --blocks 27".to_owned()),
            ..Summary::default()
        };
        let plan = || {
            model::plan::resolve(&model::plan::RawPlan::parse(model::plan::preset("quick").unwrap()).unwrap(), &[], 7).unwrap().into_plan()
        };
        let run = |id: &str, status: Status| Run { id: id.to_owned(), status, started_ms: 1_795_292_045_000, ..made::run(plan()) };
        vec![
            (run("2026-11-21T20-14-05Z-quick-7f3a", Status::BlocksDone), Some(summary.clone())),
            (run("2026-11-21T20-14-06Z-quick-9634", Status::Interrupted), Some(Summary { duration_ms: 9_000_000, ..summary })),
            (run("2026-11-21T20-14-07Z-host-load-9634", Status::Running), None),
            (
                run("2026-11-21T20-14-08Z-quick-0001", Status::Failed { error: "no \u{1b}[31mluck at all, whatever was tried".to_owned() }),
                None,
            ),
        ]
    }

    fn listed(runs: &[(Run, Option<Summary>)]) -> Vec<Listed<'_>> {
        let mut listed: Vec<_> =
            runs.iter().map(|(run, summary)| Listed { id: &run.id, run: Ok(run), summary: summary.as_ref() }).collect();
        listed.push(Listed { id: "2026-11-21T20-14-09Z-quick-0bad", run: Err("run.json is damaged"), summary: None });
        listed
    }

    #[test]
    fn a_run_is_a_line_of_eighty_columns() {
        let text = render(&list(&listed(&runs())), Style::PLAIN);
        assert!(text.lines().all(|line| line.chars().count() <= 80) && !text.contains('\u{1b}'), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_short_name_names_one_run() {
        assert_eq!(short_names(&listed(&runs())), ["7f3a", "k-9634", "d-9634", "0001", "0bad"]);
    }

    #[test]
    fn one_run_is_told_with_what_to_do() {
        let runs = runs();
        let listed = listed(&runs);
        let told = |place: usize| {
            render(&one(&listed[place], &[made::host("a")], listed[place].id), Style::PLAIN)
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
        };
        let text = told(1);
        for words in [
            "interrupted",
            "Grade rough: CPU known within ±8 to ±50 %",
            "Next nettoll study --again 7f3a",
            "2.5 h",
            "nettoll study --resume 2026-11-21T20-14-06Z-quick-9634",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(told(2).contains("`nettoll report 2026-11-21T20-14-07Z-host-load-9634` does that"));
    }

    #[test]
    fn json_has_null_where_nothing_is_known() {
        let value: serde_json::Value = serde_json::from_str(&list_json(&listed(&runs()))).unwrap();
        assert_eq!((value[0]["grade"].as_str(), value[0]["duration_s"].as_f64()), (Some("rough"), Some(41.2)));
        assert!(value[2]["kernel"].is_null() && value[4]["error"] == "run.json is damaged" && value[4]["study"].is_null());
    }
}
