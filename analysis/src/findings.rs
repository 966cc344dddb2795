//! Equal doubts counted together, those that speak most against the run first.

use std::collections::{BTreeMap, BTreeSet};

use model::Warning;
use model::sorting::{Gather, Order};
use model::warning::WarningKind;
use serde::{Serialize, Serializer};

/// Cells that a finding names.
const MOST_NAMED: usize = 3;

/// What stands before the name of a host in an error.
const HOST: &str = "host ";

/// Lines that a finding names.
const MOST_LINES: usize = 5;

/// A doubt and how often it came up.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// The gravest of its kind.
    pub warning: Warning,
    /// All of them in words: in how many trials, and how far at worst.
    pub text: String,
    /// True where an arm has no other trials.
    #[serde(skip)]
    pub is_of_whole_arm: bool,
    /// The remedy.
    pub remedy: String,
    /// Trials it was found in; 0 when it is of the whole run.
    pub trials: u64,
    /// Labels of the cells concerned, at most three.
    pub cells: Vec<String>,
    /// Places of all of them, in the order of the plan's cells; JSON has their number.
    #[serde(rename = "cell_count", serialize_with = "count")]
    pub places: Vec<usize>,
}

fn count<S: Serializer>(places: &[usize], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(places.len() as u64)
}

/// Measured trials that were disturbed, as their warnings say. A trial may be
/// so in several ways.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Disturbed {
    /// In any way.
    pub trials: u64,
    /// An end waited for a CPU.
    pub waited: u64,
    /// The hypervisor took CPU time.
    pub stolen: u64,
    /// A CPU was slowed down for its heat.
    pub throttled: u64,
    /// The receiver measured while nothing was being sent, or the ends measured different times.
    pub misaligned: u64,
    /// A figure was beyond what there is.
    pub impossible: u64,
}

impl Disturbed {
    /// Counts a trial with these warnings, if any of them disturbs.
    pub(crate) fn count<'a>(&mut self, warnings: impl Iterator<Item = &'a Warning> + Clone) {
        let any = |kind: fn(&Warning) -> bool| u64::from(warnings.clone().any(kind));
        self.trials += any(Warning::disturbs);
        self.waited += any(|warning| matches!(warning, Warning::Contended { .. }));
        self.stolen += any(|warning| matches!(warning, Warning::Stolen { .. }));
        self.throttled += any(|warning| matches!(warning, Warning::Throttled { .. }));
        self.misaligned +=
            any(|warning| matches!(warning, Warning::Misaligned { .. } | Warning::WindowsApart { .. } | Warning::WindowCut { .. }));
        self.impossible += any(|warning| matches!(warning, Warning::Impossible { .. }));
    }
}

#[derive(Debug, Clone)]
struct Group {
    gravest: Warning,
    trials: u64,
    /// The severest of each trial, added up.
    severity: f64,
    /// Doubts about the whole run.
    of_run: u64,
    /// The first lines that cannot be read.
    lines: Vec<u64>,
    cells: BTreeSet<usize>,
    /// The arms of its trials; empty without arms.
    arms: BTreeSet<String>,
    /// The hosts that an error names.
    hosts: BTreeSet<String>,
}

impl Group {
    fn new(warning: &Warning) -> Self {
        Self {
            gravest: warning.clone(),
            trials: 0,
            severity: 0.0,
            of_run: 0,
            lines: Vec::new(),
            cells: BTreeSet::new(),
            arms: BTreeSet::new(),
            hosts: BTreeSet::new(),
        }
    }

    /// Share of trials times severity.
    fn weight(&self, trials: u64) -> f64 {
        let of_run = if self.of_run > 0 { self.gravest.severity() } else { 0.0 };
        of_run.max(self.severity / trials.max(1) as f64)
    }

    /// Its arms of which every trial failed, `lost`, in words; `None` where there are none.
    fn lost_arms(&self, lost: &BTreeSet<String>) -> Option<String> {
        let names: Vec<&str> = self.arms.iter().filter(|arm| lost.contains(*arm)).map(String::as_str).collect();
        let failed = matches!(self.gravest, Warning::TrialFailed { .. });
        (failed && !names.is_empty()).then(|| names.join(" and of arm "))
    }

    fn text(&self, trials: u64, lost: &BTreeSet<String>) -> String {
        let plain = self.gravest.to_string();
        match (&self.gravest, self.trials) {
            (Warning::BadLine { reason, .. }, _) if self.of_run > 1 => bad_lines(&self.lines, self.of_run, reason),
            (_, 0) if self.of_run > 1 => format!("{plain} ({} times)", self.of_run),
            (_, 0) => plain,
            (Warning::TrialFailed { error }, found) => {
                let error = on_hosts(error, &self.hosts);
                match self.lost_arms(lost) {
                    Some(arms) => format!("every trial of arm {arms} failed; {found} of {trials}: {error}"),
                    None => format!("{found} of {trials} trials failed: {error}"),
                }
            }
            (_, 1) => format!("{plain}, in 1 of {trials} trials"),
            (warning, found) => format!("in {found} of {trials} trials {}", warning.in_several()),
        }
    }
}

