//! Equal doubts counted together, the gravest first.

use std::collections::{BTreeMap, BTreeSet};

use model::{Role, Warning};

use crate::result::Finding;

/// Cells that a finding names.
const MOST_NAMED: usize = 3;

/// Doubts that are equal but for their numbers share a kind: the variant, the
/// end concerned, and the name of an option or of what is missing. Kinds sort
/// by gravity.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    rank: u8,
    role: Option<Role>,
    name: String,
}

impl Kind {
    fn of(warning: &Warning) -> Self {
        let none = String::new;
        let (rank, role, name) = match warning {
            Warning::Unaccounted { .. } => (0, None, none()),
            Warning::WrongPath { .. } => (1, None, none()),
            Warning::NoLink { .. } => (2, None, none()),
            Warning::TrialFailed { .. } => (3, None, none()),
            Warning::BadLine { .. } => (4, None, none()),
            Warning::OneCpu => (5, None, none()),
            Warning::NotBound { .. } => (6, None, none()),
            Warning::Throttled { .. } => (7, None, none()),
            Warning::Stolen { .. } => (8, None, none()),
            Warning::Contended { role, .. } => (9, Some(*role), none()),
            Warning::GeneratorLimit { role, .. } => (10, Some(*role), none()),
            Warning::OptionNotTaken { role, option, .. } => (11, Some(*role), option.clone()),
            Warning::CallsFailed { role, .. } => (12, Some(*role), none()),
            Warning::FewMessages { .. } => (13, None, none()),
            Warning::Absent { what, .. } => (14, None, what.clone()),
        };
        Self { rank, role, name }
    }
}

/// How grave a doubt is among those of its kind; larger is graver.
fn gravity(warning: &Warning) -> f64 {
    match warning {
        Warning::Unaccounted { datagrams } => datagrams.unsigned_abs() as f64,
        Warning::WrongPath { payload, carried } => payload.saturating_sub(*carried) as f64,
        Warning::Contended { share, .. } | Warning::Stolen { share } | Warning::GeneratorLimit { share, .. } => *share,
        Warning::Throttled { times } => *times as f64,
        Warning::CallsFailed { calls, .. } => *calls as f64,
        Warning::FewMessages { messages } => -(*messages as f64),
        // The first one stands for the rest.
        Warning::NoLink { .. }
        | Warning::TrialFailed { .. }
        | Warning::BadLine { .. }
        | Warning::OneCpu
        | Warning::NotBound { .. }
        | Warning::OptionNotTaken { .. }
        | Warning::Absent { .. } => 0.0,
    }
}

#[derive(Debug, Clone)]
struct Group {
    gravest: Warning,
    trials: u64,
    cells: BTreeSet<usize>,
}

/// All doubts so far.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    groups: BTreeMap<Kind, Group>,
}

impl Findings {
    /// Adds a doubt about the whole run.
    pub fn push_run(&mut self, warning: &Warning) {
        self.group(warning);
    }

    /// Adds the doubts about one trial of the cell with this index.
    pub fn push_trial<'a>(&mut self, cell: usize, warnings: impl Iterator<Item = &'a Warning>) {
        let mut seen = BTreeSet::new();
        for warning in warnings {
            let kind = Kind::of(warning);
            let group = self.group(warning);
            group.cells.insert(cell);
            group.trials += u64::from(seen.insert(kind));
        }
    }

    fn group(&mut self, warning: &Warning) -> &mut Group {
        let new = || Group { gravest: warning.clone(), trials: 0, cells: BTreeSet::new() };
        let group = self.groups.entry(Kind::of(warning)).or_insert_with(new);
        if gravity(warning) > gravity(&group.gravest) {
            group.gravest = warning.clone();
        }
        group
    }

    /// What a report shows; `labels` are the cells in words, by index.
    pub fn finish(self, labels: &[String]) -> Vec<Finding> {
        let finding = |group: Group| Finding {
            text: group.gravest.to_string(),
            remedy: group.gravest.remedy(),
            warning: group.gravest,
            trials: group.trials,
            cells: group.cells.iter().filter_map(|cell| labels.get(*cell).cloned()).take(MOST_NAMED).collect(),
            cell_count: group.cells.len(),
        };
        self.groups.into_values().map(finding).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Findings;
    use model::{Role, Warning};

    #[test]
    fn equal_doubts_are_one_finding_and_the_gravest_is_told() {
        let mut findings = Findings::default();
        let waited = |role, share| Warning::Contended { role, share };
        findings.push_run(&Warning::Absent { what: "perf".into(), answer: "EPERM".into(), remedy: "Ask.".into() });
        findings.push_run(&Warning::BadLine { line: 7, reason: "cut".into() });
        for cell in 0..5 {
            let few = Warning::FewMessages { messages: 50 - cell as u64 };
            findings.push_trial(cell, [waited(Role::Sender, 0.05 + cell as f64 / 100.0), few].iter());
        }
        findings.push_trial(0, [waited(Role::Receiver, 0.9), Warning::Unaccounted { datagrams: -3 }].iter());
        let labels: Vec<String> = (0..5).map(|cell| format!("cell {cell}")).collect();
        let found = findings.finish(&labels);
        let texts: Vec<(&str, u64, usize)> = found.iter().map(|f| (f.text.as_str(), f.trials, f.cell_count)).collect();
        assert_eq!(
            texts,
            [
                ("-3 datagrams unaccounted for", 1, 1),
                ("trials.jsonl line 7 cannot be read: cut", 0, 0),
                ("the sender waited 9.0 % of the time for a CPU", 5, 5),
                ("the receiver waited 90.0 % of the time for a CPU", 1, 1),
                ("only 46 messages in the measured time", 5, 5),
                ("perf is not available: EPERM", 0, 0),
            ]
        );
        assert_eq!(found[2].cells, ["cell 0", "cell 1", "cell 2"]);
        assert_eq!(found[5].remedy, "Ask.");
    }
}
