//! How much of the time each rule decided.

use std::collections::BTreeMap;

use analysis::result::Analysis;
use analysis::result::receipt::{CellReceipt, ReceiptStudy};

use super::figure;
use crate::sinks::terminal::table::Column;
use crate::sinks::terminal::{Page, Style};

/// One rule over all receipts, by samples.
pub struct Decided {
    /// The rule.
    pub name: String,
    /// Share of samples whose layer it decided.
    pub layer: f64,
    /// Share whose category it decided.
    pub category: f64,
}

/// Every rule that decided anything, the most powerful first, and last what no
/// rule decided.
pub fn decided(study: &ReceiptStudy) -> Vec<Decided> {
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
    rules.sort_by(|a, b| (b.layer + b.category).total_cmp(&(a.layer + a.category)));
    if all > 0.0 {
        rules.push(Decided { name: "no rule".into(), layer: rest[0], category: rest[1] });
    }
    rules
}

/// The table for a terminal; says so of a study without receipts.
pub fn render(analysis: &Analysis, style: Style) -> String {
    let mut page = Page::new(style);
    let Some(study) = analysis.receipt() else {
        page.plain("This run has no receipts, so no rule decided anything.", 0, 0);
        return page.finish();
    };
    let rules = decided(study);
    page.heading("What each rule decided, as a share of all samples");
    page.faint(&super::words::rules(study), 0);
    let column = |head: &str, of: fn(&Decided) -> f64| {
        Column::figures(9, [String::new(), head.to_owned()], rules.iter().map(|rule| figure::share(of(rule))).collect())
    };
    let names = Column::words(9, ["".to_owned(), "rule".to_owned()], rules.iter().map(|rule| rule.name.clone()).collect());
    page.table(vec![column("layer", |rule| rule.layer), column("category", |rule| rule.category), names]);
    page.finish()
}
