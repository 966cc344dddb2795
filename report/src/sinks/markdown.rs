//! A document as Markdown: pieces with their conclusions, tables and notes.

use analysis::answer::Answer;
use model::printable::{Keep, printable};

use super::words;
use crate::document::{Block, Document, Kind, Level, Section, Table, Text, Tone};

/// The whole document.
pub fn render(document: &Document) -> String {
    document.masthead.answer.as_ref().map_or_else(String::new, answer) + &document.sections.iter().map(section).collect::<String>()
}

/// The answer: its headline, its grade, the next command, and figures that are not to be used.
pub fn answer(one: &Answer) -> String {
    let mut text = format!("**{}**\n\n{}\n\n", escaped(&one.headline), escaped(&one.grade_line()));
    text.extend(one.next_line().map(|next| format!("{}\n\n", escaped(&next))));
    // Within a block of code nothing is markup.
    text.extend(one.command().map(|command| format!("    {}\n\n", printable(command, Keep::Nothing))));
    for invalid in &one.do_not_use {
        text += &format!(
            "**Do not use {}**: {}. {}\n\n",
            escaped(&invalid.figure.to_string()),
            escaped(&invalid.reason),
            escaped(&invalid.remedy)
        );
    }
    text.extend(one.exit.as_ref().map(|exit| format!("Exit {}: {}.\n\n", exit.code, escaped(&exit.reason))));
    text
}

/// The whole document with its heading and the titles of its sections.
pub fn page(document: &Document) -> String {
    let titled = |one: &Section| if one.title.is_empty() { section(one) } else { format!("# {}\n\n{}", escaped(&one.title), section(one)) };
    let lines = document.masthead.lines.iter().map(|line| format!("{}\n\n", escaped(line)));
    let heading = format!("# {}\n\n", escaped(&document.masthead.heading));
    std::iter::once(heading).chain(lines).chain(document.sections.iter().map(titled)).collect()
}

/// One section without its title.
pub fn section(section: &Section) -> String {
    blocks(&section.blocks)
}

fn blocks(all: &[Block]) -> String {
    all.iter().map(block).collect()
}

fn block(block: &Block) -> String {
    match block {
        Block::Piece(heading, all) => format!("## {}\n\n{}", escaped(&heading.plain()), blocks(all)),
        Block::Heading(text) => format!("### {}\n\n", escaped(&text.plain())),
        Block::Lead(text) | Block::Paragraph(text) | Block::Aside(text) => format!("{}\n\n", escaped(&text.plain())),
        Block::Conclusion(Tone::Good, text) => format!("{}\n\n", escaped(text)),
        Block::Conclusion(_, text) => format!("**{}**\n\n", escaped(text)),
        Block::Warnings(all) => list("> ", all.iter().cloned()),
        Block::Sentences(all) => list("- ", all.iter().map(Text::plain)),
        Block::Findings(all) => list("- ", all.iter().map(|finding| finding.text.clone())),
        Block::Table(one) if one.title.is_empty() => table(one) + "\n",
        Block::Table(one) => format!("{}\n\n{}\n", escaped(&one.title), table(one)),
        Block::Facts(all) => list("- ", all.iter().map(|(term, meaning)| format!("{term}: {meaning}"))),
        Block::Statements(all) => list("- ", all.iter().map(|one| one.text.plain())),
        Block::Alert(alert) => format!("**{}**\n\n{}", escaped(&alert.text), list("- ", alert.reasons.iter().cloned())),
        Block::At(Level::Answer | Level::Usual, _, all) => blocks(all),
        // What is drawn or folded.
        Block::At(Level::Everything, ..) | Block::Picture(_) | Block::Map(_) => String::new(),
    }
}

fn list(mark: &str, all: impl Iterator<Item = String>) -> String {
    all.map(|text| format!("{mark}{}\n", escaped(&text))).collect::<String>() + "\n"
}

fn table(table: &Table) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut text = line(table.columns.iter().map(|column| escaped(&column.head.line)).collect());
    text += &line(table.columns.iter().map(|column| if column.kind == Kind::Words { "---" } else { "---:" }.to_owned()).collect());
    text.extend((0..table.rows()).map(|row| line(table.columns.iter().map(|column| escaped(&words(&column.cells[row]))).collect())));
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
