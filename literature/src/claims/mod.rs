//! Claims of the papers: rows of one table, each with the rule that decides it.
//!
//! ```text
//! reference/claims.csv -> Claim (rule, operands)
//! tables -> Evidence (curves) -> rule -> Statement: ruling, figures, rule
//! ```

pub mod evidence;
pub mod facts;
pub mod operands;
pub mod rules;

use serde::Deserialize;

use crate::Study;
use crate::read::ReadError;
use crate::read::csv::Table;
use crate::statement::{PresentRuling, Ruling, Standing, Statement, TableRuling};
use evidence::Evidence;
use operands::Operands;
use rules::{Kind, Outcome};

const CLAIMS: &str = include_str!("../../../reference/claims.csv");

/// The start of what is said of a claim whose table nettoll lacks; its name follows.
const NOT_CARRIED: &str = "table not carried: ";

/// What stands between the clauses of a rule, all of which have to hold.
const AND: &str = " & ";

/// A row of the table as it is written.
#[derive(Debug, Deserialize)]
struct Row {
    id: String,
    year: u16,
    place: String,
    claim: String,
    stated: String,
    own_table: String,
    then_figures: String,
    today_run: String,
    today_rule: String,
    rule: String,
    operands: String,
    /// The rule of today; empty: the same.
    today_by: String,
    today_operands: String,
}

