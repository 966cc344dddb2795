//! What was published, beside the run that repeats it: as text and in the page.

use analysis::result::Analysis;
use analysis::result::published::{Published, PublishedBuffers, PublishedSizes};
use maud::{Markup, html};

use crate::html::{part, scrolling};
use crate::interval::{plus_minus, range};
use crate::number::{self, NOTHING, tight};
use crate::terminal::Page;
use crate::terminal::table::Column;

/// What a reader has to know of the ratios.
const LEGEND: &str =
    "The ratio is today's over the published figure. It says how far the two are apart; what differs between them is everything.";

fn or(value: Option<String>) -> String {
    value.unwrap_or_else(|| NOTHING.to_owned())
}

/// Today's figure over the published one: `1,230x`.
fn ratio(today: Option<f64>, published: Option<f64>) -> Option<String> {
    let ratio = today? / published.filter(|published| *published > 0.0)?;
    Some(format!("{}x", if ratio >= 1_000.0 { number::whole(ratio.round() as u64) } else { number::significant(ratio, 3) }))
}

/// The published figures in a terminal; nothing of a run that repeats no study.
pub fn print(page: &mut Page, analysis: &Analysis) {
    let Some(published) = analysis.published() else { return };
    page.gap();
    page.heading(&format!("Beside it: {}", published.title));
    page.faint(&published.source, 0);
    page.faint(LEGEND, 0);
    published.buffers.iter().for_each(|buffers| print_buffers(page, buffers));
    published.sizes.iter().for_each(|sizes| print_sizes(page, sizes));
    for time in &published.times {
        let today = format!("{} ms {}", number::significant(time.today_ms.value, 3), plus_minus(&time.today_ms));
        page.item(&format!("{}: {} ms published, {today} today.", time.what, number::significant(time.published_ms, 3)));
    }
}

fn print_buffers(page: &mut Page, buffers: &PublishedBuffers) {
    let rows = &buffers.rows;
    let today = rows.iter().map(|row| match &row.today_kbytes_per_s {
        Some(today) => (number::significant(today.value, 3), tight(&plus_minus(today))),
        None => (NOTHING.to_owned(), String::new()),
    });
    page.gap();
    page.plain(&format!("{}, KB/s of 1,024 bytes", buffers.pair), 0, 0);
    page.table(vec![
        Column::figures(9, ["", "packets"], rows.iter().map(|row| number::whole(row.packets)).collect()),
        Column::figures(
            9,
            ["", "published"],
            rows.iter().map(|row| or(row.published_kbytes_per_s.map(|rate| number::significant(rate, 4)))).collect(),
        ),
        Column::measured(9, ["", "today"], today.collect()),
        Column::figures(
            8,
            ["", "ratio"],
            rows.iter().map(|row| or(ratio(row.today_kbytes_per_s.map(|today| today.value), row.published_kbytes_per_s))).collect(),
        ),
    ]);
}

fn print_sizes(page: &mut Page, sizes: &PublishedSizes) {
    let rows = &sizes.rows;
    page.gap();
    page.plain(&format!("{}, messages a second", sizes.series), 0, 0);
    let shown = shown(sizes);
    for (letter, place) in shown.iter().enumerate() {
        page.faint(&format!("{}  {}", key(letter), sizes.published[*place]), 0);
    }
    let rest = sizes.published.len() - shown.len();
    if rest > 0 {
        page.faint(&format!("and {} more in the page, the JSON and the last column", number::whole(rest as u64)), 0);
    }
    let today = rows.iter().map(|row| match &row.today {
        Some(today) => (number::count(today.value), tight(&plus_minus(today))),
        None => (NOTHING.to_owned(), String::new()),
    });
    let mut columns = vec![
        Column::figures(10, ["", "size"], rows.iter().map(|row| number::whole(row.message_bytes)).collect()),
        Column::measured(10, ["", "today"], today.collect()),
    ];
    for (letter, place) in shown.into_iter().enumerate() {
        let figures = rows.iter().map(|row| or(row.published.get(place).copied().flatten().map(|rate| tight(&number::count(rate)))));
        columns.push(Column::figures(9, ["published".to_owned(), key(letter)], figures.collect()));
    }
    columns.push(Column::figures(10, ["today over", "published"], rows.iter().map(span).collect()));
    page.table(columns);
}

