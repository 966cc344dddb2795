//! Exact counts in every output, from counts that were recorded: small UDP messages on two
//! kernels, three seeds each.

use std::path::Path;

use attribution::exact::{ExactDiff, Measured, Timed, diff};
use report::microscope::{self as pages, Detail, json};
use report::terminal::Style;
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use crate::support::without_drawings;

fn terminal(measured: &[Measured], timed: &[Timed], shown: Detail, style: Style) -> String {
    report::terminal::document(&pages::document(measured, timed, shown), style)
}

fn html(measured: &[Measured], timed: &[Timed], shown: Detail, tool: &str) -> String {
    report::html::document(&pages::document(measured, timed, shown), tool)
}

fn diff_terminal(diff: &ExactDiff, style: Style) -> String {
    report::terminal::document(&pages::diff(diff, None), style)
}

const TREE: Detail = Detail { tree: true };

/// Every seed of a kernel.
fn recorded(kernel: &str) -> Vec<Measured> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../tests/data/microscope/{kernel}.json"));
    let stored: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    serde_json::from_value(stored["measured"].clone()).unwrap()
}

/// One seed of each kernel, side by side.
pub fn matrix() -> Vec<Measured> {
    ["6.12", "6.18"].map(|kernel| recorded(kernel).remove(0)).to_vec()
}

/// The page of what changed between both kernels.
pub fn changes() -> String {
    let [before, after] = ["6.12", "6.18"].map(recorded);
    report::html::document(&pages::diff(&diff(&before, &after), Some([&before, &after])), "nettoll 0")
}

/// One seed of so many kernels.
pub fn in_a_terminal(kernels: usize, style: Style) -> String {
    terminal(&matrix()[2 - kernels..], &[], Detail::default(), style)
}

/// What changed between both kernels.
pub fn changes_in_a_terminal(style: Style) -> String {
    diff_terminal(&diff(&recorded("6.12"), &recorded("6.18")), style)
}

/// The page of both kernels, with flame graphs.
pub fn side_by_side() -> String {
    html(&matrix(), &[], TREE, "nettoll 0")
}

/// The page without what is copied into it from `assets`.
fn body(page: &str) -> String {
    let start = page.find("<body>").expect("a body");
    let end = page[start..].find("<script").map_or(page.len(), |end| start + end);
    without_drawings(&page[start..end]).replace("><", ">\n<")
}

#[test]
fn one_kernel_in_a_terminal() {
    insta::assert_snapshot!(terminal(&matrix()[..1], &[], TREE, Style::PLAIN));
}

#[test]
fn one_kernel_with_everything() {
    insta::assert_snapshot!(terminal(&matrix()[..1], &[], Detail::default(), Style::VERBOSE));
}

#[test]
fn kernels_side_by_side() {
    insta::assert_snapshot!(terminal(&matrix(), &[], Detail::default(), Style::PLAIN));
}

#[test]
fn kernels_in_a_page() {
    insta::assert_snapshot!(body(&html(&matrix(), &[], Detail::default(), "nettoll 0")));
}

#[test]
fn a_change_in_a_terminal() {
    insta::assert_snapshot!(diff_terminal(&diff(&recorded("6.12"), &recorded("6.18")), Style::PLAIN));
}

#[test]
fn a_change_in_a_page() {
    insta::assert_snapshot!(body(&changes()));
}

#[test]
fn json_holds_everything_and_can_be_compared_again() {
    let measured = matrix();
    let stored: Value = serde_json::from_str(&json(&measured, &[])).unwrap();
    assert_eq!(stored["format"], 1);
    assert_eq!(serde_json::from_value::<Vec<Measured>>(stored["measured"].clone()).unwrap(), measured);
    let found = diff(&recorded("6.12"), &recorded("6.18"));
    let stored: Value = serde_json::from_str(&report::json::pretty(&found)).unwrap();
    assert_eq!(stored["regions"][0]["functions"][0]["function"]["key"], "_find_next_bit");
}

#[test]
fn no_line_is_wider_than_asked() {
    let found = diff(&recorded("6.12"), &recorded("6.18"));
    for width in [80, 120] {
        let style = Style { width, ..Style::PLAIN };
        for line in [terminal(&matrix(), &[], TREE, style), diff_terminal(&found, style)].concat().lines() {
            assert!(line.width() <= width, "at {width}: {line}");
        }
    }
}

/// Names and paths give way to figures, whatever the width.
#[test]
fn functions_keep_their_figures_at_any_width() {
    let found = diff(&recorded("6.12"), &recorded("6.18"));
    for width in [80, 100, 200] {
        let style = Style { width, ..Style::VERBOSE };
        let (counts, changes) = (terminal(&matrix()[..1], &[], TREE, style), diff_terminal(&found, style));
        let heads = |text: &str| text.lines().filter(|line| line.starts_with("function ")).map(str::to_owned).collect::<Vec<_>>();
        for (text, figures) in [(&counts, &["calls", "instructions", "reads", "writes"][..]), (&changes, &["before", "after", "change"])] {
            let heads = heads(text);
            assert!(!heads.is_empty());
            assert!(heads.iter().all(|head| figures.iter().all(|figure| head.contains(figure))), "at {width}: {heads:?}");
            assert!(text.lines().all(|line| line.width() <= width), "at {width}: {text}");
        }
        assert!(heads(&changes).iter().all(|head| head.contains("end of the path")), "at {width}: {changes}");
        // A row with its figures and the end of its path.
        let row = changes.lines().find(|line| line.starts_with("skb_defer_free_flush  ")).unwrap();
        assert!(row.contains(" 70 ") && row.contains("+70") && row.ends_with("skb_defer_free_flush"), "at {width}: {row}");
        let tree = counts
            .lines()
            .find(|line| line.contains("call path") && line.contains("share"))
            .unwrap_or_else(|| panic!("at {width}: {counts}"));
        assert!(["instructions", "share", "own"].iter().all(|figure| tree.contains(figure)), "at {width}: {tree}");
    }
}

#[test]
fn pages_draw_paths_and_versions() {
    let page = side_by_side();
    let drawn = |page: &str, what: &str| page.matches(what).count();
    let regions = matrix()[0].regions.len();
    assert_eq!((drawn(&page, "<svg class=\"flame\""), drawn(&page, "id=\"figure-kernels-")), (2 * regions, regions));
    assert!(page.contains("instructions per message</title>"), "a bar says its instructions");
    let page = changes();
    assert_eq!((drawn(&page, "<svg class=\"flame\""), drawn(&page, "\"seeds\":3")), (regions, regions));
    assert!(page.contains("difference from kernel 6.12"));
}

/// A kernel's names are a guest's words: they neither steer a terminal nor become markup.
#[test]
fn hostile_names_are_shown_as_text() {
    let mut measured = matrix();
    measured[0].provenance.kernel = crate::support::HOSTILE.to_owned();
    measured[0].regions[0].rows.functions[0].name = crate::support::HOSTILE.to_owned();
    let page = html(&measured, &[], TREE, "nettoll 0");
    assert!(!page.contains("<script>alert"), "markup of a name");
    assert_eq!(page.matches("<script").count(), page.matches("</script>").count());
}
