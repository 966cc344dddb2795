//! A document as Markdown: pieces with their conclusions, tables and notes.

use super::words;
use crate::document::{Block, Column, Document, Kind, Prose, Section, Table, Text, Tone};

/// The whole document.
pub fn render(document: &Document) -> String {
    document.sections.iter().map(section).collect()
}

/// One section; its title and what one other sink alone has are left out.
pub fn section(section: &Section) -> String {
    blocks(&section.blocks)
}

fn blocks(all: &[Block]) -> String {
    all.iter().map(block).collect()
}

fn block(block: &Block) -> String {
    match block {
        Block::Piece(piece) => format!("## {}\n\n{}", escaped(&piece.heading.plain()), blocks(&piece.blocks)),
        Block::Heading(text) => format!("### {}\n\n", escaped(&text.plain())),
        Block::Lead(text) | Block::Paragraph(text) | Block::Aside(text) => format!("{}\n\n", escaped(&text.plain())),
        Block::Conclusion(Tone::Good, text) => format!("{}\n\n", escaped(text)),
        Block::Conclusion(_, text) => format!("**{}**\n\n", escaped(text)),
        Block::Warnings(all) => list("> ", all.iter().cloned()),
        Block::Sentences(all) | Block::Answers(all) => list("- ", all.iter().map(|text| text.plain())),
        Block::Findings(all) => list("- ", all.iter().map(|finding| finding.text.clone())),
        Block::Full(all) => blocks(all),
        Block::Table(one) if one.title.is_empty() => table(one),
        Block::Table(one) => format!("{}\n\n{}\n", escaped(&one.title), table(one)),
        Block::Prose(all) => {
            let one = |prose: &Prose| format!("{}\n\n", escaped(&prose.heading)) + &list("- ", prose.sentences.iter().map(Text::plain));
            all.iter().map(one).collect()
        }
        Block::Terms(_, all) => list("- ", all.iter().map(|(term, meaning)| format!("{term}: {meaning}"))),
        Block::Statements(all) => list("- ", all.iter().map(|one| one.text.plain())),
        Block::Alert(alert) => format!("**{}**\n\n{}", escaped(&alert.text), list("- ", alert.reasons.iter().cloned())),
        // What is drawn, folded, or for one other sink.
        _ => String::new(),
    }
}

fn list(mark: &str, all: impl Iterator<Item = String>) -> String {
    all.map(|text| format!("{mark}{}\n", escaped(&text))).collect::<String>() + "\n"
}

fn table(table: &Table) -> String {
    let columns: Vec<(&Column, &str)> = table.columns.iter().filter_map(|column| Some((column, column.head.page.as_deref()?))).collect();
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut text = line(columns.iter().map(|(_, head)| escaped(head)).collect());
    text += &line(columns.iter().map(|(column, _)| if column.kind == Kind::Words { "---" } else { "---:" }.to_owned()).collect());
    text.extend((0..table.rows()).map(|row| line(columns.iter().map(|(column, _)| escaped(&words(&column.cells[row]))).collect())));
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

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn no_text_is_markup() {
        assert_eq!(escaped("a|b<script>\n*x*"), "a\\|b\\<script\\> \\*x\\*");
    }
}
