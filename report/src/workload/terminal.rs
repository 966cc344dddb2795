//! Text of 80 columns.

use analysis::workload::{SeriesResult, WorkloadStudy};

use super::{From, words};
use crate::terminal::table::Column;
use crate::terminal::{Page, Style};

/// The comparison as text.
pub fn render(study: &WorkloadStudy, runs: From, style: Style) -> String {
    let mut page = Page::new(style);
    page.heading(words::title(study));
    page.plain(&words::origin(study, runs), 0, 0);
    page.faint(words::LEGEND, 0);
    for result in &study.workloads {
        page.gap();
        page.heading(&words::workload(result));
        if result.series.is_empty() {
            page.plain("No series of this run can send it.", 0, 0);
        }
        for series in &result.series {
            page.gap();
            one(&mut page, series);
        }
    }
    page.finish()
}

fn one(page: &mut Page, series: &SeriesResult) {
    let rows = &series.figures;
    let ratios = || rows.iter().map(words::ratio);
    page.table(vec![
        Column::words(9, [series.series.as_str(), ""], rows.iter().map(|row| words::quantity(row.quantity).to_owned()).collect()),
        Column::measured(8, ["", "foretold"], rows.iter().map(|row| words::estimate(row.quantity, Some(&row.predicted))).collect()),
        Column::words(1, ["", "from"], rows.iter().map(|row| words::source(row.source).to_owned()).collect()),
        Column::measured(8, ["", "measured"], rows.iter().map(|row| words::estimate(row.quantity, row.measured.as_ref())).collect()),
        Column::figures(8, ["", "ratio"], ratios().map(|(value, _)| value).collect()),
        Column::words(7, ["", ""], ratios().map(|(_, range)| range).collect()),
    ]);
    words::notes(series).iter().for_each(|note| page.item(note));
}
