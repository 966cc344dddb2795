//! Tables of a page: their cells, and their form where the screen is narrow.
//!
//! A figure breaks nowhere but before its interval. A table that is then wider than the narrowest screen
//! leaves out the columns behind the answer there, and where that is not enough each row stands as a card,
//! with every figure below its name.

use std::borrow::Cow;

use maud::{Markup, html};

use super::words;
use crate::document::{Cell, Column, Entry, Estimated, Kind, Level, RowKind, Shown, Table, Text};
use crate::number::NOTHING;

/// Room of a table on the narrowest screen (400 pixels), in pixels: on the page, and within a fold.
const NARROW: [f64; 2] = [374.0, 344.0];
/// The same of the widest page, within a fold.
const WIDE: f64 = 1080.0;
/// Letters of either, and of the heads of columns, in pixels.
const LETTERS: [f64; 2] = [12.0, 14.0];
const HEADS: [f64; 2] = [12.5, 14.0];
/// Space around the text of a cell on either, in pixels.
const AROUND: [f64; 2] = [6.0, 20.0];
/// Least width of names of rows on a narrow screen, and the widest on a wide one, in pixels.
const NAMES: [f64; 2] = [78.0, 240.0];
/// Least width of facts of hosts on a narrow screen, in pixels.
const FACT: f64 = 84.0;
/// Columns of a table whose cards are three figures wide.
const MANY: usize = 6;
/// Units that stay with their figure.
const UNITS: [&str; 18] =
    ["%", "ns", "µs", "ms", "s", "min", "h", "k", "M", "G", "T", "B", "KiB", "MiB", "bit/s", "kbit/s", "Mbit/s", "Gbit/s"];

/// Form of a table on a narrow screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// All columns next to each other.
    Whole,
    /// The same without those that stand behind the answer.
    Answer,
    /// Each row a card.
    Cards,
}

/// A text whose figures do not break: units stay with their figure, and the ends of an interval together.
pub fn unbroken(text: &str) -> Markup {
    let text = joined(text);
    let words = text.split(' ').enumerate();
    html! {
        @for (place, word) in words {
            @if place > 0 { " " }
            @if word.contains('–') && word.contains(|letter: char| letter.is_ascii_digit()) { span .whole { (word) } } @else { (word) }
        }
    }
}

/// A text with spaces that do not break between figures and their units, and between a way and its batch.
fn joined(text: &str) -> Cow<'_, str> {
    let mut parts = text.split(' ');
    let mut joined = parts.next().unwrap_or_default().to_owned();
    let mut changed = false;
    for part in parts {
        let unit = part.trim_end_matches([',', '.', ';', ':', ')']);
        let is_batch = part.strip_prefix('×').is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()));
        let keep = is_batch || UNITS.contains(&unit) && joined.ends_with(|letter: char| letter.is_ascii_digit());
        joined.push(if keep { '\u{a0}' } else { ' ' });
        joined.push_str(part);
        changed |= keep;
    }
    if changed { Cow::Owned(joined) } else { Cow::Borrowed(text) }
}

/// Length of the longest part of a text that does not break, in heights of its letters.
fn longest(text: &str) -> f64 {
    joined(text).split([' ', '\n']).map(length).fold(0.0, f64::max)
}

/// Length of a text in heights of its letters: those of a wide face.
fn length(text: &str) -> f64 {
    let one = |letter: char| match letter {
        '.' | ',' | ':' | ';' | '(' | ')' | '|' | '\'' | ' ' | 'i' | 'j' | 'l' | '\u{a0}' => 0.36,
        '%' | 'm' | 'w' | 'M' | 'W' | '±' | '+' | '−' | '>' | '<' => 0.9,
        letter if letter.is_uppercase() => 0.7,
        _ => 0.63,
    };
    text.chars().map(one).sum()
}