/// The published series that a terminal has room for: native sockets where others
/// stand beside them, since those are what was measured today.
fn shown(sizes: &PublishedSizes) -> Vec<usize> {
    const ROOM: usize = 4;
    let native: Vec<usize> =
        sizes.published.iter().enumerate().filter(|(_, name)| name.ends_with(": sockets")).map(|(place, _)| place).collect();
    let all = if native.is_empty() { (0..sizes.published.len()).collect() } else { native };
    all.into_iter().take(ROOM).collect()
}

/// The least and the most of a size's ratios.
fn span(row: &analysis::result::published::PublishedSize) -> String {
    let Some(today) = row.today.map(|today| today.value) else { return NOTHING.to_owned() };
    let known: Vec<f64> = row.published.iter().flatten().copied().filter(|rate| *rate > 0.0).collect();
    let (Some(least), Some(most)) = (known.iter().copied().reduce(f64::min), known.iter().copied().reduce(f64::max)) else {
        return NOTHING.to_owned();
    };
    match (ratio(Some(today), Some(most)), ratio(Some(today), Some(least))) {
        (Some(low), Some(high)) if low != high => format!("{} to {high}", low.trim_end_matches('x')),
        (Some(one), _) => one,
        _ => NOTHING.to_owned(),
    }
}

/// A, B, C, ...
fn key(place: usize) -> String {
    char::from_u32(u32::from('A') + (place % 26) as u32).map_or_else(String::new, String::from)
}

/// The section of the page; empty of a run that repeats no study.
pub fn section(analysis: &Analysis) -> Markup {
    let Some(published) = analysis.published() else { return html! {} };
    let content = html! {
        p .lead { (published.source) ". " (LEGEND) }
        @for buffers in &published.buffers { (buffers_table(buffers)) }
        @for sizes in &published.sizes { (sizes_table(sizes)) }
        @if !published.times.is_empty() { (times_table(published)) }
    };
    part("published", &format!("Beside it: {}", published.title), &content)
}

fn buffers_table(buffers: &PublishedBuffers) -> Markup {
    let title = format!("{}, KB/s of 1,024 bytes", buffers.pair);
    html! {
        h3 { (title) }
        (scrolling(&title, &html! {
            table .narrow {
                thead { tr { th scope="col" { "Packets" } th scope="col" { "Published" } th scope="col" { "Today" } th scope="col" { "Ratio" } } }
                tbody {
                    @for row in &buffers.rows {
                        tr {
                            th scope="row" { (number::whole(row.packets)) }
                            td { (or(row.published_kbytes_per_s.map(|rate| number::significant(rate, 4)))) }
                            td { (or(row.today_kbytes_per_s.as_ref().map(|today| format!("{} ({})", number::significant(today.value, 4), range(today, |value| number::significant(value, 4)))))) }
                            td { (or(ratio(row.today_kbytes_per_s.map(|today| today.value), row.published_kbytes_per_s))) }
                        }
                    }
                }
            }
        }))
    }
}

fn sizes_table(sizes: &PublishedSizes) -> Markup {
    let title = format!("{}, messages a second", sizes.series);
    html! {
        h3 { (title) }
        (scrolling(&title, &html! {
            table {
                thead {
                    tr {
                        th scope="col" { "Size, B" } th scope="col" { "Today" } th scope="col" { "Today over published" }
                        @for name in &sizes.published { th scope="col" { (name) } }
                    }
                }
                tbody {
                    @for row in &sizes.rows {
                        tr {
                            th scope="row" { (number::whole(row.message_bytes)) }
                            td { (or(row.today.as_ref().map(|today| format!("{} {}", number::count(today.value), plus_minus(today))))) }
                            td { (span(row)) }
                            @for rate in &row.published { td { (or(rate.map(number::count))) } }
                        }
                    }
                }
            }
        }))
    }
}

fn times_table(published: &Published) -> Markup {
    html! {
        h3 { "Times without load, ms" }
        (scrolling("Times without load", &html! {
            table .narrow {
                thead { tr { th scope="col" { "What" } th scope="col" { "Published" } th scope="col" { "Today" } } }
                tbody {
                    @for time in &published.times {
                        tr {
                            th scope="row" { (time.what) }
                            td { (number::significant(time.published_ms, 3)) }
                            td { (number::significant(time.today_ms.value, 3)) " " (plus_minus(&time.today_ms)) }
                        }
                    }
                }
            }
        }))
    }
}
