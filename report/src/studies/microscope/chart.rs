//! Charts over kernels: instructions of a message by layer, stacked.

use attribution::Layer;
use attribution::exact::{Measured, Region};

use super::words::{by_scenario, standing};
use crate::document::figure::{Figure, Panel, Trace};
use crate::number::{percent, whole};

/// A chart for each scenario, of the message that stands for it. One kernel has none.
pub fn of(measured: &[Measured]) -> Vec<Figure> {
    let Some(first) = measured.first().filter(|_| measured.len() > 1) else { return Vec::new() };
    let regions = by_scenario(first).into_iter().filter_map(|(_, regions)| standing(&regions));
    regions.map(|region| layers(&region.name, measured)).collect()
}

fn layers(name: &str, measured: &[Measured]) -> Figure {
    let found: Vec<(&str, Option<&Region>)> = measured.iter().map(|one| (one.provenance.kernel.as_str(), one.region(name))).collect();
    let title = format!("{name}: layers by kernel");
    Figure {
        id: format!("kernels-{name}").into(),
        title: title.clone().into(),
        caption: "Instructions of one message, stacked by layer, on each kernel. They are counted: there is no interval.".into(),
        alt: format!("{title}: instructions of one message, stacked. The figures are in the table below."),
        sizes: None,
        panels: vec![Panel::of("instructions per message", "")],
        traces: Layer::ALL.iter().enumerate().filter_map(|(place, layer)| trace(*layer, place, &found)).collect(),
    }
}

fn trace(layer: Layer, place: usize, found: &[(&str, Option<&Region>)]) -> Option<Trace> {
    let name = layer.to_string();
    let point = |(kernel, region): &(&str, Option<&Region>)| {
        let count = region.map(|region| region.rows.layer(layer).instructions);
        let share = region.map_or(0.0, |region| count.unwrap_or(0) as f64 / region.total.instructions.max(1) as f64);
        let words = format!("{} instructions ({})", whole(count.unwrap_or(0)), percent(share));
        ((*kernel).to_owned(), count.map_or(f64::NAN, |count| count as f64), (*kernel).to_owned(), words)
    };
    let seen = found.iter().filter_map(|(_, region)| *region).any(|region| region.rows.layer(layer).instructions > 0);
    seen.then(|| Trace { stacked: true, ..Trace::points(&name, place, found.iter().map(point)) })
}
