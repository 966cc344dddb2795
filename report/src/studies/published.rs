//! Published figures next to those of the run that repeats them.

use analysis::result::published::{Published, PublishedBuffers, PublishedSizes};
use analysis::result::{Analysis, Estimate};

use crate::document::{Block, Cell, Head, Kind, Link, Rows, Section, Shown};
use crate::interval::{plus_minus, range};
use crate::number::{self, NOTHING, tight};

/// Explanation of the ratios.
const LEGEND: &str =
    "The ratio is today's over the published figure. It says how far the two are apart; what differs between them is everything.";

/// The published figures; `None` of a run that repeats no study.
pub fn section(analysis: &Analysis) -> Option<Section> {
    let published = analysis.published()?;
    let lead = |text: &str| Block::Lead(text.into());
    let mut blocks = vec![
        Block::Page(vec![lead(&format!("{}. {LEGEND}", published.source))]),
        Block::Terminal(vec![lead(&published.source), lead(LEGEND)]),
    ];
    blocks.extend(published.buffers.iter().map(buffers));
    blocks.extend(published.sizes.iter().flat_map(sizes));
    if !published.times.is_empty() {
        blocks.extend(times(published));
    }
    let section = Section::new("published", format!("Next to it: {}", published.title), blocks);
    Some(Section { link: Link::Short("Published", None), headed: true, ..section })
}

/// Today's figure over the published one: `1,230x`.
fn ratio(today: Option<f64>, published: Option<f64>) -> Option<String> {
    let ratio = today? / published.filter(|published| *published > 0.0)?;
    Some(format!("{}x", if ratio >= 1_000.0 { number::whole(ratio.round() as u64) } else { number::significant(ratio, 3) }))
}

fn buffers(buffers: &PublishedBuffers) -> Block {
    let exact = |value| number::significant(value, 4);
    let in_full = |today: &Estimate| format!("{} ({})", exact(today.value), range(today, exact));
    Rows::of(&buffers.rows)
        .figures(("Packets", 9, ["", "packets"]), |row| number::whole(row.packets))
        .figures(("Published", 9, ["", "published"]), |row| row.published_kbytes_per_s.map(exact))
        .figures(Head::page("Today"), |row| row.today_kbytes_per_s.as_ref().map(in_full))
        .column(Head::terminal(9, ["", "today"]), Kind::Estimates(Shown::Margin, Shown::Margin), |row| {
            Cell::estimate(row.today_kbytes_per_s.as_ref(), |value| number::significant(value, 3))
        })
        .figures(("Ratio", 8, ["", "ratio"]), |row| ratio(row.today_kbytes_per_s.map(|today| today.value), row.published_kbytes_per_s))
        .table()
        .titled(format!("{}, KB/s of 1,024 bytes", buffers.pair))
        .styled("narrow")
        .into()
}

fn sizes(sizes: &PublishedSizes) -> Vec<Block> {
    let title = format!("{}, messages a second", sizes.series);
    let shown = shown(sizes);
    let rest = sizes.published.len() - shown.len();
    let mut above = vec![Block::Gap, Block::Paragraph(title.as_str().into())];
    above.extend(
        shown.iter().enumerate().map(|(letter, place)| Block::Aside(format!("{}  {}", key(letter), sizes.published[*place]).into())),
    );
    if rest > 0 {
        above.push(Block::Aside(format!("and {} more in the page, the JSON and the last column", number::whole(rest as u64)).into()));
    }
    let mut rows = Rows::of(&sizes.rows)
        .figures(("Size, B", 10, ["", "size"]), |row| number::whole(row.message_bytes))
        .column(("Today", 10, ["", "today"]), Kind::Estimates(Shown::Joined, Shown::Margin), |row| {
            Cell::estimate(row.today.as_ref(), number::count)
        })
        .figures(Head::page("Today over published"), span);
    for (place, name) in sizes.published.iter().enumerate() {
        rows = rows.figures(Head::page(name), |row| row.published.get(place).copied().flatten().map(number::count));
    }
    for (letter, place) in shown.into_iter().enumerate() {
        rows = rows.figures(Head::terminal(9, ["published".to_owned(), key(letter)]), |row| {
            row.published.get(place).copied().flatten().map(|rate| tight(&number::count(rate)))
        });
    }
    let table = rows.figures(Head::terminal(10, ["today over", "published"]), span).table().labelled(&title, "");
    vec![Block::Page(vec![Block::Heading(title.into())]), Block::Terminal(above), table.into()]
}

/// The published series that a terminal has room for: native sockets where others
/// are published too, since those are what was measured today.
fn shown(sizes: &PublishedSizes) -> Vec<usize> {
    const ROOM: usize = 4;
    let all = if sizes.native.is_empty() { (0..sizes.published.len()).collect() } else { sizes.native.clone() };
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

fn times(published: &Published) -> [Block; 2] {
    let ms = |value| number::significant(value, 3);
    let sentences = published.times.iter().map(|time| {
        let today = format!("{} ms {}", ms(time.today_ms.value), plus_minus(&time.today_ms));
        format!("{}: {} ms published, {today} today.", time.what, ms(time.published_ms))
    });
    let table = Rows::of(&published.times)
        .words("What", |time| time.what.as_str())
        .figures("Published", |time| ms(time.published_ms))
        .column("Today", Kind::Estimates(Shown::Joined, Shown::Margin), |time| Cell::estimate(Some(&time.today_ms), ms))
        .table()
        .labelled("Times without load", "")
        .styled("narrow");
    let heading = Block::Heading("Times without load, ms".into());
    [Block::Page(vec![heading, table.into()]), Block::Terminal(Block::sentences(sentences).into_iter().collect())]
}
