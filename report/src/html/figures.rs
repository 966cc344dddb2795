//! The places where the script draws.

use maud::{Markup, html};

use super::part;
use crate::chart::Chart;

/// The section; empty without charts.
pub fn section(charts: &[Chart]) -> Markup {
    if charts.is_empty() {
        return html! {};
    }
    let content = html! {
        p .lead { "Marks are medians, bars their intervals. Point at or tap a mark for its figures; click a name to hide its series; drag to enlarge, double-click to return." }
        noscript { p .callout { strong { "Charts need JavaScript." } span { "All of their figures are in the tables below." } } }
        div .charts { @for chart in charts { (figure(chart)) } }
    };
    part("charts", "Charts", &content)
}

/// One chart's place, with its title, its legend and its caption.
pub fn figure(chart: &Chart) -> Markup {
    html! {
        figure id={ "figure-" (chart.id) } {
            div .figure-head {
                h3 { (chart.title) }
                button .quiet type="button" data-picture=(chart.id) aria-label={ "Save a picture of the chart: " (chart.title) } { "PNG" }
                @if let Some(sizes) = &chart.sizes {
                    div .switch role="group" aria-label={ "Size axis of the chart: " (chart.title) } {
                        button type="button" data-chart=(chart.id) data-axis="linear" aria-pressed=(!sizes.log) { "linear" }
                        button type="button" data-chart=(chart.id) data-axis="log" aria-pressed=(sizes.log) { "log" }
                    }
                }
            }
            div .key id={ "key-" (chart.id) } role="group" aria-label={ "Series of the chart: " (chart.title) } {}
            div .plot id={ "chart-" (chart.id) } role="img" aria-label=(chart.alt) {}
            figcaption { (chart.caption) }
        }
    }
}
