//! Stacked bars: what a message costs at each size, by what it is spent on.

use analysis::group_by;
use analysis::result::receipt::{Column, ReceiptStudy, RowAtSize, SeriesReceipt, SizeTable};
use attribution::{Category, Layer};
use model::Role;

use super::figure;
use crate::document::figure::{Figure, Panel, Trace};
use crate::number;

const NS: f64 = 1e-9;

/// Returns a chart by kind of work and one by layer for each series, both ends below
/// each other. A series of one size has none: its tables say as much.
pub fn all(study: &ReceiptStudy) -> Vec<Figure> {
    let drawn = study.series.iter().filter(|series| series.columns.len() > 1);
    let mut charts = Vec::new();
    for (name, ends) in group_by(drawn, |series| series.series.as_str()) {
        let place = charts.len();
        let work = format!("Kinds of work of {name}");
        charts.push(stacks(format!("work-{place}"), work, &ends, |series| &series.categories, Category::ALL));
        charts.push(stacks(format!("layer-{place}"), format!("Layers of {name}"), &ends, |series| &series.layers, Layer::ALL));
    }
    charts
}

fn stacks<K: Copy + PartialEq + std::fmt::Display>(
    id: String,
    title: String,
    ends: &[&SeriesReceipt],
    of: fn(&SeriesReceipt) -> &SizeTable<K>,
    all: &[K],
) -> Figure {
    let mut panels = Vec::new();
    let mut traces: Vec<Trace> = Vec::new();
    for (panel, series) in ends.iter().enumerate() {
        let title = if series.role == Role::Sender { "sender CPU" } else { "receiver CPU" };
        panels.push(Panel { share: 1.0 / ends.len() as f64, ..Panel::of(title, "s") });
        for (place, key) in all.iter().enumerate() {
            if let Some(mut trace) = stack(series, of(series), *key, place, panel) {
                trace.legend = !traces.iter().any(|known| known.series == place);
                traces.push(trace);
            }
        }
    }
    Figure {
        id: id.into(),
        title: title.clone().into(),
        caption:
            "CPU time per message, stacked; what no sample shows and what is billed before the end ran are left out. The tables have each figure with its interval."
                .into(),
        alt: format!("{title}: CPU time per message against message size, stacked. The figures are in the tables below."),
        sizes: None,
        panels,
        traces,
    }
}

fn stack<K: PartialEq + std::fmt::Display>(
    series: &SeriesReceipt,
    table: &SizeTable<K>,
    key: K,
    place: usize,
    panel: usize,
) -> Option<Trace> {
    let row = table.rows.iter().find(|row| row.key == key)?;
    let name = key.to_string();
    let mut trace = Trace { stacked: true, ..Trace::named(&name, place, panel) };
    let of_size = |(cell, column): (&RowAtSize, &Column)| {
        trace.y.push(Some(cell.ns.value * NS).filter(|height| height.is_finite()));
        trace.hover.push(format!(
            "{} B\n{} ({})\n{} ns",
            number::whole(column.size.get()),
            number::time(cell.ns.value),
            figure::share(cell.share),
            figure::time_range(&cell.ns, figure::ns),
        ));
        format!("{} B", number::whole(column.size.get()))
    };
    let x = row.cells.iter().zip(&series.columns).map(of_size).collect();
    Some(Trace { x, ..trace })
}
