//! One page that holds everything, as a run's report does.

use analysis::workload::{SeriesResult, WorkloadResult, WorkloadStudy};
use maud::{Markup, html};

use super::{From, words};
use crate::html::{data, document, part, scrolling};

/// The whole page. `tool` is the version that writes it.
pub fn render(study: &WorkloadStudy, runs: From, tool: &str) -> String {
    let content = html! {
        header { h1 { (words::title(study)) } p { (words::origin(study, runs)) } }
        main {
            (part("summary", "How to read it", &html! { p { (words::LEGEND) } }))
            @for (place, result) in study.workloads.iter().enumerate() { (workload(place, result)) }
        }
    };
    let footer = html! { "Written by nettoll " (tool) "." };
    let no_charts = Vec::<()>::new();
    document(words::title(study), &content, &footer, &html! { (data("chart-data", &no_charts)) (data("analysis", study)) })
}

fn workload(place: usize, result: &WorkloadResult) -> Markup {
    let content = html! {
        @if result.series.is_empty() { p { "No series of this run can send it." } }
        @for series in &result.series { (one(series)) }
    };
    part(&format!("workload-{place}"), &words::workload(result), &content)
}

fn one(series: &SeriesResult) -> Markup {
    let table = html! {
        table {
            thead { tr { th scope="col" { "Figure" } @for head in ["Foretold", "From", "Measured", "Ratio", "Interval"] { th scope="col" { (head) } } } }
            tbody {
                @for row in &series.figures {
                    @let (foretold, measured) = (words::estimate(row.quantity, Some(&row.predicted)), words::estimate(row.quantity, row.measured.as_ref()));
                    @let (ratio, range) = words::ratio(row);
                    tr {
                        th scope="row" { (words::quantity(row.quantity)) }
                        td .number { (foretold.0) " " (foretold.1) }
                        td { (words::source(row.source)) }
                        td .number { (measured.0) " " (measured.1) }
                        td .number { (ratio) }
                        td .number { (range) }
                    }
                }
            }
        }
    };
    html! {
        h3 { (series.series) }
        (scrolling(&series.series, &table))
        ul { @for note in words::notes(series) { li { (note) } } }
    }
}
