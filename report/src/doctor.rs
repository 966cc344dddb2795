//! The doctor's checks on one screen.

use model::check::{Area, Check, Need, State};

use crate::sinks::terminal::{Page, Style};
use crate::words::plural;

/// Checks by area, each with a mark and a word, absent ones with what to do on
/// the next line; then whether `quick` can run. Ends with a newline.
pub fn render(checks: &[Check], style: Style) -> String {
    let mut page = Page::new(style);
    let margin = Area::ALL.iter().map(|area| area.name().len()).max().unwrap_or(0) + 2;
    for area in Area::ALL {
        let (plain, telling): (Vec<&Check>, Vec<&Check>) =
            checks.iter().filter(|check| check.area == *area).partition(|check| is_plain(check));
        let mut label = area.name();
        if !plain.is_empty() {
            // What is simply there takes one line together: the screen is for the rest.
            let names: Vec<&str> = plain.iter().map(|check| check.name.as_str()).collect();
            page.labelled(&format!("{label:margin$}"), &format!("✓ {}", names.join(", ")), margin + 2);
            label = "";
        }
        for check in telling {
            line(&mut page, &format!("{label:margin$}"), check);
            label = "";
        }
    }
    page.gap();
    verdict(&mut page, checks);
    page.finish()
}

/// Present, with nothing more to say of it.
fn is_plain(check: &Check) -> bool {
    matches!(&check.state, State::Present { detail } if detail.is_empty())
}

fn line(page: &mut Page, label: &str, check: &Check) {
    let margin = label.len();
    match &check.state {
        State::Present { detail } => page.labelled(label, &format!("✓ {}: {detail}", check.name), margin + 2),
        State::Absent { answer, remedy } => {
            let (mark, word) = match check.need {
                Need::Required => ("✗", "MISSING"),
                Need::Useful => ("✗", "absent"),
                Need::Later => ("–", "absent, not needed yet"),
            };
            page.labelled_warning(label, &format!("{mark} {}: {word}: {answer}", check.name), margin + 2);
            page.plain(&format!("→ {remedy}"), margin + 2, margin + 4);
        }
    }
}

fn verdict(page: &mut Page, checks: &[Check]) {
    let absent = |need: Need| checks.iter().filter(|check| !check.is_present() && check.need == need).count() as u64;
    let (required, useful) = (absent(Need::Required), absent(Need::Useful));
    if required > 0 {
        let s = if required == 1 { "is" } else { "are" };
        page.warning(&format!("`nettoll study quick` cannot run: {} {s} missing.", plural(required, "required thing")));
    } else if useful > 0 {
        page.heading(&format!("`nettoll study quick` can run; it says less without {}.", plural(useful, "useful thing")));
    } else {
        page.heading("`nettoll study quick` can run.");
    }
}
