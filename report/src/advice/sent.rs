//! A program's work, sent again, and what it costs.

use analysis::advice::{KindCost, WorkloadCost};
use model::program_workload::{Exchange, ProgramWorkload};
use serde_json::json;

use crate::document::{Block, Document, Rows, Table};
use crate::sinks::json::pretty;
use crate::words::plural;
use crate::{interval, number};

/// The work that was sent, and its cost.
#[derive(Debug, Clone, Copy)]
pub struct SentAgain<'a> {
    /// The file.
    pub workload: &'a ProgramWorkload,
    /// Its figures.
    pub sent: &'a WorkloadCost,
    /// Number of blocks.
    pub blocks: usize,
}

/// A kind of exchange as a person says it.
pub fn words(one: &Exchange) -> String {
    let answer = match &one.answer[..] {
        [] => "gives nothing".to_owned(),
        [first, rest @ ..] if !rest.is_empty() && rest.iter().all(|size| size == first) => {
            format!("gives {} × {} B", one.answer.len(), number::whole(*first))
        }
        all => format!("gives {} B", all.iter().map(|size| number::whole(*size)).collect::<Vec<_>>().join(" + ")),
    };
    let mut calls = one.calls.clone();
    calls.dedup();
    format!("takes {} B of {}, {answer} ({})", number::whole(one.request), one.protocol, calls.join(", "))
}

/// What would be sent, a line for each kind; ends with a newline.
pub fn planned(workload: &ProgramWorkload) -> String {
    let mut text = format!(
        "{}: {} exchanges/s on {}; nothing was sent.\n",
        workload.program,
        number::whole(workload.rate.round() as u64),
        plural(u64::from(workload.connections), "connection")
    );
    for one in &workload.exchanges {
        text += &format!("  {:>5}  {}\n", number::percent(one.share), words(one));
    }
    text
}

/// The same as JSON.
pub fn planned_json(workload: &ProgramWorkload) -> String {
    pretty(workload)
}

impl SentAgain<'_> {
    /// As a document.
    pub fn document(&self) -> Document {
        let kinds = self.sent.kinds.iter().enumerate().map(|(place, kind)| ((place + 1).to_string(), words(&kind.exchange)));
        let how = "Each kind was sent over loopback by itself, at the rate and on as many connections as all kinds had, with about the CPU time of the \
                   program's own code, in blocks of random order; figures are of the end that stands for the program.";
        let heading = format!("The work of {}, sent by nettoll", self.workload.program);
        let blocks = [Block::Paragraph(self.conclusion().into()), Block::facts(kinds), self.table().into(), Block::Lead(how.into())];
        Document::plain(heading, blocks)
    }

    fn conclusion(&self) -> String {
        let Some(cpu) = self.sent.cpu else { return "Nothing was exchanged, so that there is no figure.".to_owned() };
        let mut text = format!("An exchange takes {} of CPU time here", interval::spelled(&cpu, number::time, ""));
        if let Some(observed) = self.sent.observed {
            text += &format!("; {} had {}", self.workload.program, number::time(observed));
            if let Some(not_sent) = self.sent.not_sent {
                text += &format!(", {} for files, memory and other work that is not sent again", number::time(not_sent));
            }
        }
        if self.sent.share < 0.995 {
            text += &format!(". These kinds are {} of its exchanges", number::percent(self.sent.share));
        }
        text + "."
    }

    fn table(&self) -> Table {
        let kinds: Vec<(usize, &KindCost)> = self.sent.kinds.iter().enumerate().collect();
        Rows::of(&kinds)
            .words(("Kind", 9, ["", "kind"]), |(place, _)| (place + 1).to_string())
            .figures(("Share", 6, ["", "share"]), |(_, kind)| number::percent(kind.exchange.share))
            .figures(("CPU time each", 9, ["CPU time", "each"]), |(_, kind)| interval::narrow(kind.cpu.as_ref(), number::time))
            .figures(("Exchanges a second", 8, ["exchanges", "a second"]), |(_, kind)| interval::narrow(kind.rate.as_ref(), number::count))
            .figures(("Wake-ups each", 8, ["wake-ups", "each"]), |(_, kind)| {
                interval::narrow(kind.wake_ups.as_ref(), |value| number::significant(value, 2))
            })
            .table()
    }

    /// The same as JSON, with the file.
    pub fn json(&self) -> String {
        pretty(&json!({ "workload": self.workload, "sent": self.sent, "blocks": self.blocks }))
    }
}