/// Length of a cell by a rule for its texts, which stand below each other or break.
fn extent(cell: &Cell, kind: Kind, rule: fn(&str) -> f64) -> f64 {
    match cell {
        Cell::Nothing | Cell::Covered => 1.0,
        Cell::Text(text) | Cell::Hinted(text, _) | Cell::Shaded(text, _) | Cell::Tall(_, text) | Cell::Wide(_, text) => rule(&text.plain()),
        Cell::Estimate(one) => match kind {
            Kind::Estimates(Shown::Value) => rule(&one.value),
            Kind::Estimates(Shown::Ends) => rule(&one.ends),
            Kind::Estimates(Shown::All) => rule(&one.value).max(rule(&one.ends)),
            _ => rule(&format!("{} {}", one.value, one.margin)),
        },
        Cell::Entry(one) => rule(&format!("{} {} {}", one.value, one.margin, one.share)),
        Cell::Stack(lines) => lines.iter().map(|line| rule(line)).fold(0.0, f64::max),
        Cell::Lines(lines) => lines.iter().map(|line| rule(&line.plain())).fold(0.0, f64::max),
    }
}

/// Width of a table of such columns in pixels: on a narrow screen, where texts break, or on a wide one.
fn width<'a>(style: &str, columns: impl Iterator<Item = &'a Column>, narrow: bool) -> f64 {
    let (screen, rule) = if narrow { (0, longest as fn(&str) -> f64) } else { (1, length as fn(&str) -> f64) };
    let has = |word: &str| style.split(' ').any(|one| one == word);
    let one = |(place, column): (usize, &Column)| {
        let cells = column.cells.iter().map(|cell| extent(cell, column.kind, rule)).fold(0.0, f64::max) * LETTERS[screen];
        let cells = match () {
            () if has("host") && narrow => cells.min(FACT),
            () if place > 0 => cells,
            () if !narrow => cells.min(NAMES[1]),
            // Names of functions break anywhere.
            () if has("routines") => NAMES[0],
            () if has("rows") || has("every") => cells.max(NAMES[0]),
            // Names of rows are bold.
            () => cells * 1.1,
        };
        cells.max(longest(&column.head.line) * HEADS[screen]) + AROUND[screen]
    };
    columns.enumerate().map(one).sum()
}

/// Form of a table in this room on a narrow screen.
fn form(table: &Table, style: &str, room: f64) -> Form {
    if table.has_narrow_style {
        return Form::Whole;
    }
    let answer = table.columns.iter().filter(|column| column.level == Level::Answer);
    match () {
        () if width(style, table.columns.iter(), true) <= room => Form::Whole,
        () if table.columns.iter().any(|column| column.level != Level::Answer) && width(style, answer, true) <= room => Form::Answer,
        () => Form::Cards,
    }
}

/// The classes of a column's head and of its cells.
fn classes(column: &Column, form: Form) -> [Option<String>; 2] {
    let behind = if form == Form::Answer && column.level != Level::Answer { "behind" } else { "" };
    let words = if column.kind == Kind::Words { "words" } else { "" };
    let edge = if column.edge { "edge" } else { "" };
    let bad = if column.bad.is_empty() { "" } else { "bad" };
    let joined = |all: &[&str]| {
        let all: Vec<&str> = all.iter().copied().filter(|class| !class.is_empty()).collect();
        (!all.is_empty()).then(|| all.join(" "))
    };
    [joined(&[edge, bad, words, behind]), joined(&[edge, words, behind])]
}

/// The class of the first column, which names the rows.
fn name_class(column: &Column) -> Option<String> {
    (column.kind == Kind::Words).then(|| "words".to_owned())
}

/// Writes a table: with a title in a piece, or with less room in a fold.
pub fn table(table: &Table, caption: &str, in_piece: bool, in_fold: bool) -> Markup {
    let style = match table.style {
        "" if in_piece => "every verdicts",
        style => style,
    };
    let form = form(table, style, NARROW[usize::from(in_fold)]);
    let narrow = match form {
        Form::Whole => "",
        Form::Answer => "answers",
        // Few figures stand two by two.
        Form::Cards if table.columns.len() < MANY => "cards pairs",
        Form::Cards => "cards",
    };
    let wide = if width(style, table.columns.iter(), false) > WIDE { "dense" } else { "" };
    let style = [style, narrow, wide].into_iter().filter(|class| !class.is_empty()).collect::<Vec<_>>().join(" ");
    let whole = [(0, Text::default())];
    let groups = if table.groups.is_empty() { whole.as_slice() } else { table.groups.as_slice() };
    let ends = groups.iter().skip(1).map(|(start, _)| *start).chain([table.rows()]);
    html! {
        table class=[(!style.is_empty()).then_some(style)] {
            @if !caption.is_empty() { caption .hidden { (caption) } }
            thead { tr { @for (place, column) in table.columns.iter().enumerate() {
                @let class = if place == 0 { name_class(column) } else { classes(column, form)[0].clone() };
                th class=[class] scope="col" {
                    (unbroken(&column.head.line)) @if !column.bad.is_empty() { small { (column.bad) } }
                }
            } } }
            @for ((start, name), end) in groups.iter().zip(ends) {
                tbody {
                    @if !name.0.is_empty() { tr .group { th colspan=(table.columns.len()) scope="rowgroup" { (words(name)) } } }
                    @for place in *start..end { (row(table, place, form)) }
                }
            }
        }
    }
}

