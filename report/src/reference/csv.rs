//! Every size of every series, for whoever wants to go on with it.

use literature::ReferenceAnalysis;

/// A row for each size of each series, what is laid beside included.
pub fn render(analysis: &ReferenceAnalysis) -> String {
    let mut table = csv::Writer::from_writer(Vec::new());
    let header = [
        "source",
        "group",
        "series",
        "message_bytes",
        "messages_per_s",
        "sent_per_s",
        "time_per_message_ns",
        "goodput_bit_per_s",
        "improvement",
        "fitted_ns",
    ];
    // Writing to memory does not fail, and every row has as many fields as the header.
    let _ = table.write_record(header);
    let number = |value: Option<f64>| value.filter(|value| value.is_finite()).map_or(String::new(), |value| value.to_string());
    let beside = analysis.beside.iter().flat_map(|beside| beside.series.iter().map(move |series| (&beside.label, series)));
    for (source, series) in analysis.series.iter().map(|series| (&analysis.name, series)).chain(beside) {
        for size in &series.sizes {
            let _ = table.write_record([
                source.clone(),
                series.group.clone(),
                series.name.clone(),
                size.message_bytes.to_string(),
                number(Some(size.messages_per_s)),
                number(size.sent_per_s),
                number(Some(size.time_per_message_ns)),
                number(Some(size.goodput_bit_per_s)),
                number(size.improvement),
                number(size.fitted_ns),
            ]);
        }
    }
    table.into_inner().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}
