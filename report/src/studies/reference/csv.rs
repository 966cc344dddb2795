//! Every size of every series as CSV, what is compared with it included.

use literature::ReferenceAnalysis;

use crate::sinks::csv::{CSV_FORMAT, Field, Sheet, unit};

/// Returns one row for each size and metric of each series.
pub fn render(analysis: &ReferenceAnalysis) -> String {
    let mut sheet = Sheet::new(["format", "source", "group", "series", "size", "metric", "unit", "value"]);
    let others = analysis.comparisons.iter().flat_map(|other| other.series.iter().map(move |series| (&other.label, series)));
    for (source, series) in analysis.series.iter().map(|series| (&analysis.name, series)).chain(others) {
        for size in &series.sizes {
            let first: Vec<Field> = vec![
                CSV_FORMAT.into(),
                source.as_str().into(),
                series.group.as_str().into(),
                series.name.as_str().into(),
                size.message_bytes.into(),
            ];
            let figures = [
                ("messages_per_s", Some(size.messages_per_s)),
                ("sent_messages_per_s", size.sent_per_s),
                ("time_per_message_ns", Some(size.time_per_message_ns)),
                ("goodput_bit_per_s", Some(size.goodput_bit_per_s)),
                ("improvement_share", size.improvement),
                ("fitted_ns", size.fitted_ns),
            ];
            for (metric, value) in figures.into_iter().filter_map(|(metric, value)| Some((metric, value?))) {
                sheet.row(first.iter().chain(&[metric.into(), unit(metric).into(), value.into()]));
            }
        }
    }
    sheet.finish()
}
