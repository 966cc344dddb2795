//! Ways of sending, ranked: for a person, and as JSON.

mod sent;
mod verified;

use analysis::ranking::{Ranked, Ranking};
use analysis::result::Estimate;
use analysis::workload::{Cut, Workload};
use model::{Api, Cell};
use serde_json::{Value, json};

use crate::document::{Block, Document, Kind, Rows, Table};
use crate::sinks::json::pretty;
use crate::words::{self, list};
use crate::{interval, number};

pub use sent::{SentAgain, planned, planned_json};
pub use verified::Verdicts;

/// Advice on one message size, or on a workload, and rate.
#[derive(Debug, Clone, Copy)]
pub struct Advice<'a> {
    /// The ways of each test.
    pub rankings: &'a [Ranking],
    /// The workload that was sent, where it was one.
    pub workload: Option<&'a Workload>,
    /// Messages a second.
    pub rate: Option<f64>,
}

impl Advice<'_> {
    /// As a document.
    pub fn document(&self) -> Document {
        let legend = "◂: not shown to cost more than the cheapest. Messages were sent as fast as each way can, on one flow: a program that has them \
                      one by one saves less by batches, which wait until they are full.";
        Document::plain("", self.rankings.iter().map(|ranking| self.ranking(ranking)).chain([Block::Lead(legend.into())]))
    }

    fn ranking(&self, ranking: &Ranking) -> Block {
        let rate = self.rate.map(|rate| format!(" at {} messages a second", number::whole(rate.round() as u64))).unwrap_or_default();
        let mean = if ranking.workload.is_some() { "mean " } else { "" };
        let mut notes: Vec<String> = cheaper(ranking).map(needs).collect();
        notes.extend(self.cut(ranking).map(|cut| {
            format!(
                "{} of the messages, {} of the bytes, were left out: they are larger than the largest datagram, {} B.",
                number::percent(cut.messages),
                number::percent(cut.bytes),
                number::whole(cut.limit)
            )
        }));
        notes.extend(
            ranking
                .request_size
                .map(|size| format!("Round trips are of requests and answers of {} B, the median message.", number::whole(size.get()))),
        );
        notes.extend(batch(ranking).map(|(batch, wait)| {
            format!("At this rate the first message of a batch of {batch} waits {} for the last.", number::time(wait))
        }));
        let slower = |way: &&Ranked| self.rate.zip(way.carried_per_s).is_some_and(|(rate, carried)| carried < rate);
        let slower: Vec<String> = ranking.ways.iter().filter(slower).map(name).collect();
        notes.extend((!slower.is_empty()).then(|| format!("One flow did not bring that many messages a second by {}.", list(&slower))));
        let refused = ranking.refused.iter();
        notes
            .extend(refused.map(|refused| format!("{} was not measured: {}", words::way(refused.api, refused.receive, 1), refused.reason)));
        let untried: Vec<String> = ranking.untried.iter().map(ToString::to_string).collect();
        notes.extend((!untried.is_empty()).then(|| format!("Not tried in this run: {}", list(&untried))));
        let heading = format!("{}, {mean}{} B{rate}", ranking.series, number::whole(ranking.size.get()));
        let blocks = [Block::Paragraph(conclusion(ranking).into()), table(ranking).into()];
        Block::piece(heading, blocks.into_iter().chain(Block::sentences(notes)))
    }

    /// The part of the workload that a test cannot send.
    fn cut(&self, ranking: &Ranking) -> Option<Cut> {
        self.workload?.share_of(&Cell::plain(ranking.test, ranking.size)).ok()?.cut
    }

    /// The same as JSON, with what each way needs.
    pub fn json(&self) -> String {
        let ranking = |ranking: &Ranking| {
            let mut value = json!(ranking);
            let of_way = |way: &mut Value, api: Api| {
                way["needs"] = json!(api.needs());
            };
            for (place, way) in ranking.ways.iter().enumerate() {
                of_way(&mut value["ways"][place], way.api);
            }
            value["tells_apart"] = json!(ranking.tells_apart());
            if let Some(cut) = self.cut(ranking) {
                value["left_out"] = json!(cut);
            }
            value
        };
        pretty(&json!({ "rate_per_s": self.rate, "rankings": self.rankings.iter().map(ranking).collect::<Vec<_>>() }))
    }
}