/// What an error of a host says before its name, that name, and the rest.
fn host_of(error: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = match error.strip_prefix(HOST) {
        Some(rest) => ("", rest),
        None => error.split_once(HOST).filter(|(before, _)| !before.contains(':'))?,
    };
    let (name, rest) = rest.split_once(':')?;
    (!name.is_empty() && !name.contains(' ')).then_some((before, name, rest))
}

/// The error with the names of all hosts that it was met on.
fn on_hosts(error: &str, hosts: &BTreeSet<String>) -> String {
    match host_of(error).filter(|_| hosts.len() > 1) {
        Some((before, _, rest)) => {
            let names: Vec<&str> = hosts.iter().map(String::as_str).collect();
            format!("{before}hosts {}:{rest}", names.join(" and "))
        }
        None => error.to_owned(),
    }
}

/// The kind of a warning, whereby the same error on another host is no other error.
fn kind(warning: &Warning) -> WarningKind {
    let kind = warning.kind();
    match warning {
        Warning::TrialFailed { .. } => {
            let name = host_of(&kind.name).map(|(before, _, rest)| format!("{before}{HOST}:{rest}"));
            WarningKind { name: name.unwrap_or(kind.name), ..kind }
        }
        _ => kind,
    }
}

fn bad_lines(lines: &[u64], all: u64, reason: &str) -> String {
    let named: Vec<String> = lines.iter().map(u64::to_string).collect();
    let more = if all > lines.len() as u64 { ", ..." } else { "" };
    format!("{all} lines of trials.jsonl cannot be read ({}{more}); the first: {reason}", named.join(", "))
}

/// All doubts so far.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    groups: BTreeMap<WarningKind, Group>,
    /// Trials that were looked at, measured or not.
    trials: u64,
    /// The same by arm, and those of them that failed.
    arms: BTreeMap<String, [u64; 2]>,
}

impl Findings {
    /// Adds a doubt about the whole run.
    pub fn push_run(&mut self, warning: &Warning) {
        let group = self.group(warning);
        group.of_run += 1;
        if let Warning::BadLine { line, .. } = warning
            && group.lines.len() < MOST_LINES
        {
            group.lines.push(*line);
        }
    }