fn row(table: &Table, row: usize, form: Form) -> Markup {
    let style = match table.row_kinds.get(row).copied().unwrap_or_default() {
        RowKind::Plain => None,
        RowKind::Part => Some("part"),
        RowKind::Sum => Some("sum"),
        RowKind::Differs => Some("differ"),
    };
    let named = |column: &Column| (form == Form::Cards && column.kind != Kind::Words).then(|| column.head.line.clone());
    html! {
        tr class=[style] {
            @for (place, column) in table.columns.iter().enumerate() {
                @let cell = column.cells.get(row).unwrap_or(&Cell::Nothing);
                @let [below, right] = reach(cell);
                @match cell {
                    // A card has no row above it: what covers its cells stands in it again.
                    Cell::Covered => {
                        @match covering(column, row).filter(|_| form == Form::Cards) {
                            Some(name) if place == 0 => th .again scope="row" { (words(name)) },
                            Some(text) => td .again data-name=(column.head.line) { (words(text)) },
                            None => {},
                        }
                    },
                    cell if place == 0 => th class=[name_class(column)] data-name=[named(column)] scope="row" rowspan=[below] { (content(cell, column.kind)) },
                    cell => td class=[&classes(column, form)[1]] data-name=[(form == Form::Cards).then_some(column.head.line.as_str())] colspan=[right] rowspan=[below] title=[hint(cell)] style=[shade(cell)] {
                        (content(cell, column.kind))
                    },
                }
            }
        }
    }
}

/// The text of the cell above that reaches over a covered one.
fn covering(column: &Column, row: usize) -> Option<&Text> {
    let mut above = column.cells.iter().enumerate().take(row).rev();
    above.find_map(|(at, cell)| if let Cell::Tall(rows, text) = cell { Some((at + rows > row).then_some(text)) } else { None })?
}

/// Rows and columns that a cell reaches over, where that is said.
const fn reach(cell: &Cell) -> [Option<usize>; 2] {
    match cell {
        Cell::Tall(rows, _) => [Some(*rows), None],
        Cell::Wide(columns, _) => [None, Some(*columns)],
        _ => [None, None],
    }
}

/// The ground of a shaded cell.
fn shade(cell: &Cell) -> Option<String> {
    let Cell::Shaded(_, share) = cell else { return None };
    let share = share.clamp(0.0, 1.0) * 60.0;
    Some(format!("background:color-mix(in srgb,var(--s1) {share:.0}%,var(--card))"))
}

/// Explanation for a reader who points at a cell.
fn hint(cell: &Cell) -> Option<&str> {
    match cell {
        Cell::Hinted(_, hint) => Some(hint),
        Cell::Entry(Entry { title, .. }) => Some(title.as_str()).filter(|title| !title.is_empty()),
        _ => None,
    }
}

fn content(cell: &Cell, kind: Kind) -> Markup {
    match (cell, kind) {
        (Cell::Nothing, Kind::Estimates(Shown::Margin | Shown::All)) => html! { span .faint { (NOTHING) } },
        (Cell::Nothing, _) => html! { (NOTHING) },
        (Cell::Text(text) | Cell::Hinted(text, _) | Cell::Shaded(text, _) | Cell::Tall(_, text) | Cell::Wide(_, text), _) => words(text),
        (Cell::Estimate(one), Kind::Estimates(shown)) => estimate(one, shown),
        (Cell::Estimate(one), _) => estimate(one, Shown::Margin),
        (Cell::Entry(Entry { value, margin, share, calls, .. }), _) => html! {
            (unbroken(value))
            @if !margin.is_empty() { " " span .margin { (margin) } }
            @if !share.is_empty() { span .share { (share) } }
            @if !calls.is_empty() { small { (calls) } }
        },
        (Cell::Stack(lines), _) => {
            html! { @for (place, line) in lines.iter().enumerate() { @if place == 0 { (unbroken(line)) } @else { small { (unbroken(line)) } } } }
        }
        (Cell::Lines(lines), _) => html! { @for line in lines { div { (words(line)) } } },
        (Cell::Covered, _) => html! {},
    }
}