/// The ways that cost less than plain `send`; all others where that was not measured.
fn cheaper(ranking: &Ranking) -> impl Iterator<Item = &Ranked> {
    ranking.ways.iter().filter(|way| !is_send(way) && way.of_send.is_none_or(|share| share.value < 1.0))
}

fn is_send(way: &Ranked) -> bool {
    (way.api, way.receive) == (Api::Send, None)
}

fn needs(way: &Ranked) -> String {
    let needs = way.api.needs();
    let linux = if needs.linux == "any" { String::new() } else { format!("; Linux {}", needs.linux) };
    format!("{} needs {}{linux}.", name(way), needs.change)
}

/// The largest batch, and how long its first message waits at the rate.
fn batch(ranking: &Ranking) -> Option<(u32, f64)> {
    let batches = ranking.ways.iter().filter_map(|way| Some((way.batch, way.batch_fills_ns?)));
    batches.max_by_key(|(batch, _)| *batch)
}

/// The cheapest way, and what is not shown to cost more.
fn conclusion(ranking: &Ranking) -> String {
    let Some(first) = ranking.ways.first() else { return "No way was measured.".to_owned() };
    let ties: Vec<String> = ranking.ways[1..].iter().filter(|way| way.ties).map(name).collect();
    let share = first.of_send.filter(|_| !is_send(first)).map(|share| interval::spelled(&share, number::percent, ""));
    let mut text = match share {
        Some(share) => format!("{} costs the least CPU: {share} of what send costs", name(first)),
        None => format!("{} costs the least CPU", name(first)),
    };
    if !ties.is_empty() {
        let all = if ranking.tells_apart() { "" } else { ": no difference is shown; measure longer (--blocks)" };
        text += &format!("; not shown to cost more: {}{all}", list(&ties));
    }
    let saved = first.saved_cpus.filter(|_| !is_send(first));
    if let Some(saved) = saved {
        text += &format!(". At this rate it saves {} CPUs of both ends", interval::spelled(&saved, cpus, ""));
    }
    text + "."
}

fn table(ranking: &Ranking) -> Table {
    let share = |way: &Ranked| interval::share(way.of_send.as_ref().filter(|_| !is_send(way)));
    let estimate = |found: Option<Estimate>| found.map(|found| cpus(found.value));
    let (has_rate, has_trips) =
        (ranking.ways.iter().any(|way| way.cpus.is_some()), ranking.ways.iter().any(|way| way.round_trip_ns.is_some()));
    Rows::of(&ranking.ways)
        .words(("Way", 9, ["", "Way"]), |way| format!("{}{}", name(way), if way.ties { " ◂" } else { "" }))
        .figures(("CPU of both a message", 9, ["CPU of both", "a message"]), |way| interval::narrow(Some(&way.cost_ns), number::time))
        .figures(("Share of send", 8, ["", "of send"]), share)
        .column_if(has_rate, ("CPUs", 7, ["", "CPUs"]), Kind::Figures, |way| estimate(way.cpus))
        .column_if(has_rate, ("Saves", 6, ["", "saves"]), Kind::Figures, |way| estimate(way.saved_cpus.filter(|_| !is_send(way))))
        .column_if(has_trips, ("Round trip", 5, ["round", "trip"]), Kind::Figures, |way| {
            interval::narrow(way.round_trip_ns.as_ref(), number::time)
        })
        .table()
}

fn cpus(count: f64) -> String {
    number::significant(count, 2)
}

fn name(way: &Ranked) -> String {
    words::way(way.api, way.receive, way.batch)
}
