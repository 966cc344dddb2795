//! The rows of an attached run as CSV.

use analysis::attached::{Attached, State};
use attribution::{Figure, Row};

/// Columns, in order.
const COLUMNS: [&str; 10] = ["format", "run", "program", "arm", "table", "row", "unit", "value", "low", "high"];

/// Version of the table.
const FORMAT: &str = "1";

/// Every row with its interval; ends with a newline.
pub fn render(attached: &Attached) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing to memory cannot fail.
    let _ = writer.write_record(COLUMNS);
    for state in &attached.states {
        for (table, row, unit, figure) in rows(state) {
            let ends = figure.interval.map(|ends| ends.map(|end| end.to_string())).unwrap_or_default();
            let [low, high] = ends;
            let arm = state.arm.clone().unwrap_or_default();
            let run = &attached.run;
            let cells = [
                FORMAT.to_owned(),
                run.id.clone(),
                plain(&run.program),
                arm,
                table.to_owned(),
                plain(&row),
                unit.to_owned(),
                figure.value.to_string(),
                low,
                high,
            ];
            let _ = writer.write_record(cells);
        }
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

/// Text that a spreadsheet would take for a formula stands behind an apostrophe.
fn plain(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text.to_owned() }
}

type Line = (&'static str, String, &'static str, Figure);

fn rows(state: &State) -> Vec<Line> {
    fn of<K: std::fmt::Display>(table: &'static str, rows: &[Row<K>]) -> Vec<Line> {
        rows.iter().map(|row| (table, row.key.to_string(), "ns", row.ns)).collect()
    }
    let mut lines = Vec::new();
    if let Some(receipt) = state.receipt() {
        lines.push(("request", "cpu".to_owned(), "ns", receipt.cpu));
        lines.extend(state.work.iter().map(|row| ("work", row.work.to_string(), "ns", row.ns)));
        let own = |name: &Option<String>| name.clone().unwrap_or_else(|| "[others]".to_owned());
        lines.extend(state.own_code.iter().map(|row| ("own code", own(&row.function), "ns", row.ns)));
        lines.extend(of("layer", &receipt.rows.layers));
        lines.extend(of("category", &receipt.rows.categories));
        lines.extend(of("context", &receipt.rows.contexts));
        lines.extend(of("function", &receipt.rows.functions));
        lines.push(("request", "not sampled".to_owned(), "ns", receipt.unseen.not_sampled));
        lines.push(("closure", "samples over time on the CPU".to_owned(), "ratio", receipt.closure.sampler));
    }
    lines.extend(
        state.per_request.iter().map(|one| ("counted", one.name.clone(), if one.unit.is_empty() { "count" } else { one.unit }, one.figure)),
    );
    lines.extend(
        state.calls.iter().map(|call| ("call", format!("{} {} {}", call.call, call.protocol, call.way), "count", call.per_request)),
    );
    lines
}
