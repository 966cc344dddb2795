//! The help of the screen: keys, columns, and what was refused.

use analysis::top::Snapshot;

use super::columns::{COLUMNS, CPU_COLUMNS};
use super::line::{Line, Role, paragraph};

/// Keys, each with its effect.
pub const KEYS: [(&str, &str); 13] = [
    ("↑ ↓ PgUp PgDn Home End", "select a row"),
    ("Enter", "processes of a unit; the rows in others"),
    ("Esc", "back"),
    ("a", "observe the selected program with nettoll attach, after a question"),
    ("s", "next order of rows"),
    ("u", "units: services and containers"),
    ("p", "processes"),
    ("l", "layers, with the kinds of work in each"),
    ("c", "CPUs"),
    ("i", "the tasks in which the work ran, in place of those that it was for"),
    ("f, space", "freeze the screen, and go on"),
    ("h, ?", "help"),
    ("q, Ctrl-C", "end; Ctrl-Z stops until fg"),
];

/// Rows and marks, each with its meaning.
pub const MARKS: [(&str, &str); 12] = [
    ("?", "behind a figure: the ends of its interval are more than a factor of two apart"),
    ("<", "no sample: the figure is below that, at 95 %"),
    ("–", "nothing, or not counted"),
    ("others (N)", "rows below their own ±, and their sum"),
    ("kernel", "the kernel for itself, such as NFS and WireGuard"),
    ("forwarded", "packets for other machines or namespaces, or dropped on the way"),
    ("unowned", "softirq work on CPUs where no owner was found"),
    ("causes", "softirqs at the end of the unit's own sends, and those with which other CPUs receive its packets"),
    ("SOFTIRQS FOR", "the unit or row that most softirqs of the CPU were for"),
    ("dropped/s", "packets a second that the kernel dropped at sockets, most of them because a receive buffer was full"),
    ("owners found", "softirq work whose socket was in the sample; the rest is shared out in proportion, CPU by CPU"),
    ("no sample", "CPU time without the samples that were due: taken by a hypervisor, or idle CPUs that did not wake"),
];

/// The help, in lines no wider than `width`.
pub fn lines(snapshot: &Snapshot, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    if !snapshot.refused.is_empty() {
        lines.push(Line::of("Refused by this machine", Role::Title));
        for text in &snapshot.refused {
            lines.extend(paragraph(&format!("- {text}"), width, Role::Warning, [0, 2]));
        }
        lines.push(Line::default());
    }
    let columns = COLUMNS.iter().map(|column| (column.head, column.meaning));
    let of_cpus = CPU_COLUMNS.iter().map(|column| (column.head, column.meaning));
    section(&mut lines, "Keys", KEYS.into_iter(), width);
    section(&mut lines, "Columns", columns, width);
    section(&mut lines, "Columns of CPUs", of_cpus, width);
    section(&mut lines, "Rows and marks", MARKS.into_iter(), width);
    lines
}

fn section<'a>(lines: &mut Vec<Line>, title: &str, rows: impl Iterator<Item = (&'a str, &'a str)>, width: usize) {
    if lines.last().is_some_and(|line| !line.spans.is_empty()) {
        lines.push(Line::default());
    }
    lines.push(Line::of(title, Role::Title));
    for (name, meaning) in rows {
        lines.extend(paragraph(&format!("{name}: {meaning}"), width, Role::Plain, [2, 4]));
    }
}
