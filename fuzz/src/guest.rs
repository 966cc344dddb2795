//! What the microscope reads: words of a guest, the plugin's file, lists of packages,
//! scenarios, and counts that somebody stored.

use std::sync::LazyLock;

use attribution::exact::{Measured, diff};
use microscope::kallsyms::Functions;
use microscope::{guest_log, output, packages, scenario};
use model::printable::{Keep, printable};
use report::microscope::{self as exact_report, Detail};
use report::terminal::Style;

use crate::says_something;

/// A guest's symbol table and, behind a zero, its list of modules: every function that is
/// kept has a name, and comes back from the file that the plugin reads.
pub fn kallsyms(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (table, modules) = text.split_once('\0').unwrap_or((&text, ""));
    match Functions::parse(table) {
        Ok(functions) => {
            assert!(functions.len() <= table.lines().count());
            assert!((0..functions.len() + 2).all(|number| functions.name(number).is_some_and(|name| !name.is_empty())));
            assert_eq!(Functions::of_plugin(&functions.for_plugin()).as_ref(), Ok(&functions));
            functions.fits(modules);
        }
        Err(error) => says_something(&error),
    }
    Functions::of_plugin(table).err().iter().for_each(says_something);
}

/// The plugin's file: it is refused, or every path leads to a start and the rows of the
/// tree have its sum.
pub fn counted(bytes: &[u8]) {
    static FUNCTIONS: LazyLock<Functions> =
        LazyLock::new(|| Functions::of_plugin("ffffffff81000000 entry\nffffffff81000040 udp_sendmsg\n").unwrap());
    let text = String::from_utf8_lossy(bytes);
    match output::parse(&text, &FUNCTIONS) {
        Ok(output) => {
            for region in &output.regions {
                let tree = &region.tree;
                assert!((0..tree.nodes().len()).all(|place| !tree.chain(place).is_empty()));
                assert_eq!(tree.inclusive().len(), tree.nodes().len());
            }
        }
        Err(error) => says_something(&error),
    }
}

/// What a guest says, and what apt lists. The first byte says which.
pub fn guest(bytes: &[u8]) {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    let text = String::from_utf8_lossy(bytes);
    if kind % 2 == 0 {
        let log = guest_log::parse(&text);
        assert!(log.regions.len() + log.failures.len() + log.files.len() <= text.lines().count());
        return;
    }
    let known = packages::parse_names(&text);
    assert!(known.iter().all(|package| !package.names.is_empty()));
    for series in packages::series(&known) {
        let chosen = packages::choose(&known, &series);
        assert!(chosen.iter().all(|package| package.release.series() == series), "{series}");
    }
}

/// A file of scenarios: it is refused, or each is a line of the probe's plan, whatever its
/// words are.
pub fn scenarios(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match scenario::parse(text) {
        Ok(all) => {
            for session in scenario::sessions(&all, &[1, 112]) {
                let steps = 4 + session.modules.len() + session.setup.len() + session.regions.len();
                assert_eq!(session.plan(1).lines().count(), steps);
            }
        }
        Err(error) => says_something(&error),
    }
}

/// Counts as somebody else may have written them, through comparison and every form of a
/// report. What is printed does not steer a terminal, and a page runs no script but its own.
pub fn exact(bytes: &[u8]) {
    let Ok(measured) = serde_json::from_slice::<Vec<Measured>>(bytes) else { return };
    let found = diff(&measured, &measured);
    let documents =
        [exact_report::document(&measured, &[], Detail { tree: true }), exact_report::diff(&found, Some([&measured, &measured]))];
    for document in &documents {
        let shown = printable(&report::terminal::document(document, Style::VERBOSE), Keep::Lines).into_owned();
        assert!(!shown.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
        let page = report::html::document(document, "0.1.0");
        assert_eq!(page.matches("<script").count(), page.matches("</script>").count());
    }
    assert!(serde_json::from_str::<serde_json::Value>(&exact_report::json(&measured, &[])).is_ok());
}
