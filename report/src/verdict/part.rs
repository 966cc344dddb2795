//! What a comparison says, before it is known where: a heading, sentences, tables.

use maud::{Markup, html};

use crate::html::{data, document, scrolling};
use crate::number::NOTHING;
use crate::terminal::Page;
use crate::terminal::table::Column;

/// One comparison, or a piece of one.
#[derive(Debug, Default)]
pub struct Part {
    /// What is compared.
    pub heading: String,
    /// What follows, in a sentence, and how it is to be taken.
    pub conclusion: Option<(Tone, String)>,
    /// What has to be known before believing it.
    pub warnings: Vec<String>,
    /// The tables.
    pub tables: Vec<Table>,
    /// Tables for who wants every figure: a page folds them away, a terminal
    /// leaves them out.
    pub more: Vec<Table>,
    /// What else there is to say.
    pub notes: Vec<String>,
}

/// How a conclusion is to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Well.
    Good,
    /// Nothing follows.
    Open,
    /// Badly.
    Bad,
}

/// A table; the first column holds words.
#[derive(Debug)]
pub struct Table {
    /// What it is of.
    pub title: String,
    /// Names of the columns.
    pub heads: Vec<String>,
    /// Its rows.
    pub rows: Vec<Vec<String>>,
    /// How many columns, from the last, hold words as well.
    pub words: usize,
}

impl Table {
    /// A table whose first column alone holds words.
    pub fn of_figures(title: impl Into<String>, heads: Vec<String>, rows: Vec<Vec<String>>) -> Self {
        Self { title: title.into(), heads, rows, words: 0 }
    }

    /// Names of columns.
    pub fn heads<const N: usize>(names: [&str; N]) -> Vec<String> {
        names.map(str::to_owned).into()
    }
}

/// In a terminal. Columns that do not fit are left out, those before the last first.
pub fn terminal(page: &mut Page, part: &Part) {
    page.gap();
    page.heading(&part.heading);
    if let Some((tone, text)) = &part.conclusion {
        match tone {
            Tone::Bad => page.warning(text),
            Tone::Good | Tone::Open => page.plain(text, 0, 0),
        }
    }
    for warning in &part.warnings {
        page.warning(&format!("- {warning}"));
    }
    for table in &part.tables {
        page.gap();
        page.plain(&table.title, 0, 0);
        page.table(columns(table));
    }
    for note in &part.notes {
        page.item(note);
    }
}

fn columns(table: &Table) -> Vec<Column> {
    let last = table.heads.len();
    let column = |(place, head): (usize, &String)| {
        let cells: Vec<String> = table.rows.iter().map(|row| row.get(place).cloned().unwrap_or_else(|| NOTHING.to_owned())).collect();
        let is_words = place == 0 || place + table.words >= last;
        // The name and the verdict stay; of the rest the later ones go first.
        let keep = if is_words { 20 } else { 19 - place.min(18) as u8 };
        if is_words { Column::words(keep, ["", head.as_str()], cells) } else { Column::figures(keep, ["", head.as_str()], cells) }
    };
    table.heads.iter().enumerate().map(column).collect()
}

/// As Markdown.
pub fn markdown(parts: &[Part]) -> String {
    let mut text = String::new();
    for part in parts {
        text += &format!("## {}\n\n", escaped(&part.heading));
        if let Some((tone, sentence)) = &part.conclusion {
            let sentence = escaped(sentence);
            text += &if *tone == Tone::Good { format!("{sentence}\n\n") } else { format!("**{sentence}**\n\n") };
        }
        for warning in &part.warnings {
            text += &format!("> {}\n", escaped(warning));
        }
        if !part.warnings.is_empty() {
            text.push('\n');
        }
        for table in &part.tables {
            text += &format!("{}\n\n{}\n", escaped(&table.title), rows(table));
        }
        for note in &part.notes {
            text += &format!("- {}\n", escaped(note));
        }
        if !part.notes.is_empty() {
            text.push('\n');
        }
    }
    text
}

fn rows(table: &Table) -> String {
    let line = |cells: &mut dyn Iterator<Item = String>| format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "));
    let last = table.heads.len();
    let mut text = line(&mut table.heads.iter().map(|head| escaped(head)));
    text += &line(&mut (0..last).map(|place| if place == 0 || place + table.words >= last { "---".to_owned() } else { "---:".to_owned() }));
    for row in &table.rows {
        text += &line(&mut row.iter().map(|cell| escaped(cell)));
    }
    text
}

/// Text that stays text: neither markup nor the end of a cell or line.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '|' | '*' | '_' | '`' | '<' | '>' | '[' | ']' | '\\' => {
                safe.push('\\');
                safe.push(letter);
            }
            letter if letter.is_control() => safe.push(' '),
            letter => safe.push(letter),
        }
    }
    safe
}

/// As a part of a page.
pub fn html(part: &Part) -> Markup {
    html! {
        article .series {
            h3 { (part.heading) }
            @if let Some((tone, text)) = &part.conclusion {
                p .callout .good[*tone == Tone::Good] .against[*tone == Tone::Bad] { span { (text) } }
            }
            @if !part.warnings.is_empty() {
                ol .findings { @for warning in &part.warnings { li { p .text { (warning) } } } }
            }
            @for table in &part.tables {
                p .table-title { (table.title) }
                (scrolling(&format!("{}: {}", part.heading, table.title), &html_table(table)))
            }
            @if !part.notes.is_empty() { ul { @for note in &part.notes { li { (note) } } } }
            @if !part.more.is_empty() {
                details {
                    summary { "Every figure: " (part.heading) }
                    @for table in &part.more {
                        p .table-title { (table.title) }
                        (scrolling(&format!("{}: {}", part.heading, table.title), &html_table(table)))
                    }
                }
            }
        }
    }
}

fn html_table(table: &Table) -> Markup {
    let last = table.heads.len();
    let is_words = |place: usize| place + table.words >= last;
    html! {
        table .every .verdicts {
            caption .hidden { (table.title) }
            thead { tr { @for (place, head) in table.heads.iter().enumerate() { th scope="col" .words[is_words(place)] { (head) } } } }
            tbody {
                @for row in &table.rows {
                    tr {
                        @for (place, cell) in row.iter().enumerate() {
                            @if place == 0 { th scope="row" { (cell) } } @else { td .words[is_words(place)] { (cell) } }
                        }
                    }
                }
            }
        }
    }
}

/// A page of its own.
pub fn page(parts: &[Part], held: &impl serde::Serialize, tool: &str) -> String {
    let content = html! {
        header .masthead { div .inner { p .brand { "nettoll" span { " · compare" } } h1 { "Runs held against the first" } } }
        main #summary { section { @for part in parts { (html(part)) } } }
    };
    let none: [(); 0] = [];
    let footer = html! { "Written by nettoll " (tool) "." };
    document("Runs compared", &content, &footer, &html! { (data("chart-data", &none)) (data("analysis", held)) (data("csv", &"")) })
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn no_text_is_markup() {
        assert_eq!(escaped("a|b<script>\n*x*"), "a\\|b\\<script\\> \\*x\\*");
    }
}
