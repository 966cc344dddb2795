//! The share of the time that each rule decided.

use std::collections::BTreeMap;

use analysis::result::Analysis;
use analysis::result::receipt::{CellReceipt, ReceiptStudy};
use model::sorting::Order;

use super::{figure, words};
use crate::document::{Block, Document, Rows, Table};

/// One rule over all receipts, by samples.
struct Decided {
    /// The rule.
    name: String,
    /// Share of samples whose layer it decided.
    layer: f64,
    /// Share whose category it decided.
    category: f64,
}

/// Every rule that decided anything, the most powerful first, and last what no
/// rule decided.
fn decided(study: &ReceiptStudy) -> Vec<Decided> {
    let receipts = || study.cells.iter().flat_map(CellReceipt::receipts);
    let all: f64 = receipts().map(|receipt| receipt.sampling.samples as f64).sum();
    let mut shares: BTreeMap<&str, [f64; 2]> = BTreeMap::new();
    for receipt in receipts() {
        for rule in &receipt.rules {
            let sum = shares.entry(&rule.name).or_default();
            let weight = receipt.sampling.samples as f64 / all;
            (sum[0], sum[1]) = (sum[0] + rule.layer * weight, sum[1] + rule.category * weight);
        }
    }
    let rest = [0, 1].map(|axis| (1.0 - shares.values().map(|sum| sum[axis]).sum::<f64>()).max(0.0));
    let mut rules: Vec<Decided> =
        shares.into_iter().map(|(name, [layer, category])| Decided { name: name.to_owned(), layer, category }).collect();
    rules.order_by(|a, b| (b.layer + b.category).total_cmp(&(a.layer + a.category)));
    if all > 0.0 {
        rules.push(Decided { name: "no rule".into(), layer: rest[0], category: rest[1] });
    }
    rules
}

/// The shares as a table.
pub fn table(study: &ReceiptStudy) -> Table {
    Rows::of(&decided(study))
        .words("rule", |rule| rule.name.clone())
        .figures(("Layer of", 9, ["", "layer"]), |rule| figure::share(rule.layer))
        .figures(("Category of", 9, ["", "category"]), |rule| figure::share(rule.category))
        .table()
        .labelled("What each rule decided", "Shares of all samples")
        .styled("narrow")
}

/// The table as a document; says so of a study without receipts.
pub fn document(analysis: &Analysis) -> Document {
    match analysis.receipt() {
        None => Document::plain("", [Block::Paragraph("This run has no receipts, so no rule decided anything.".into())]),
        Some(study) => {
            let heading = "What each rule decided, as a share of all samples";
            Document::plain(heading, [Block::Aside(words::rules(study).into()), table(study).into()])
        }
    }
}