/// A rule and its operands.
type Clause = (&'static Kind, Operands);

/// A claim of a paper.
#[derive(Debug)]
pub struct Claim {
    row: Row,
    clauses: Vec<Clause>,
    /// Rules on what runs of today measure; empty where none does.
    today: Vec<Clause>,
}

/// All claims, in the order of the table.
///
/// # Errors
/// A row whose rule or operand there is not; the tests read all.
pub fn all() -> Result<Vec<Claim>, ReadError> {
    let mut reader = csv::Reader::from_reader(CLAIMS.as_bytes());
    let rows = reader.deserialize::<Row>().enumerate();
    rows.map(|(place, row)| {
        let line = place as u64 + 2;
        let bad = |reason: String| ReadError::NotARow { line, reason };
        Claim::of_row(row.map_err(|error| bad(error.to_string()))?).map_err(bad)
    })
    .collect()
}

impl Claim {
    fn of_row(row: Row) -> Result<Self, String> {
        let clauses = Self::clauses(&row.id, &row.rule, &row.operands)?;
        let by = if row.today_by.is_empty() { &row.rule } else { &row.today_by };
        let today = match row.today_operands.as_str() {
            "" => Vec::new(),
            "same" => Self::clauses(&row.id, by, &row.operands)?,
            operands => Self::clauses(&row.id, by, operands)?,
        };
        Ok(Self { clauses, today, row })
    }

    fn clauses(id: &str, rules: &str, operands: &str) -> Result<Vec<Clause>, String> {
        let (rules, operands): (Vec<&str>, Vec<&str>) = (rules.split(AND).collect(), operands.split(AND).collect());
        if rules.len() != operands.len() {
            return Err(format!("{id} has {} rules and {} sets of operands", rules.len(), operands.len()));
        }
        let clause = |(rule, operands): (&str, &str)| {
            let kind = Kind::named(rule).ok_or_else(|| format!("{id}: there is no rule '{rule}'"))?;
            let operands = Operands::parse(operands).map_err(|error| format!("{id}: {error}"))?;
            match kind.needs.iter().find(|name| !operands.has(name)) {
                Some(name) => Err(format!("{id}: the rule {rule} needs the operand {name}")),
                None => Ok((kind, operands)),
            }
        };
        rules.into_iter().zip(operands).map(clause).collect()
    }

    /// The paper, by its year.
    pub const fn year(&self) -> u16 {
        self.row.year
    }

    /// The rule in words.
    fn words(clauses: &[Clause]) -> String {
        let all: Vec<String> = clauses.iter().map(|(kind, operands)| kind.words(operands).trim().to_owned()).collect();
        all.join("; ")
    }

    /// All clauses together; `None` where the curves lack what one takes, unless another fails.
    fn outcome(clauses: &[Clause], evidence: &Evidence, given: bool) -> Option<Outcome> {
        let outcomes: Vec<Option<Outcome>> = clauses.iter().map(|(kind, operands)| kind.rule(&operands.of(given), evidence)).collect();
        let known: Vec<&Outcome> = outcomes.iter().flatten().collect();
        let fails = known.iter().any(|one| one.holds == Some(false));
        if known.len() < outcomes.len() && (given || !fails) || known.is_empty() {
            return None;
        }
        let holds = match () {
            () if fails => Some(false),
            () if known.iter().all(|one| one.holds == Some(true)) => Some(true),
            () => None,
        };
        let found = known.iter().map(|one| one.found.as_str()).collect::<Vec<_>>().join("; ");
        Some(Outcome { holds, found, values: known.iter().flat_map(|one| one.values.iter().copied()).collect() })
    }

    /// The claim, ruled by the paper's own tables.
    fn statement(&self, evidence: &Evidence) -> Statement {
        let row = &self.row;
        let outcome = Self::outcome(&self.clauses, evidence, false);
        let lacks = if row.own_table.starts_with(NOT_CARRIED) { Ruling::NeedsTable } else { Ruling::Undecidable };
        let ruling = outcome.as_ref().map_or(lacks, |one| one.holds.map_or(Ruling::Undecidable, Ruling::from_rule));
        let (found, values) = outcome.map_or_else(|| (self.lacks(lacks), Vec::new()), |one| (one.found, one.values));
        Statement {
            id: row.id.clone(),
            year: row.year,
            place: row.place.clone(),
            says: row.claim.clone(),
            stated: row.stated.clone(),
            ruling,
            found,
            values,
            rule: Self::words(&self.clauses),
            given: Vec::new(),
            today: None,
            today_run: row.today_run.clone(),
            today_rule: row.today_rule.clone(),
        }
    }

    /// What is missing, in words.
    fn lacks(&self, ruling: Ruling) -> String {
        let row = &self.row;
        let why = row.own_table.split_once(": ").map_or(row.own_table.as_str(), |(_, why)| why);
        if ruling == Ruling::NeedsTable {
            return format!("nettoll does not carry {why}: give it with --table");
        }
        [why, &row.then_figures].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("; ")
    }

    /// The ruling of a table that a user gave, on the claims that it has the figures for.
    fn given(&self, label: &str, evidence: &Evidence) -> Option<TableRuling> {
        let outcome = Self::outcome(&self.clauses, evidence, true)?;
        let ruling = outcome.holds.map_or(Ruling::Undecidable, Ruling::from_rule);
        Some(TableRuling { label: label.to_owned(), ruling, found: outcome.found, values: outcome.values })
    }
}

impl Claim {
    /// The rule of today in words, where it differs from that of then in more than in the series that it picks.
    fn rule_of_today(&self) -> Option<String> {
        let short = |clauses: &[Clause]| clauses.iter().map(|(kind, operands)| (kind.name, operands.without_labels())).collect::<Vec<_>>();
        let differs = !self.today.is_empty() && !self.is_compared() && short(&self.today) != short(&self.clauses);
        differs.then(|| Self::words(&self.today))
    }

    /// True where the row asks for numbers next to each other: they refute nothing.
    fn is_compared(&self) -> bool {
        !self.today.is_empty() && self.today.iter().all(|(kind, _)| kind.name == rules::NEXT_TO)
    }

    /// The ruling of runs of today.
    fn today(&self, evidence: &Evidence, then: Ruling) -> PresentRuling {
        let rule = self.rule_of_today();
        let Some(outcome) = Self::outcome(&self.today, evidence, false) else {
            let found = match self.row.today_run.as_str() {
                "" | "none" => self.row.today_rule.clone(),
                run if self.today.is_empty() => format!("nettoll has no rule for runs; it would take {run}"),
                run => format!("it takes {run}"),
            };
            return PresentRuling { standing: Standing::NotTestable, found, values: Vec::new(), rule };
        };
        let reversed = || self.today.iter().all(|(kind, operands)| kind.name == "between" && operands.is_reversed(evidence));
        let standing = match outcome.holds {
            _ if self.is_compared() => Standing::Compared,
            Some(true) => Standing::Holds,
            Some(false) if reversed() => Standing::OtherWayRound,
            Some(false) if then == Ruling::Holds => Standing::NoLonger,
            Some(false) => Standing::DoesNotHold,
            None => Standing::NotShown,
        };
        PresentRuling { standing, found: outcome.found, values: outcome.values, rule }
    }
}

/// Rules on runs of today, by the same rows.
///
/// # Errors
/// A row that is none; the tests read all.
pub fn rule_today(study: Study, evidence: &Evidence, statements: &mut [Statement]) -> Result<(), ReadError> {
    for claim in all()?.iter().filter(|claim| claim.year() == study.year()) {
        if let Some(statement) = statements.iter_mut().find(|statement| statement.id == claim.row.id) {
            statement.today = Some(claim.today(evidence, statement.ruling));
        }
    }
    Ok(())
}

/// The curves of a paper's own tables.
///
/// # Errors
/// A table that is none; the tests read all.
pub fn evidence(study: Study, tables: &[Table]) -> Result<Evidence, ReadError> {
    let mut evidence = Evidence::default();
    match study {
        Study::Jacobson1988 => facts::frames(&mut evidence),
        Study::Kim1997 => facts::stated_1997(&mut evidence)?,
        _ => {}
    }
    tables.iter().for_each(|table| facts::add(&mut evidence, table, false));
    Ok(evidence)
}

/// All claims of a paper, ruled by these tables of its own.
///
/// # Errors
/// A row that is none; the tests read all.
pub fn statements(study: Study, tables: &[Table]) -> Result<Vec<Statement>, ReadError> {
    let evidence = evidence(study, tables)?;
    Ok(all()?.iter().filter(|claim| claim.year() == study.year()).map(|claim| claim.statement(&evidence)).collect())
}

/// Rules on a table that a user gave, by the same rows.
///
/// # Errors
/// A row that is none; the tests read all.
pub fn rule_given(study: Study, own: &[Table], label: &str, table: &Table, statements: &mut [Statement]) -> Result<(), ReadError> {
    let mut evidence = evidence(study, own)?;
    facts::add(&mut evidence, table, true);
    for claim in all()?.iter().filter(|claim| claim.year() == study.year()) {
        let statement = statements.iter_mut().find(|statement| statement.id == claim.row.id);
        if let (Some(statement), Some(given)) = (statement, claim.given(label, &evidence)) {
            if statement.ruling == Ruling::NeedsTable {
                statement.ruling = given.ruling;
                statement.found = format!("{}: {}", given.label, given.found);
                statement.values.clone_from(&given.values);
            }
            statement.given.push(given);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
