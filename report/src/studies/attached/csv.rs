//! The rows of an attached run as CSV.

use analysis::attached::{Attached, State};
use attribution::{Figure, Row};

use crate::sinks::csv::{Field, Sheet};
use crate::studies::receipt::figure::{BILLED, UNSAMPLED};

/// Columns, in order.
const COLUMNS: [&str; 10] = ["format", "run", "program", "arm", "table", "row", "unit", "value", "low", "high"];

/// Version of the table.
const FORMAT: u32 = 1;

/// Every row with its interval; ends with a newline.
pub fn render(attached: &Attached) -> String {
    let mut sheet = Sheet::new(COLUMNS);
    let (run, program) = (attached.run.id.as_str(), attached.run.program.as_str());
    for state in &attached.states {
        for (table, row, unit, figure) in rows(state) {
            let [low, high] = figure.interval.map_or([None, None], |ends| ends.map(Some));
            let texts = [run, program, state.arm.as_deref().unwrap_or_default(), table, &row, unit].map(Field::from);
            let figures = [Field::from(figure.value), Field::from(low), Field::from(high)];
            sheet.row([Field::from(FORMAT)].iter().chain(&texts).chain(&figures));
        }
    }
    sheet.finish()
}

type Line = (&'static str, String, &'static str, Figure);

fn rows(state: &State) -> Vec<Line> {
    fn of<K: std::fmt::Display>(table: &'static str, rows: &[Row<K>]) -> Vec<Line> {
        rows.iter().map(|row| (table, row.key.to_string(), "ns", row.ns)).collect()
    }
    let mut lines = Vec::new();
    lines.extend(state.cpu.map(|cpu| ("request", "cpu".to_owned(), "ns", cpu)));
    if let Some(receipt) = state.receipt() {
        lines.extend(state.work.iter().map(|row| ("work", row.work.to_string(), "ns", row.ns)));
        let own = |name: &Option<String>| name.clone().unwrap_or_else(|| "[others]".to_owned());
        lines.extend(state.own_code.iter().map(|row| ("own code", own(&row.function), "ns", row.ns)));
        lines.extend(of("layer", &receipt.rows.layers));
        lines.extend(of("category", &receipt.rows.categories));
        lines.extend(of("context", &receipt.rows.contexts));
        lines.extend(of("function", &receipt.rows.functions));
        lines.extend(receipt.off_cpu.unsampled.map(|ns| ("request", UNSAMPLED.to_owned(), "ns", ns)));
        lines.extend(receipt.off_cpu.charged.map(|ns| ("request", BILLED.to_owned(), "ns", ns)));
        lines.extend(receipt.closure.sampler.map(|sampler| ("closure", "samples over time on the CPU".to_owned(), "ratio", sampler)));
    }
    lines.extend(
        state.per_request.iter().map(|one| ("counted", one.name.clone(), if one.unit.is_empty() { "count" } else { one.unit }, one.figure)),
    );
    lines.extend(
        state.calls.iter().map(|call| ("call", format!("{} {} {}", call.call, call.protocol, call.way), "count", call.per_request)),
    );
    lines
}
