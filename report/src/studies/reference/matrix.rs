//! Statements by the tables that they are about, at a glance.

use literature::statement::{Ruling, Statement};

use crate::document::{Cell, Head, Kind, Level, Span, Table, Text};
use crate::number::NOTHING;

/// A matrix of claims and tables; `None` where it would have one column or one row.
pub fn of(statements: &[Statement]) -> Option<Table> {
    let mut tables: Vec<&str> = Vec::new();
    let mut claims: Vec<(&str, Vec<&Statement>)> = Vec::new();
    for one in statements {
        if !tables.contains(&one.about.as_str()) {
            tables.push(&one.about);
        }
        // `above/1` and `above/2` are one claim about two tables.
        let name = one.id.split('/').next().unwrap_or_default();
        match claims.iter_mut().find(|(known, _)| *known == name) {
            Some((_, members)) => members.push(one),
            None => claims.push((name, vec![one])),
        }
    }
    if tables.len() < 2 || claims.len() < 2 {
        return None;
    }
    let heads = std::iter::once("The paper says").chain(tables.iter().copied()).map(Head::from).collect();
    let row = |(_, members): &(&str, Vec<&Statement>)| -> Vec<Cell> {
        let cells = tables.iter().map(|table| cell(members.iter().copied().filter(|one| one.about == *table)));
        let says = members.first().map_or(String::new(), |one| one.says.clone());
        std::iter::once(Cell::from(says)).chain(cells).collect()
    };
    let mut table = Table::of_rows(heads, claims.iter().map(row).collect(), Kind::Words);
    // Claims are sentences: the statements themselves say all of it where a table has no room for them.
    table.columns.iter_mut().for_each(|column| column.level = Level::Everything);
    let key = "✓ confirmed by the table, ≈ consistent with it but no evidence, ✗ not confirmed, ? not decidable; point at a mark for the figures.";
    Some(table.titled(key).labelled("Claims by table", "What the paper claims, by the table that can tell").styled("every claims"))
}

/// The rulings on a claim in one table, each with what was found.
fn cell<'a>(all: impl Iterator<Item = &'a Statement>) -> Cell {
    let all: Vec<&Statement> = all.collect();
    if all.is_empty() {
        return Text::default().and(Span::Faint(NOTHING.to_owned())).into();
    }
    let marks: Vec<&str> = all.iter().map(|one| mark(one.ruling)).collect();
    let found: Vec<String> = all.iter().map(|one| format!("{}: {}", one.ruling.words(), one.found)).collect();
    Cell::Hinted(Text::default().and(Span::Strong(marks.join(" "))), found.join("; "))
}

const fn mark(ruling: Ruling) -> &'static str {
    match ruling {
        Ruling::Confirmed => "✓",
        Ruling::Consistent => "≈",
        Ruling::NotConfirmed => "✗",
        Ruling::NotDecidable => "?",
    }
}

#[cfg(test)]
mod tests {
    use super::of;
    use literature::statement::{Ruling, Statement};

    #[test]
    fn a_claim_has_a_row_and_a_table_a_column() {
        let one = |id: &str, about: &str, holds: bool| Statement::ruled(id, about, "it rises", Ruling::from_rule(holds));
        let all = [one("rises/1", "A", true), one("rises/2", "B", false), one("falls", "A", true)];
        let table = of(&all).expect("a matrix");
        assert_eq!((table.rows(), table.columns.len()), (2, 3));
        assert!(of(&all[..1]).is_none());
    }
}
