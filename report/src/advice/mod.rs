//! Ways of sending, ranked: for a person, and as JSON.

mod sent;
mod verified;

use analysis::advice::{Ranked, Ranking};
use analysis::result::Estimate;
use analysis::workload::{Cut, Workload};
use model::{Api, Cell};
use serde_json::{Value, json};

use crate::sinks::json::pretty;
use crate::sinks::terminal::table::Column;
use crate::sinks::terminal::{Page, Style};
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
    /// As text; ends with a newline.
    pub fn text(&self, style: Style) -> String {
        let mut page = Page::new(style);
        for ranking in self.rankings {
            self.ranking(&mut page, ranking);
        }
        page.faint(
            "◂: not shown to cost more than the cheapest. Messages were sent as fast as each way can, on one flow: a program that has them \
             one by one saves less by batches, which wait until they are full.",
            0,
        );
        page.finish()
    }

    fn ranking(&self, page: &mut Page, ranking: &Ranking) {
        let rate = self.rate.map(|rate| format!(" at {} messages a second", number::whole(rate.round() as u64))).unwrap_or_default();
        let mean = if ranking.workload.is_some() { "mean " } else { "" };
        page.heading(&format!("{}, {mean}{} B{rate}", ranking.series, number::whole(ranking.size.get())));
        page.text(&conclusion(ranking));
        page.gap();
        page.table(columns(ranking));
        page.gap();
        cheaper(ranking).for_each(|way| page.item(&needs(way)));
        if let Some(cut) = self.cut(ranking) {
            page.item(&format!(
                "{} of the messages, {} of the bytes, were left out: they are larger than the largest datagram, {} B.",
                number::percent(cut.messages),
                number::percent(cut.bytes),
                number::whole(cut.limit)
            ));
        }
        if let Some(size) = ranking.request_size {
            page.item(&format!("Round trips are of requests and answers of {} B, the median message.", number::whole(size.get())));
        }
        if let Some((batch, wait)) = batch(ranking) {
            page.item(&format!("At this rate the first message of a batch of {batch} waits {} for the last.", number::time(wait)));
        }
        let slower = |way: &&Ranked| self.rate.zip(way.carried_per_s).is_some_and(|(rate, carried)| carried < rate);
        let slower: Vec<String> = ranking.ways.iter().filter(slower).map(name).collect();
        if !slower.is_empty() {
            page.item(&format!("One flow did not bring that many messages a second by {}.", list(&slower)));
        }
        for refused in &ranking.refused {
            page.item(&format!("{} was not measured: {}", words::way(refused.api, refused.receive, 1), refused.reason));
        }
        if !ranking.untried.is_empty() {
            let names: Vec<String> = ranking.untried.iter().map(ToString::to_string).collect();
            page.item(&format!("Not tried in this run: {}", list(&names)));
        }
        page.gap();
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
        let all = if ranking.tells_apart() { "" } else { ": nothing is told apart; measure longer (--blocks)" };
        text += &format!("; not shown to cost more: {}{all}", list(&ties));
    }
    let saved = first.saved_cpus.filter(|_| !is_send(first));
    if let Some(saved) = saved {
        text += &format!(". At this rate it saves {} CPUs of both ends", interval::spelled(&saved, cpus, ""));
    }
    text + "."
}

fn columns(ranking: &Ranking) -> Vec<Column> {
    let each = |of: &dyn Fn(&Ranked) -> String| ranking.ways.iter().map(of).collect::<Vec<_>>();
    let any = |of: &dyn Fn(&Ranked) -> bool| ranking.ways.iter().any(of);
    let estimate = |of: fn(&Ranked) -> Option<Estimate>, write: fn(f64) -> String| {
        each(&|way| of(way).map_or_else(|| number::NOTHING.to_owned(), |found| write(found.value)))
    };
    let mut columns = vec![
        Column::words(9, ["", "Way"], each(&|way| format!("{}{}", name(way), if way.ties { " ◂" } else { "" }))),
        Column::figures(9, ["CPU of both", "a message"], each(&|way| interval::narrow(Some(&way.cost_ns), number::time))),
        Column::figures(8, ["", "of send"], each(&|way| interval::narrow(way.of_send.as_ref().filter(|_| !is_send(way)), number::percent))),
    ];
    if any(&|way| way.cpus.is_some()) {
        columns.push(Column::figures(7, ["", "CPUs"], estimate(|way| way.cpus, cpus)));
        columns.push(Column::figures(6, ["", "saves"], estimate(|way| way.saved_cpus.filter(|_| !is_send(way)), cpus)));
    }
    if any(&|way| way.round_trip_ns.is_some()) {
        columns.push(Column::figures(5, ["round", "trip"], each(&|way| interval::narrow(way.round_trip_ns.as_ref(), number::time))));
    }
    columns
}

fn cpus(count: f64) -> String {
    number::significant(count, 2)
}

fn name(way: &Ranked) -> String {
    words::way(way.api, way.receive, way.batch)
}
