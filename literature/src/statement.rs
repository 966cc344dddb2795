//! Claims of a paper, ruled by tables.

use serde::Serialize;

/// The ruling of a table on a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    /// The table shows it, by the rule.
    Holds,
    /// The table shows something else.
    DoesNotHold,
    /// The paper published no figures that decide it.
    Undecidable,
    /// The paper published a table that decides it, and nettoll does not carry it.
    NeedsTable,
}

impl Ruling {
    /// All, in the order in which they are counted.
    pub const ALL: [Self; 4] = [Self::Holds, Self::DoesNotHold, Self::Undecidable, Self::NeedsTable];

    /// Holds or does not.
    pub const fn from_rule(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::DoesNotHold }
    }

    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::DoesNotHold => "does not hold",
            Self::Undecidable => "cannot be decided",
            Self::NeedsTable => "needs a table",
        }
    }
}

/// A claim of a paper, with its ruling.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Statement {
    /// Its name in the table of claims: `c84-01`.
    pub id: String,
    /// The year of the paper.
    pub year: u16,
    /// Its place in the paper.
    pub place: String,
    /// The claim in our words.
    pub says: String,
    /// The figures that the paper states.
    pub stated: String,
    /// The ruling of the paper's tables.
    pub ruling: Ruling,
    /// The figures that decide, or what is missing.
    pub found: String,
    /// The same as numbers, in the order in which `found` has them.
    pub values: Vec<f64>,
    /// The rule by which it holds.
    pub rule: String,
    /// Rulings of tables that a user gave, by the same rule.
    pub given: Vec<TableRuling>,
    /// The ruling of runs of today, by the same rule; `None` where none is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub today: Option<PresentRuling>,
    /// The run that decides it today.
    pub today_run: String,
    /// How it is decided today.
    pub today_rule: String,
}

/// The ruling of runs of today on a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// The whole interval shows it.
    Holds,
    /// The whole interval shows that it does not, and the paper's own table bears it out.
    NoLonger,
    /// The other side of what is compared is the larger one, shown with the whole interval.
    OtherWayRound,
    /// The whole interval shows that it does not hold, as in the paper's table or where that is silent.
    DoesNotHold,
    /// The row asks for today's number next to the paper's: neither refutes the other.
    Compared,
    /// The intervals are too wide, or there are none.
    NotShown,
    /// The runs do not measure it, or no run can.
    NotTestable,
}

impl Standing {
    /// All, in the order in which they are counted.
    pub const ALL: [Self; 7] =
        [Self::Holds, Self::NoLonger, Self::OtherWayRound, Self::DoesNotHold, Self::Compared, Self::NotShown, Self::NotTestable];

    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::NoLonger => "no longer",
            Self::OtherWayRound => "the other way round",
            Self::DoesNotHold => "does not hold",
            Self::Compared => "compared",
            Self::NotShown => "not shown",
            Self::NotTestable => "not testable here",
        }
    }
}

/// A ruling of today.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PresentRuling {
    /// The ruling.
    pub standing: Standing,
    /// The figures that decide, with intervals; or what it takes.
    pub found: String,
    /// The same as numbers.
    pub values: Vec<f64>,
    /// The rule, where it is not that of then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

/// The ruling of a table that a user gave.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TableRuling {
    /// The table.
    pub label: String,
    /// The ruling.
    pub ruling: Ruling,
    /// The figures that decide.
    pub found: String,
    /// The same as numbers.
    pub values: Vec<f64>,
}

/// Numbers of statements by ruling, of all four.
pub fn counts(statements: &[Statement]) -> [(Ruling, usize); 4] {
    Ruling::ALL.map(|ruling| (ruling, statements.iter().filter(|one| one.ruling == ruling).count()))
}
