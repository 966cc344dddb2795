//! Pages of Markdown, as far as a claim about them needs: blocks of code, headings,
//! links, words in the type of code, tables.

use std::path::{Path, PathBuf};

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// A page of the repository.
pub struct Page {
    /// Its path below the root of the repository.
    pub path: String,
    pub text: String,
}

/// A block of code.
pub struct Block {
    pub language: String,
    pub text: String,
    pub line: usize,
}

/// A heading, as a link names it and as it is written.
pub struct Heading {
    pub anchor: String,
    pub text: String,
    pub level: HeadingLevel,
}

/// A table: its heads, and the first cell of each row.
pub struct Table {
    pub heads: Vec<String>,
    pub firsts: Vec<String>,
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// README.md and every page below docs/.
pub fn all() -> Vec<Page> {
    let mut paths = vec!["README.md".to_owned()];
    let mut folders = vec!["docs".to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root().join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = format!("{folder}/{}", entry.file_name().into_string().unwrap());
            if entry.path().is_dir() {
                folders.push(path);
            } else if path.ends_with(".md") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    let pages: Vec<Page> = paths.into_iter().map(|path| Page::read(&path)).collect();
    assert!(pages.len() >= 20, "there are {} pages", pages.len());
    pages
}

impl Page {
    pub fn read(path: &str) -> Self {
        let text = std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        Self { path: path.to_owned(), text }
    }

    /// The page's events, each with the line on which it begins.
    fn events(&self) -> impl Iterator<Item = (Event<'_>, usize)> {
        let parser = Parser::new_ext(&self.text, Options::ENABLE_TABLES).into_offset_iter();
        parser.map(|(event, place)| (event, self.text[..place.start].matches('\n').count() + 1))
    }

    pub fn blocks(&self) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::new();
        let mut inside = false;
        for (event, line) in self.events() {
            match event {
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
                    inside = true;
                    blocks.push(Block { language: language.to_string(), text: String::new(), line });
                }
                Event::End(TagEnd::CodeBlock) => inside = false,
                Event::Text(text) if inside => blocks.last_mut().unwrap().text += &text,
                _ => {}
            }
        }
        blocks
    }

    pub fn headings(&self) -> Vec<Heading> {
        let mut headings: Vec<Heading> = Vec::new();
        let mut inside = false;
        for (event, _) in self.events() {
            match event {
                Event::Start(Tag::Heading { level, .. }) => {
                    inside = true;
                    headings.push(Heading { anchor: String::new(), text: String::new(), level });
                }
                Event::End(TagEnd::Heading(_)) => inside = false,
                Event::Text(text) | Event::Code(text) if inside => headings.last_mut().unwrap().text += &text,
                _ => {}
            }
        }
        for place in 0..headings.len() {
            let anchor = anchor(&headings[place].text);
            let earlier = headings[..place].iter().filter(|other| self::anchor(&other.text) == anchor).count();
            headings[place].anchor = if earlier == 0 { anchor } else { format!("{anchor}-{earlier}") };
        }
        headings
    }

    /// Targets of links and images, each with its line.
    pub fn links(&self) -> Vec<(String, usize)> {
        let target = |(event, line)| match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => Some((dest_url.to_string(), line)),
            _ => None,
        };
        self.events().filter_map(target).collect()
    }

    /// Sentences outside blocks and words of code, by paragraph, heading, item or cell, each with
    /// its line: a paragraph goes on over the ends of its lines.
    pub fn prose(&self) -> Vec<(String, usize)> {
        let mut prose: Vec<(String, usize)> = Vec::new();
        let mut code = false;
        for (event, line) in self.events() {
            match event {
                Event::Start(Tag::CodeBlock(_)) => code = true,
                Event::End(TagEnd::CodeBlock) => code = false,
                Event::Start(Tag::Paragraph | Tag::Heading { .. } | Tag::Item | Tag::TableCell) => prose.push((String::new(), line)),
                Event::Text(text) if !code => {
                    if let Some((sentences, _)) = prose.last_mut() {
                        *sentences += &text;
                    }
                }
                Event::Code(_) | Event::SoftBreak => {
                    if let Some((sentences, _)) = prose.last_mut() {
                        // A word of code is some word.
                        *sentences += if event == Event::SoftBreak { " " } else { "X" };
                    }
                }
                _ => {}
            }
        }
        prose
    }

    /// Words in the type of code within sentences and tables.
    pub fn spans(&self) -> Vec<(String, usize)> {
        self.events()
            .filter_map(|(event, line)| if let Event::Code(text) = event { Some((text.to_string(), line)) } else { None })
            .collect()
    }

    pub fn tables(&self) -> Vec<Table> {
        let mut tables: Vec<Table> = Vec::new();
        let (mut cell, mut column, mut head) = (None::<String>, 0, false);
        for (event, _) in self.events() {
            match event {
                Event::Start(Tag::Table(_)) => tables.push(Table { heads: Vec::new(), firsts: Vec::new() }),
                Event::Start(Tag::TableHead) => (head, column) = (true, 0),
                Event::End(TagEnd::TableHead) => head = false,
                Event::Start(Tag::TableRow) => column = 0,
                Event::Start(Tag::TableCell) => cell = Some(String::new()),
                Event::End(TagEnd::TableCell) => {
                    let (text, table) = (cell.take().unwrap(), tables.last_mut().unwrap());
                    if head {
                        table.heads.push(text);
                    } else if column == 0 {
                        table.firsts.push(text);
                    }
                    column += 1;
                }
                Event::Text(text) | Event::Code(text) => {
                    if let Some(cell) = &mut cell {
                        *cell += &text;
                    }
                }
                _ => {}
            }
        }
        tables
    }
}

/// The name of a heading in a link, by the rule of the common forges.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
    kept.collect::<String>().trim().to_lowercase().replace(' ', "-")
}
