//! Figures that the texts of the papers state, as they stand in `reference/*/stated.csv`.

use serde::Serialize;

use crate::Study;
use crate::read::ReadError;

/// A figure of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StatedFigure {
    /// The place in the paper.
    pub place: String,
    /// The quantity.
    pub quantity: String,
    /// The figure as it is stated, with its unit.
    pub figure: String,
    /// The conditions under which it is stated.
    pub condition: String,
}

const fn text(study: Study) -> &'static str {
    match study {
        Study::Cabrera1984 => include_str!("../../reference/cabrera1984/stated.csv"),
        Study::Jacobson1988 => include_str!("../../reference/jacobson1988/stated.csv"),
        Study::Kay1993 => include_str!("../../reference/kay1993/stated.csv"),
        Study::Kim1997 => include_str!("../../reference/kim1997/stated.csv"),
        Study::Bidulock2007 => include_str!("../../reference/bidulock2007/stated.csv"),
    }
}

/// Columns that are not conditions.
const FIGURES: [&str; 7] = ["id", "place", "quantity", "value", "low", "high", "unit"];

/// The figures that a paper states.
///
/// # Errors
/// None that a user can meet: the tables are part of the program, and read by its tests.
pub fn figures(study: Study) -> Result<Vec<StatedFigure>, ReadError> {
    let bad = |error: csv::Error| ReadError::NotARow { line: 0, reason: error.to_string() };
    let mut reader = csv::Reader::from_reader(text(study).as_bytes());
    let names: Vec<String> = reader.headers().map_err(bad)?.iter().map(str::to_owned).collect();
    reader.records().map(|row| Ok(figure(&names, &row.map_err(bad)?))).collect()
}

fn figure(names: &[String], row: &csv::StringRecord) -> StatedFigure {
    let cell = |column: &str| names.iter().position(|name| name == column).and_then(|place| row.get(place)).unwrap_or_default();
    let ends = match (cell("value"), cell("low"), cell("high")) {
        ("", low, high) if low == high => low.to_owned(),
        ("", low, "") => format!("more than {low}"),
        ("", "", high) => format!("up to {high}"),
        ("", low, high) => format!("{low} to {high}"),
        (value, ..) => value.to_owned(),
    };
    let conditions = names.iter().zip(row).filter(|(name, cell)| !FIGURES.contains(&name.as_str()) && !cell.is_empty());
    StatedFigure {
        place: cell("place").to_owned(),
        quantity: cell("quantity").to_owned(),
        figure: format!("{ends} {}", cell("unit")),
        condition: conditions.map(|(_, cell)| cell).collect::<Vec<_>>().join(", "),
    }
}
