//! docs/ as a book, as mdBook reads it: `make book`.

use std::collections::BTreeSet;
use std::fs;

use super::pages::{Page, all, root};
use crate::support::Skip;

/// The book's table of contents, which is no page of it.
pub const SUMMARY: &str = "docs/SUMMARY.md";

/// The pages that the summary lists, in order.
fn listed() -> Vec<String> {
    Page::read(SUMMARY).links().into_iter().map(|(target, _)| format!("docs/{target}")).collect()
}

pub fn every_page_is_in_the_book() -> Result<(), Skip> {
    let listed = listed();
    let once: BTreeSet<String> = listed.iter().cloned().collect();
    assert_eq!(listed.len(), once.len(), "{SUMMARY} lists a page twice: {listed:#?}");
    let pages: BTreeSet<String> =
        all().into_iter().map(|page| page.path).filter(|path| path.starts_with("docs/") && path != SUMMARY).collect();
    let (missing, gone): (Vec<_>, Vec<_>) = (pages.difference(&once).collect(), once.difference(&pages).collect());
    assert!(missing.is_empty() && gone.is_empty(), "{SUMMARY} lacks {missing:?}, and lists {gone:?} without a page");
    Ok(())
}

/// mdBook takes titles of parts, links and lists of links, and refuses all else.
pub fn the_book_is_made_of_pages() -> Result<(), Skip> {
    for (at, line) in fs::read_to_string(root().join(SUMMARY)).unwrap().lines().enumerate() {
        let entry = line.trim_start().trim_start_matches("- ");
        let link = entry.starts_with('[') && entry.ends_with(".md)") && entry.matches("](").count() == 1;
        assert!(line.is_empty() || line.starts_with("# ") || link, "{SUMMARY}:{}: {line}", at + 1);
    }
    let config = fs::read_to_string(root().join("book.toml")).unwrap();
    assert!(config.lines().any(|line| line == "src = \"docs\""), "{config}");
    // A page begins with its title, which the summary's links do not repeat by chance only.
    for path in listed() {
        assert!(Page::read(&path).text.starts_with("# "), "{path} does not begin with its title");
    }
    Ok(())
}