fn estimate(one: &Estimated, shown: Shown) -> Markup {
    let value = unbroken(&one.value);
    match shown {
        Shown::Value => value,
        Shown::Ends => unbroken(&one.ends),
        Shown::Margin => html! { span title={ (one.ends) ", n = " (one.n) } { (value) " " span .margin { (one.margin) } } },
        Shown::All => html! { (value) small { (unbroken(&one.ends)) } @if one.known { small { "n = " (one.n) } } },
    }
}

#[cfg(test)]
mod tests {
    use super::{Form, NARROW, form, joined, longest, unbroken};
    use crate::document::{Cell, Column, Kind, Level, Table};

    #[test]
    fn figures_break_before_their_interval_alone() {
        assert_eq!(joined("1.63 µs (1.49–1.68), +3 %; 5 blocks"), "1.63\u{a0}µs (1.49–1.68), +3\u{a0}%; 5 blocks");
        assert_eq!(joined("1,024 B, 16 KiB: 3 min"), "1,024\u{a0}B, 16\u{a0}KiB: 3\u{a0}min");
        assert_eq!(joined("gso ×32, wider than × 2"), "gso\u{a0}×32, wider than × 2");
        assert_eq!(joined("a % of k messages"), "a % of k messages");
        assert_eq!(unbroken("1.63 (1.49–1.68)?").into_string(), "1.63 <span class=\"whole\">(1.49–1.68)?</span>");
        assert_eq!(unbroken("a–b <").into_string(), "a–b &lt;");
        assert!(longest("1.63 (1.49–1.68)") < longest("1.63 %, (1.49–1.68)?"));
    }

    /// What covers several rows stands in the card of each.
    #[test]
    fn each_card_has_its_name() {
        let column = |name: &str, kind: Kind, cells: Vec<Cell>| Column { cells, ..Column::new(name, kind) };
        let wide = || column("ends", Kind::Figures, vec!["4.38 (3.11–5.20)".into(), "4.38 (3.11–5.20)".into()]);
        let mut columns = vec![column("of", Kind::Words, vec![Cell::Tall(2, "CPU of the sender".into()), Cell::Covered])];
        columns.extend((0..8).map(|_| wide()));
        columns.push(column("r²", Kind::Figures, vec![Cell::Tall(2, "0.98".into()), Cell::Covered]));
        let text = super::table(&Table::of_columns(columns), "", false, false).into_string();
        assert!(text.contains("class=\"cards"), "{text}");
        assert_eq!(
            (text.matches("CPU of the sender").count(), text.matches("0.98").count(), text.matches("again").count()),
            (2, 2, 2),
            "{text}"
        );
        // Next to each other nothing is said twice.
        let narrow = Table::of_columns(vec![column("of", Kind::Words, vec![Cell::Tall(2, "CPU".into()), Cell::Covered]), wide()]);
        assert_eq!(super::table(&narrow, "", false, false).into_string().matches("CPU").count(), 1);
    }

    #[test]
    fn a_wide_table_is_cards_or_leaves_columns_out() {
        let table = |columns: usize, figure: &str| Table::of_figures("", vec!["size"; columns], vec![vec![figure; columns]]);
        let of = |table: &Table| form(table, "", NARROW[1]);
        assert_eq!(of(&table(5, "4.38")), Form::Whole);
        assert_eq!(of(&table(9, "4.38 (3.11–5.20)")), Form::Cards);
        let mut behind = table(12, "4.38");
        behind.columns[5..].iter_mut().for_each(|column| column.level = Level::Usual);
        assert_eq!(of(&behind), Form::Answer);
    }
}
