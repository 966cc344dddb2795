//! Operands of a rule, as a row of the claims writes them: `of=time,tcp@1; near=5.5`.

use std::collections::BTreeMap;

use super::evidence::{Against, Curve, Evidence, Pick, Term, against, scaled};
use crate::shape::SAME;

/// Operands of a rule: names and values, and whether only what a user gave is ruled.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Operands {
    all: BTreeMap<String, String>,
    /// Only curves of tables that a user gave are ruled; they may be divided by any.
    given: bool,
}

/// Names that an operand can have, with those that are terms and those that are numbers.
const TERMS: &[&str] = &["of", "over", "less", "any"];
const NUMBERS: &[&str] = &["near", "within", "percent", "low", "high", "value", "at", "factor", "count", "r2", "times", "of-rows"];
const WORDS: &[&str] = &["each", "names", "others", "between", "to"];

impl Operands {
    /// Reads `of=time,tcp@1; near=5.5`.
    ///
    /// # Errors
    /// An operand that there is not, or whose value is no term or number.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut all = BTreeMap::new();
        for part in text.split("; ").filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').ok_or_else(|| format!("'{part}' is no operand; write name=value"))?;
            let known = match name {
                _ if TERMS.contains(&name) => Term::parse(value).is_some_and(|term| term.is_known()),
                _ if NUMBERS.contains(&name) => value.parse::<f64>().is_ok_and(f64::is_finite),
                _ => WORDS.contains(&name),
            };
            if !known {
                return Err(format!("'{part}' is no operand of a rule"));
            }
            all.insert(name.to_owned(), value.to_owned());
        }
        Ok(Self { all, given: false })
    }

    /// The same, for curves of tables that a user gave or for all.
    pub fn of(&self, given: bool) -> Self {
        Self { given, ..self.clone() }
    }

    /// True where it has one of this name.
    pub fn has(&self, name: &str) -> bool {
        self.all.contains_key(name)
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.all.get(name).map(String::as_str)
    }

    pub(super) fn number(&self, name: &str) -> Option<f64> {
        self.text(name)?.parse().ok()
    }

    pub(super) fn term(&self, name: &str) -> Option<Term> {
        Term::parse(self.text(name)?)
    }

    pub(super) fn names(&self, name: &str) -> Vec<&str> {
        self.text(name).map_or_else(Vec::new, |names| names.split(',').collect())
    }

    pub(super) fn curves(&self, evidence: &Evidence) -> Vec<Curve> {
        self.term("of").map_or_else(Vec::new, |term| term.curves(evidence, self.given))
    }

    /// The figures, set against their base where there is one.
    pub(super) fn picks(&self, evidence: &Evidence) -> Vec<Pick> {
        let Some(of) = self.term("of") else { return Vec::new() };
        let picks = scaled(&of.picks(evidence, self.given), self.number("times").unwrap_or(1.0));
        let base = |name: &str| self.term(name).map(|term| term.picks(evidence, false));
        match (base("over"), base("less")) {
            (Some(bases), _) => against(&picks, &bases, Against::Over),
            (None, Some(bases)) => against(&picks, &bases, Against::Less),
            (None, None) => picks,
        }
    }

    pub(super) fn unit(&self) -> &'static str {
        if self.has("over") { "" } else { self.term("of").map_or("", |term| term.unit()) }
    }

    /// All figures lie, with both ends, on the other side of 1 than the only bound, which is near 1, asks for: what is
    /// compared is the other way round.
    pub fn is_reversed(&self, evidence: &Evidence) -> bool {
        let compares = self.has("over") || self.text("of").is_some_and(|of| of.starts_with("ratio"));
        let picks = if compares { self.picks(evidence) } else { Vec::new() };
        !picks.is_empty()
            && match (self.number("low"), self.number("high")) {
                (Some(low), None) if low >= 1.0 - SAME => picks.iter().all(|pick| pick.figure.high < 1.0),
                (None, Some(high)) if high <= 1.0 + SAME => picks.iter().all(|pick| pick.figure.low > 1.0),
                _ => false,
            }
    }

    /// What is looked at, in words.
    pub(super) fn subject(&self) -> String {
        let words = |name: &str| self.term(name).map(|term| term.words());
        let times = self.text("times").map_or_else(String::new, |times| format!("{times} times "));
        let of = words("of").map(|of| format!("{times}{of}"));
        let base = words("over").map(|base| format!(" over {base}")).or_else(|| words("less").map(|base| format!(" less {base}")));
        of.map_or_else(String::new, |of| of + &base.unwrap_or_default())
    }

    pub(super) fn each(&self) -> String {
        match self.text("each") {
            Some("most") => "most are".to_owned(),
            Some("any") => "one is".to_owned(),
            Some(count) => format!("{count} are"),
            None => String::new(),
        }
    }

    /// The range that figures are held against.
    pub(super) fn bounds(&self) -> [f64; 2] {
        if let Some(near) = self.number("near") {
            let reach = self.number("within").or_else(|| Some(near.abs() * self.number("percent")? / 100.0)).unwrap_or(0.0);
            return [near - reach, near + reach];
        }
        [self.number("low").unwrap_or(f64::NEG_INFINITY), self.number("high").unwrap_or(f64::INFINITY)]
    }

    /// Names and values, of terms their quantity alone: rules of then and today that differ in nothing else are one.
    pub(super) fn without_labels(&self) -> Vec<(String, String)> {
        let one = |(name, value): (&'_ String, &'_ String)| -> (String, String) {
            let quantity = |value: &str| value.split([',', '@']).next().unwrap_or_default().to_owned();
            (name.clone(), if TERMS.contains(&name.as_str()) { quantity(value) } else { value.clone() })
        };
        self.all.iter().map(one).collect()
    }

    pub(super) fn bounds_words(&self, unit: &str) -> String {
        if let (Some(near), within) = (self.text("near"), self.text("within")) {
            return match within {
                Some(within) => format!("{near}{unit}, ±{within}"),
                None => format!("{near}{unit}, ±{} %", self.text("percent").unwrap_or("0")),
            };
        }
        match (self.text("low"), self.text("high")) {
            (Some(low), Some(high)) => format!("from {low} to {high}{unit}"),
            (Some(low), None) => format!("at least {low}{unit}"),
            (None, high) => format!("at most {}{unit}", high.unwrap_or_default()),
        }
    }
}
