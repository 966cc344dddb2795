//! The doctor's checks on one screen.

use model::check::{Area, Check, Need, State};

use crate::document::{Block, Document, Finding, Tone};
use crate::words::{list, plural};

/// Needs, the gravest first, each with its word.
const NEEDS: [(Need, &str); 3] = [(Need::Required, "MISSING"), (Need::Useful, "absent"), (Need::Later, "optional")];

/// Whether `quick` can run, what is absent with what to do, then what is there by area.
pub fn document(checks: &[Check]) -> Document {
    let absent = NEEDS.into_iter().flat_map(|(need, word)| {
        let all = checks.iter().filter(move |check| check.need == need);
        all.filter_map(move |check| match &check.state {
            State::Present { .. } => None,
            State::Absent { answer, remedy } => {
                Some(Finding { text: format!("{}: {word}: {answer}", check.name), remedy: remedy.clone(), concerns: String::new() })
            }
        })
    });
    let there = |area: &Area| {
        let present = checks.iter().filter(|check| check.area == *area).filter_map(|check| match &check.state {
            State::Present { detail } if detail.is_empty() => Some(check.name.clone()),
            State::Present { detail } => Some(format!("{}: {detail}", check.name)),
            State::Absent { .. } => None,
        });
        let present: Vec<String> = present.collect();
        (!present.is_empty()).then(|| (area.name(), format!("✓ {}", present.join("; "))))
    };
    let absent: Vec<Finding> = absent.collect();
    let findings = (!absent.is_empty()).then_some(Block::Findings(absent));
    let facts = Block::facts(Area::ALL.iter().filter_map(there));
    Document::plain("", std::iter::once(verdict(checks)).chain(findings).chain([facts]))
}

fn verdict(checks: &[Check]) -> Block {
    let absent = |need: Need| checks.iter().filter(|check| !check.is_present() && check.need == need).count() as u64;
    let (tone, text) = match (absent(Need::Required), absent(Need::Useful)) {
        (0, 0) => (Tone::Good, "`nettoll study quick` can run.".to_owned()),
        (0, _) => {
            let useful = checks.iter().filter(|check| !check.is_present() && check.need == Need::Useful);
            let names: Vec<String> = useful.map(|check| check.name.to_lowercase()).collect();
            (Tone::Good, format!("`nettoll study quick` can run, without {}.", list(&names)))
        }
        (required, _) => {
            let is = if required == 1 { "is" } else { "are" };
            (Tone::Bad, format!("`nettoll study quick` cannot run: {} {is} missing.", plural(required, "required thing")))
        }
    };
    Block::Conclusion(tone, text)
}
