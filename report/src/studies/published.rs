//! Published figures next to those of the run that repeats them.

use analysis::result::Analysis;
use analysis::result::published::{Published, PublishedBuffers, PublishedSizes};

use crate::document::{Block, Cell, Kind, Rows, Section, Shown};
use crate::number::{self, NOTHING};

/// Explanation of the ratios.
const LEGEND: &str =
    "The ratio is today's over the published figure. It says how far the two are apart; what differs between them is everything.";

/// The published figures; `None` of a run that repeats no study.
pub fn section(analysis: &Analysis) -> Option<Section> {
    let published = analysis.published()?;
    let mut blocks = vec![Block::Lead(format!("{}. {LEGEND}", published.source).into())];
    blocks.extend(published.buffers.iter().map(buffers));
    blocks.extend(published.sizes.iter().flat_map(sizes));
    blocks.extend((!published.times.is_empty()).then(|| times(published)));
    Some(
        Section::new("published", format!("Next to it: {}", published.title), blocks)
            .led("Published")
            .folded(format!("Today next to the figures of {}", published.title)),
    )
}

/// Today's figure over the published one: `1,230x`.
fn ratio(today: Option<f64>, published: Option<f64>) -> Option<String> {
    let ratio = today? / published.filter(|published| *published > 0.0)?;
    Some(format!("{}x", if ratio >= 1_000.0 { number::whole(ratio.round() as u64) } else { number::significant(ratio, 3) }))
}

fn buffers(buffers: &PublishedBuffers) -> Block {
    let exact = |value| number::significant(value, 4);
    Rows::of(&buffers.rows)
        .figures(("Packets", 9, ["", "packets"]), |row| number::whole(row.packets))
        .figures(("Published", 9, ["", "published"]), |row| row.published_kbytes_per_s.map(exact))
        .column(("Today", 9, ["", "today"]), Kind::Estimates(Shown::Margin), |row| Cell::estimate(row.today_kbytes_per_s.as_ref(), exact))
        .figures(("Ratio", 8, ["", "ratio"]), |row| ratio(row.today_kbytes_per_s.map(|today| today.value), row.published_kbytes_per_s))
        .table()
        .titled(format!("{}, KB/s of 1,024 bytes", buffers.pair))
        .styled("narrow")
        .into()
}

fn sizes(sizes: &PublishedSizes) -> [Block; 2] {
    let title = format!("{}, messages a second", sizes.series);
    let native = native(sizes);
    let key = |(place, name): (usize, &String)| format!("{}  {name}", key(place));
    let keys: Vec<String> = sizes.published.iter().enumerate().map(key).collect();
    let mut rows = Rows::of(&sizes.rows)
        .figures(("Size, B", 20, ["", "size"]), |row| number::whole(row.message_bytes))
        .column(("Today", 20, ["", "today"]), Kind::Estimates(Shown::Margin), |row| Cell::estimate(row.today.as_ref(), number::count))
        .figures(("Today over published", 20, ["today over", "published"]), span);
    for (place, name) in sizes.published.iter().enumerate() {
        // Native sockets are what was measured today: others go before them.
        let rank = if native.contains(&place) { 9 } else { 5 };
        rows = rows.tight(true).figures((name.as_str(), rank, ["published".to_owned(), self::key(place)]), |row| {
            row.published.get(place).copied().flatten().map(number::count)
        });
    }
    [rows.table().titled(title).into(), Block::Aside(keys.join("; ").into())]
}

/// The published series of native sockets; all where there are none.
fn native(sizes: &PublishedSizes) -> Vec<usize> {
    if sizes.native.is_empty() { (0..sizes.published.len()).collect() } else { sizes.native.clone() }
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

fn times(published: &Published) -> Block {
    let ms = |value| number::significant(value, 3);
    Rows::of(&published.times)
        .words(("What", 20, ["", "ms, without load"]), |time| time.what.as_str())
        .figures(("Published", 9, ["", "published"]), |time| ms(time.published_ms))
        .column(("Today", 9, ["", "today"]), Kind::Estimates(Shown::Margin), |time| Cell::estimate(Some(&time.today_ms), ms))
        .table()
        .titled("Times without load, ms")
        .styled("narrow")
        .into()
}
