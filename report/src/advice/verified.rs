//! Advice to a program, with its evidence and what its replays measured.

use analysis::advice::{Measure, Observed, Rule, Verified};
use analysis::result::Estimate;
use model::sorting::Order;
use serde_json::json;

use crate::document::{Block, Document};
use crate::sinks::json::pretty;
use crate::{interval, number};

/// Advice to one program.
#[derive(Debug, Clone, Copy)]
pub struct Verdicts<'a> {
    /// The attached run.
    pub run: &'a str,
    /// Name of the program.
    pub program: &'a str,
    /// What the rules asked.
    pub observed: &'a Observed,
    /// What they advise, ranked.
    pub advice: &'a [Verified],
}

impl Verdicts<'_> {
    /// As a document.
    pub fn document(&self) -> Document {
        let (shown, not): (Vec<&Verified>, Vec<&Verified>) = self.advice.iter().partition(|one| one.shown);
        let numbered = |(place, one): (usize, &&Verified)| format!("{}. {}: saves {}.", place + 1, one.advice.rule, saving(one));
        let rejected = |one: &&Verified| format!("Not shown: {}: {}.", one.advice.rule, one.reason.as_deref().unwrap_or_default());
        let headings = shown.iter().enumerate().map(numbered).chain(not.iter().map(rejected));
        let pieces = headings.zip(shown.iter().chain(&not)).map(|(heading, one)| Block::piece(heading, Block::sentences(details(one))));
        let how = "Savings are measured here: what was observed was replayed in both ways by threads of nettoll, in blocks of random order; intervals \
                   are wider by a fifth of the saving for what a replay cannot know of the program.";
        let conclusion = Block::Paragraph(self.conclusion(shown.first().copied()).into());
        let blocks = std::iter::once(conclusion).chain(pieces).chain([Block::Heading("How".into()), Block::Aside(how.into())]);
        Document::plain(format!("Advice to {}", self.program), blocks)
    }

    fn conclusion(&self, first: Option<&Verified>) -> String {
        match first {
            Some(one) => format!("{} saves most: {}.", one.advice.rule, saving(one)),
            None if self.advice.is_empty() => {
                let rules: Vec<&str> = Rule::ALL.iter().map(|rule| rule.name()).collect();
                format!("There is none: no rule found evidence ({}).", rules.join(", "))
            }
            None => "There is none that its replay confirms.".to_owned(),
        }
    }

    /// The same as JSON, with everything that was observed.
    pub fn json(&self) -> String {
        pretty(&json!({ "run": self.run, "program": self.program, "observed": self.observed, "advice": self.advice, "rules": Rule::ALL }))
    }
}

fn details(one: &Verified) -> Vec<String> {
    let mut all = vec![one.advice.change.clone()];
    all.extend(one.advice.evidence.iter().map(|evidence| format!("Observed: {evidence}")));
    all.extend(medians(one).map(|[now, then]| {
        let write = |value: f64| written(one.advice.measure, value);
        format!("Replayed in {} blocks: {} in the observed way, {} in the proposed one.", one.blocks.len(), write(now), write(then))
    }));
    all.extend(one.disturbed.then(|| {
        format!(
            "The replays had no CPU for {} of the time that they wanted one, more than the program: something else ran, its own load perhaps. \
             Advise the stored run when that has ended: nettoll advise RUN.",
            number::percent(one.delayed)
        )
    }));
    all
}

fn medians(one: &Verified) -> Option<[f64; 2]> {
    let of = |place: usize| {
        let mut values: Vec<f64> = one.blocks.iter().map(|both| both[place]).filter(|value| value.is_finite()).collect();
        values.order_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    };
    Some([of(0)?, of(1)?])
}

fn written(measure: Measure, value: f64) -> String {
    if measure == Measure::Lost { number::percent(value) } else { number::time(value) }
}

/// The saving, in its unit and as a share.
fn saving(one: &Verified) -> String {
    let (Some(share), Some(saving)) = (&one.share, &one.saving) else { return "nothing".to_owned() };
    let spelled = |estimate: &Estimate, write: &dyn Fn(f64) -> String| interval::spelled(estimate, write, "");
    match one.advice.measure {
        Measure::Cpu => format!("{} of CPU time, or {}", spelled(saving, &number::time), spelled(share, &number::percent)),
        Measure::Time => format!("{} of each exchange, or {}", spelled(saving, &number::time), spelled(share, &number::percent)),
        Measure::Lost => format!("the loss of {} of the datagrams that come", spelled(saving, &number::percent)),
    }
}
