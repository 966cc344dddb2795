//! Statements of a paper, ruled by its own tables.

use serde::Serialize;

/// The ruling of a table on a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    /// The table shows it, by the rule.
    #[serde(rename = "borne_out")]
    Confirmed,
    /// The table agrees with it, and is no evidence: what it is compared with was found
    /// from the figure stated.
    Consistent,
    /// The table shows something else.
    #[serde(rename = "not_borne_out")]
    NotConfirmed,
    /// The published tables do not hold what it would take.
    NotDecidable,
}

impl Ruling {
    /// Confirmed or not.
    pub const fn from_rule(holds: bool) -> Self {
        if holds { Self::Confirmed } else { Self::NotConfirmed }
    }

    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Consistent => "consistent with the figures",
            Self::NotConfirmed => "not confirmed",
            Self::NotDecidable => "not decidable",
        }
    }
}

/// A statement of a paper.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Statement {
    /// A short name, the same in every version: `above/1`.
    pub id: String,
    /// The table or machine that it is about.
    pub about: String,
    /// The paper's statement, in our words.
    pub says: String,
    /// The finding of the table.
    pub ruling: Ruling,
    /// The figures that decide, in words.
    pub found: String,
    /// The same as numbers, in the order in which `found` has them.
    pub values: Vec<f64>,
    /// The rule by which it counts as confirmed.
    pub rule: String,
}

impl Statement {
    /// A statement that the tables decide.
    pub fn decided(id: impl Into<String>, about: &str, says: impl Into<String>, holds: bool) -> Self {
        Self::ruled(id, about, says, Ruling::from_rule(holds))
    }

    /// A statement for which the tables lack something: what, and what there is.
    pub fn undecided(id: impl Into<String>, about: &str, says: impl Into<String>, lacks: impl Into<String>) -> Self {
        Self::ruled(id, about, says, Ruling::NotDecidable).found(lacks, []).rule("the published tables would have to hold it")
    }

    /// A statement with this ruling.
    pub fn ruled(id: impl Into<String>, about: &str, says: impl Into<String>, ruling: Ruling) -> Self {
        let (found, values, rule) = (String::new(), Vec::new(), String::new());
        Self { id: id.into(), about: about.to_owned(), says: says.into(), ruling, found, values, rule }
    }

    /// With the figures that decide.
    pub fn found(mut self, found: impl Into<String>, values: impl IntoIterator<Item = f64>) -> Self {
        (self.found, self.values) = (found.into(), values.into_iter().collect());
        self
    }

    /// With the rule.
    pub fn rule(mut self, rule: impl Into<String>) -> Self {
        self.rule = rule.into();
        self
    }
}