    /// Adds one trial of the cell with this index, of an arm where there are any, and the doubts about it.
    pub fn push_trial<'a>(&mut self, cell: usize, arm: Option<&str>, warnings: impl Iterator<Item = &'a Warning>) {
        self.trials += 1;
        let mut severest: BTreeMap<WarningKind, f64> = BTreeMap::new();
        let mut failed = false;
        for warning in warnings {
            failed |= matches!(warning, Warning::TrialFailed { .. });
            let group = self.group(warning);
            group.cells.insert(cell);
            group.arms.extend(arm.map(str::to_owned));
            let worst = severest.entry(kind(warning)).or_default();
            *worst = worst.max(warning.severity());
        }
        for (kind, severity) in severest {
            if let Some(group) = self.groups.get_mut(&kind) {
                group.trials += 1;
                group.severity += severity;
            }
        }
        if let Some(arm) = arm {
            let counts = self.arms.entry(arm.to_owned()).or_default();
            *counts = [counts[0] + 1, counts[1] + u64::from(failed)];
        }
    }

    fn group(&mut self, warning: &Warning) -> &mut Group {
        let group = self.groups.entry(kind(warning)).or_insert_with(|| Group::new(warning));
        if let Warning::TrialFailed { error } = warning {
            group.hosts.extend(host_of(error).map(|(_, name, _)| name.to_owned()));
        }
        if warning.size() > group.gravest.size() {
            group.gravest = warning.clone();
        }
        group
    }

    /// The findings of a report; `labels` are the cells in words, by index.
    ///
    /// First what is wrong or missing, then by the share of trials times how
    /// much of each is in question.
    pub fn finish(self, labels: &[String]) -> Vec<Finding> {
        let all = self.trials;
        let lost: BTreeSet<String> = self.arms.into_iter().filter(|(_, [all, failed])| all == failed).map(|(arm, _)| arm).into_set();
        let mut groups: Vec<(WarningKind, Group)> = self.groups.into_iter().collect();
        let place = |kind: &WarningKind| if kind.comes_first { kind.rank } else { usize::MAX };
        groups.order_by(|(a, of_a), (b, of_b)| {
            let whole = |group: &Group| group.lost_arms(&lost).is_none();
            place(a)
                .cmp(&place(b))
                .then_with(|| whole(of_a).cmp(&whole(of_b)))
                .then_with(|| of_b.weight(all).total_cmp(&of_a.weight(all)))
                .then_with(|| a.cmp(b))
        });
        let finding = |(_, group): (WarningKind, Group)| Finding {
            text: group.text(all, &lost),
            is_of_whole_arm: group.lost_arms(&lost).is_some(),
            remedy: match group.lost_arms(&lost) {
                Some(_) => "Set the arm right and measure again: it has no figures.".to_owned(),
                None => group.gravest.remedy(),
            },
            trials: group.trials,
            cells: group.cells.iter().filter_map(|cell| labels.get(*cell).cloned()).take(MOST_NAMED).collect(),
            places: group.cells.iter().copied().collect(),
            warning: group.gravest,
        };
        groups.into_iter().map(finding).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Findings;
    use model::{Refusal, Role, Warning};

    fn texts(findings: Findings) -> Vec<String> {
        findings.finish(&[]).into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn equal_doubts_are_one_finding_and_the_worst_is_not_the_rule() {
        let mut findings = Findings::default();
        let waited = |role, share| Warning::Contended { role, share };
        findings.push_run(&Warning::Absent(Refusal { what: "perf".into(), answer: "EPERM".into(), remedy: "Ask.".into() }));
        findings.push_run(&Warning::BadLine { line: 7, reason: "cut".into() });
        for cell in 0..5 {
            let few = Warning::FewMessages { messages: 50 - cell as u64, due_every: None };
            findings.push_trial(cell, None, [waited(Role::Sender, 0.05 + cell as f64 / 100.0), few].iter());
        }
        findings.push_trial(0, None, [waited(Role::Receiver, 0.9), Warning::Unaccounted { datagrams: -3 }].iter());
        let labels: Vec<String> = (0..5).map(|cell| format!("cell {cell}")).collect();
        let found = findings.finish(&labels);
        let texts: Vec<(&str, u64, usize)> = found.iter().map(|f| (f.text.as_str(), f.trials, f.places.len())).collect();
        assert_eq!(
            texts,
            [
                ("-3 datagrams unaccounted for, in 1 of 6 trials", 1, 1),
                ("trials.jsonl line 7 cannot be read: cut", 0, 0),
                ("the receiver waited 90.0 % of the time for a CPU, in 1 of 6 trials", 1, 1),
                ("in 5 of 6 trials the sender waited for a CPU, up to 9.0 % of the time", 5, 5),
                ("in 5 of 6 trials there were few messages in the measured time, no more than 46 in one", 5, 5),
                ("perf is not available: EPERM", 0, 0),
            ]
        );
        assert_eq!(found[3].cells, ["cell 0", "cell 1", "cell 2"]);
        assert_eq!(found[5].remedy, "Ask.");
    }

    #[test]
    fn what_is_in_all_trials_comes_before_what_is_in_one() {
        let mut findings = Findings::default();
        for trial in 0..189 {
            let mut warnings = vec![Warning::Contended { role: Role::Sender, share: if trial == 7 { 0.881 } else { 0.3 } }];
            warnings.extend((trial == 3).then_some(Warning::Stolen { share: 0.05 }));
            warnings.extend((trial == 4).then_some(Warning::Throttled { times: 1 }));
            findings.push_trial(0, None, warnings.iter());
        }
        let texts = texts(findings);
        assert_eq!(texts[0], "in 189 of 189 trials the sender waited for a CPU, up to 88.1 % of the time");
        assert!(texts[2].contains("hypervisor"), "{texts:?}");
    }

    #[test]
    fn doubts_about_the_run_are_counted_and_lines_are_named() {
        let mut findings = Findings::default();
        (1..=31).for_each(|line| findings.push_run(&Warning::BadLine { line: line * 2, reason: format!("cut at {line}") }));
        (0..3).for_each(|_| findings.push_run(&Warning::OneCpu));
        assert_eq!(
            texts(findings),
            ["31 lines of trials.jsonl cannot be read (2, 4, 6, 8, 10, ...); the first: cut at 1", "both ends share one CPU (3 times)"]
        );
    }

    #[test]
    fn an_arm_whose_trials_all_failed_is_named() {
        let mut findings = Findings::default();
        let failed = |error: &str| Warning::TrialFailed { error: error.into() };
        for trial in 0..4 {
            findings.push_trial(0, Some("a"), [].iter());
            let host = if trial == 0 { "endpoint on host a1" } else { "endpoint on host b" };
            findings.push_trial(0, Some("b"), [failed(&format!("{host}: `false` failed"))].iter());
            findings.push_trial(0, Some("c"), (trial != 0).then(|| failed("connect: refused")).iter());
        }
        let found = findings.finish(&[]);
        let texts: Vec<&str> = found.iter().map(|finding| finding.text.as_str()).collect();
        assert_eq!(
            texts,
            ["every trial of arm b failed; 4 of 12: endpoint on hosts a1 and b: `false` failed", "3 of 12 trials failed: connect: refused"]
        );
        assert!(found[0].remedy.contains("it has no figures") && found[1].remedy.contains("replicate"), "{found:?}");
    }

    #[test]
    fn different_errors_are_different_findings() {
        let mut findings = Findings::default();
        for error in ["connect to port 4001: refused", "connect to port 517: refused", "bind: in use", "host a: lost", "host b: full"] {
            findings.push_trial(0, None, [Warning::TrialFailed { error: error.into() }].iter());
        }
        assert_eq!(
            texts(findings),
            [
                "2 of 5 trials failed: connect to port 4001: refused",
                "1 of 5 trials failed: bind: in use",
                "1 of 5 trials failed: host b: full",
                "1 of 5 trials failed: host a: lost",
            ]
        );
    }
}
