//! The screen and the page of text: header, table, parts next to it, keys.

use std::collections::BTreeMap;

use analysis::top::{CpuRow, RowKind, Snapshot};
use unicode_width::UnicodeWidthStr;

use super::columns::{COLUMNS, CPU_COLUMNS, Column, UNSAMPLED_CPU_COLUMNS, WIDE, cpus};
use super::header::{Depth, header, heads};
use super::help;
use super::line::{Line, Role, cut, paragraph, right};
use super::rows::{self, Id, TableRow, dearest, short, tail};
use super::view::{ATTACH_SECONDS, By, View};
use crate::number::percent;
use crate::words::plural;

/// Heights from which a screen has the bar, and everything.
const WITH_BAR: usize = 12;
const WITH_ALL: usize = 18;
/// Height from which a wide screen has panels below the table.
const WITH_PANELS: usize = 36;
/// Rows of a panel.
const PANEL: usize = 8;
/// Refused things on a screen; the others are in the help.
const MOST_REFUSED: usize = 2;
/// Mark of the selected row: colour alone would not do.
const SELECTED: &str = ">";

/// The lines of a screen of this size, and what its parts have room for.
pub struct Layout {
    above: Vec<Line>,
    below: Vec<Line>,
    /// Rows of the table.
    pub rows: usize,
}

/// Lines above and below the table of a screen.
pub fn layout(snapshot: &Snapshot, view: &View, [width, height]: [usize; 2]) -> Layout {
    let depth = match height {
        ..WITH_BAR => Depth::Least,
        WITH_BAR..WITH_ALL => Depth::Bar,
        _ => Depth::All,
    };
    let mut above = header(snapshot, view, width, depth, true);
    if depth == Depth::All {
        let all = refused(snapshot, width);
        let most = if snapshot.network.is_none() { height / 2 } else { MOST_REFUSED };
        let shown = if all.len() <= most { all.len() } else { most.saturating_sub(1) };
        let hidden = all.len() > shown;
        above.extend(all.into_iter().take(shown));
        if hidden {
            let text = format!("{} refused: h lists them, with remedies", plural(snapshot.refused.len() as u64, "thing"));
            above.push(Line::of(&text, Role::Warning));
        }
        above.push(Line::default());
    } else if !snapshot.refused.is_empty() && snapshot.network.is_none() {
        above.push(Line::of("h lists reasons and remedies", Role::Warning));
    }
    above.push(head(snapshot, view, width, true));
    let mut below = if width >= WIDE && height >= WITH_PANELS && view.shown(snapshot) == By::Units {
        panels(snapshot, view, width)
    } else {
        Vec::new()
    };
    below.push(keys(snapshot, view, width));
    above.truncate(height.saturating_sub(1));
    let rows = height.saturating_sub(above.len() + below.len());
    Layout { above, below, rows }
}

/// The lines of a screen, none wider than it, as many as it has.
pub fn screen(snapshot: &Snapshot, view: &View, [width, height]: [usize; 2]) -> Vec<Line> {
    let mut lines = if view.help {
        let mut lines = vec![header(snapshot, view, width, Depth::Least, true).swap_remove(0)];
        let room = height.saturating_sub(HELP_FRAME);
        let shown = help::lines(snapshot, width).into_iter().skip(view.scroll).take(room);
        lines.extend(shown);
        lines.resize(height.saturating_sub(1).max(1), Line::default());
        lines.push(Line::of("↑ ↓ scroll  any other key: back", Role::Faint));
        lines
    } else {
        let layout = layout(snapshot, view, [width, height]);
        let rows = table(snapshot, view, width, Some(layout.rows));
        let mut lines = layout.above;
        let filled = lines.len() + layout.rows;
        lines.extend(rows);
        lines.resize(filled, Line::default());
        lines.extend(layout.below);
        lines
    };
    lines.truncate(height);
    lines.into_iter().map(|line| line.within(width)).collect()
}

/// Lines of a screen with help that are no help: the title and the keys.
const HELP_FRAME: usize = 2;

/// Scrolls a view to its selected row on a screen of this size: before it is drawn, and where it was resized.
pub fn fit(view: &mut View, snapshot: &Snapshot, size: [usize; 2]) {
    let (room, help) = if view.help {
        (size[1].saturating_sub(HELP_FRAME), help::lines(snapshot, size[0]).len())
    } else {
        (layout(snapshot, view, size).rows, 0)
    };
    view.fit(snapshot, room, help);
}

/// Everything as a page of text.
pub fn page(snapshot: &Snapshot, view: &View, width: usize) -> Vec<Line> {
    let mut lines = header(snapshot, view, width, Depth::All, false);
    lines.extend(refused(snapshot, width));
    lines.push(Line::default());
    lines.push(head(snapshot, view, width, false));
    let rows = table(snapshot, view, width, None);
    let has_mark = rows.iter().any(|line| line.spans.iter().any(|span| span.text.contains('?') && span.role == Role::Plain));
    lines.extend(rows);
    if width >= WIDE && view.shown(snapshot) == By::Units {
        lines.extend(panels(snapshot, view, width));
    }
    if has_mark {
        let legend = "?: the ends of the interval are more than a factor of two apart.";
        lines.extend(paragraph(legend, width, Role::Faint, [0, 0]));
    }
    lines.into_iter().map(|line| line.within(width)).collect()
}

/// Things that this machine refused, each with its remedy.
fn refused(snapshot: &Snapshot, width: usize) -> Vec<Line> {
    snapshot.refused.iter().flat_map(|text| paragraph(&format!("- {text}"), width, Role::Warning, [0, 2])).collect()
}

/// Title of the names behind the figures.
fn named(snapshot: &Snapshot, view: &View) -> String {
    let unit = view.unit.as_deref().map(|path| tail(path, 1));
    match (view.shown(snapshot), unit) {
        (By::Cpus, _) if snapshot.network.is_none() => String::new(),
        (By::Cpus, _) => "SOFTIRQS FOR".to_owned(),
        (By::Layers, None) => "LAYER, and kinds of work in it".to_owned(),
        (By::Layers, Some(unit)) => format!("LAYER, and kinds of work in it, of {unit}"),
        (_, Some(unit)) if view.interrupted => format!("INTERRUPTED PROCESS of {unit}"),
        (_, None) if view.interrupted => "INTERRUPTED: process (unit)".to_owned(),
        (By::Processes, None) => "PROCESS (unit)".to_owned(),
        (By::Processes, Some(unit)) => format!("PROCESS of {unit}"),
        (By::Units, _) => "UNIT (processes)".to_owned(),
    }
}

/// Width of the number of a process.
const PID: usize = 7;
/// Columns by which a screen counts as narrower where it has those numbers: names of processes need room.
const PID_COSTS: usize = 4;

/// Returns whether a table names processes.
fn has_pids(snapshot: &Snapshot, view: &View) -> bool {
    matches!(view.shown(snapshot), By::Processes | By::Units) && (view.interrupted || view.by == By::Processes)
}

/// The head of the table.
fn head(snapshot: &Snapshot, view: &View, width: usize, on_screen: bool) -> Line {
    let gutter = if on_screen { " " } else { "" };
    let line = Line::of(gutter, Role::Plain);
    let columns = match view.shown(snapshot) {
        By::Cpus => {
            let sort = rows::cpu_sort(snapshot, view.cpu_sort);
            heads(cpu_columns(snapshot, width).map(|column| (column.head, column.width, column.sort == Some(sort))))
        }
        By::Layers => heads([("CPUs", 6, true), ("share", 6, false)].into_iter()),
        _ => {
            let with_pids = has_pids(snapshot, view);
            let pid = with_pids.then_some(("pid", PID, false));
            let figures = columns(width, with_pids).map(|column| (column.head, column.width, column.sort == Some(view.sort)));
            heads(figures.chain(pid))
        }
    };
    let mut line = line;
    line.append(columns);
    line.with("  ", Role::Plain).with(&named(snapshot, view), Role::Title)
}

fn columns(width: usize, with_pids: bool) -> impl Iterator<Item = &'static Column<analysis::top::Row, super::columns::Sort>> {
    let width = if with_pids { width.saturating_sub(PID_COSTS) } else { width };
    COLUMNS.iter().filter(move |column| column.is_on(width))
}

fn cpu_columns(snapshot: &Snapshot, width: usize) -> impl Iterator<Item = &'static Column<CpuRow, super::columns::CpuSort>> {
    let columns = if snapshot.network.is_some() { CPU_COLUMNS } else { UNSAMPLED_CPU_COLUMNS };
    columns.iter().filter(move |column| column.is_on(width))
}

/// The rows of the table: on a screen those from the first that is shown, with a mark before the selected one.
fn table(snapshot: &Snapshot, view: &View, width: usize, room: Option<usize>) -> Vec<Line> {
    let ids = room.map(|_| view.ids(snapshot)).unwrap_or_default();
    let place = view.place(&ids);
    let from = if room.is_some() { view.scroll.min(ids.len()) } else { 0 };
    let most = room.unwrap_or(usize::MAX);
    let inner = width.saturating_sub(usize::from(room.is_some()));
    let lines: Vec<Line> = match view.shown(snapshot) {
        By::Units | By::Processes => payer_lines(snapshot, view, inner, width, from, most),
        By::Cpus => {
            let names = short(snapshot.units.iter().map(|row| row.name.as_str()));
            let line = |row: &CpuRow| {
                let figures = figures(cpu_columns(snapshot, width).map(|column| ((column.write)(row), column.width)));
                of(figures, softirqs_for(&names, row))
            };
            rows::cpus(snapshot, view.cpu_sort).into_iter().skip(from).take(most).map(line).collect()
        }
        By::Layers => {
            let all = rows::work(snapshot, view.unit.as_deref());
            let total: f64 = all.iter().filter(|work| work.category.is_none()).map(|work| work.cpus).sum();
            let line = |work: &rows::Work| {
                let share = if total > 0.0 { percent(work.cpus / total) } else { String::new() };
                let name = work.category.map_or(work.layer.name().to_owned(), |category| format!("  {category}"));
                of(figures([(cpus(work.cpus), 6), (share, 6)].into_iter()), &name)
            };
            all.iter().skip(from).take(most).map(line).collect()
        }
    };
    if lines.is_empty() && most > 0 {
        return vec![Line::of(&cut(&nothing(snapshot, view), width), Role::Faint)];
    }
    if room.is_none() {
        return lines;
    }
    let marked = |(at, line): (usize, Line)| {
        let is_selected = from + at == place && place < ids.len();
        let mut whole = Line::of(if is_selected { SELECTED } else { " " }, Role::Plain);
        whole.append(line);
        if is_selected { whole.padded(width).in_role(Role::Selected) } else { whole }
    };
    lines.into_iter().enumerate().map(marked).collect()
}

/// Words in place of rows.
fn nothing(snapshot: &Snapshot, view: &View) -> String {
    match (&view.unit, view.shown(snapshot)) {
        (_, By::Cpus) => "No CPU could be read.".to_owned(),
        (Some(unit), _) => format!("No process of {} has network work in this window.", tail(unit, 1)),
        (None, _) => format!("No network work in {} samples.", crate::number::whole(snapshot.samples.made)),
    }
}

/// Units for which softirqs of a CPU ran.
fn softirqs_for<'a>(names: &BTreeMap<&'a str, &'a str>, row: &'a CpuRow) -> &'a str {
    row.softirq_for.as_deref().map_or("", |path| names.get(path).copied().unwrap_or(path))
}

/// Figures, and what they are of.
fn of(figures: Line, name: &str) -> Line {
    figures.with("  ", Role::Plain).with(name, Role::Plain)
}

/// Figures at the right of their columns.
fn figures(cells: impl Iterator<Item = (String, usize)>) -> Line {
    let mut line = Line::default();
    for (place, (cell, width)) in cells.enumerate() {
        let gap = if place == 0 { "" } else { " " };
        line.push(&format!("{gap}{}", right(&cut(&cell, width), width)), Role::Plain);
    }
    line
}

/// Rows of units or processes.
fn payer_lines(snapshot: &Snapshot, view: &View, inner: usize, width: usize, from: usize, most: usize) -> Vec<Line> {
    let names = short(snapshot.units.iter().map(|row| row.name.as_str()));
    let unit = |path: &str| names.get(path).map_or_else(|| tail(path, 1).to_owned(), |name| (*name).to_owned());
    let with_pids = has_pids(snapshot, view);
    let line = |shown: &TableRow<'_>| {
        let row = &*shown.row;
        let pid = with_pids.then(|| (row.pid.map_or(String::new(), |pid| pid.to_string()), PID));
        let figures = figures(columns(width, with_pids).map(|column| ((column.write)(row), column.width)).chain(pid));
        let room = inner.saturating_sub(figures.width() + 2);
        let (name, count) = match (shown.others, row.kind, &row.unit) {
            (Some(others), ..) => ("others".to_owned(), format!(" ({others})")),
            (None, RowKind::Unit, _) if row.processes > 0 => (unit(&row.name), format!(" ({})", row.processes)),
            (None, RowKind::Unit, _) => (unit(&row.name), String::new()),
            (None, _, Some(path)) if view.unit.is_none() && with_pids => (format!("{} ({})", row.name, unit(path)), String::new()),
            (None, ..) => (row.name.clone(), String::new()),
        };
        let name = cut(&name, room.saturating_sub(count.width()));
        let role = if row.kind == RowKind::Unit || row.kind == RowKind::Process { Role::Plain } else { Role::Faint };
        figures.with("  ", Role::Plain).with(&(name + &count), role)
    };
    view.payers(snapshot).iter().skip(from).take(most).map(line).collect()
}

/// Three small tables next to each other: processes of the selected unit, the hottest CPUs, work by layer and kind.
fn panels(snapshot: &Snapshot, view: &View, width: usize) -> Vec<Line> {
    const GAP: usize = 3;
    let room = width.saturating_sub(2 * GAP) / 3;
    let columns = [processes(snapshot, view), hottest(snapshot), dearest_work(snapshot)];
    let height = columns.iter().map(Vec::len).max().unwrap_or(0);
    let mut lines = vec![Line::default()];
    for at in 0..height {
        let mut line = Line::default();
        for (place, column) in columns.iter().enumerate() {
            let cell = column.get(at).cloned().unwrap_or_default().within(room);
            line.append(if place == 2 { cell } else { cell.padded(room + GAP) });
        }
        lines.push(line);
    }
    lines
}

/// A small table: its title, its head, and the first rows.
fn panel<const N: usize>(
    title: &str,
    heads: [(&str, usize); N],
    name: &str,
    rows: impl Iterator<Item = ([String; N], String)>,
) -> Vec<Line> {
    let line = |(cells, name): ([String; N], String)| of(figures(cells.into_iter().zip(heads.map(|(_, width)| width))), &name);
    let head = line((heads.map(|(head, _)| head.to_owned()), name.to_owned())).in_role(Role::Faint);
    [Line::of(title, Role::Title), head].into_iter().chain(rows.take(PANEL).map(line)).collect()
}

fn processes(snapshot: &Snapshot, view: &View) -> Vec<Line> {
    let ids = view.ids(snapshot);
    let unit = match ids.get(view.place(&ids)) {
        Some(Id::Row(RowKind::Unit, path, _)) if !view.interrupted => path,
        _ => return vec![Line::of("Processes: select a unit", Role::Title)],
    };
    let mut rows: Vec<_> = snapshot.processes.iter().filter(|row| row.unit.as_deref() == Some(unit)).collect();
    dearest(&mut rows, |row| row.all.cpus);
    let pid = |pid: Option<u32>| pid.map_or(String::new(), |pid| pid.to_string());
    let rows = rows.iter().map(|row| ([super::columns::cpus_of(&row.all), pid(row.pid)], row.name.clone()));
    panel(&format!("Processes of {}", tail(unit, 1)), [("CPUs", 6), ("pid", PID)], "NAME", rows)
}

fn hottest(snapshot: &Snapshot) -> Vec<Line> {
    let names = short(snapshot.units.iter().map(|row| row.name.as_str()));
    let rows = rows::cpus(snapshot, super::columns::CpuSort::Network).into_iter().map(|row| {
        let cells = [row.cpu.to_string(), cpus(row.network), cpus(row.softirq), cpus(row.ksoftirqd)];
        (cells, softirqs_for(&names, row).to_owned())
    });
    panel("CPUs with most network work", [("CPU", 4), ("netw.", 6), ("soft", 5), ("ksoft", 5)], "SOFTIRQS FOR", rows)
}

fn dearest_work(snapshot: &Snapshot) -> Vec<Line> {
    let mut work: Vec<rows::Work> = rows::work(snapshot, None).into_iter().filter(|work| work.category.is_some()).collect();
    dearest(&mut work, |work| work.cpus);
    let name = |work: &rows::Work| format!("{}, {}", work.layer, work.category.map_or("", attribution::Category::name));
    panel("Layer and kind of work", [("CPUs", 6)], "LAYER, KIND", work.iter().map(|work| ([cpus(work.cpus)], name(work))))
}

/// The last line: a question, why a key did nothing, or keys.
fn keys(snapshot: &Snapshot, view: &View, width: usize) -> Line {
    if let Some(target) = &view.cursor.asked {
        let (before, after) = ("run attach on ", format!(" for {ATTACH_SECONDS} s? y/n"));
        let room = width.saturating_sub(before.width() + after.width());
        return Line::of(&format!("{before}{}{after}", cut(&target.name(), room)), Role::Warning);
    }
    if !view.cursor.note.is_empty() {
        return Line::of(view.cursor.note, Role::Warning);
    }
    let by = view.shown(snapshot);
    // The arrow in the head names the order where its column is shown.
    let sort = match by {
        By::Layers => None,
        By::Cpus => {
            let sort = rows::cpu_sort(snapshot, view.cpu_sort);
            Some((sort.name(), cpu_columns(snapshot, width).any(|column| column.sort == Some(sort))))
        }
        By::Units | By::Processes => {
            Some((view.sort.name(), columns(width, has_pids(snapshot, view)).any(|column| column.sort == Some(view.sort))))
        }
    };
    let sort = sort.map(|(name, is_seen)| if is_seen { "sort".to_owned() } else { format!("sort: {name}") }).unwrap_or_default();
    let is_payers = matches!(by, By::Units | By::Processes);
    let items: [(bool, &str, &str); 10] = [
        (view.unit.is_some() || view.interrupted || view.all || by != By::Units, "Esc", "back"),
        (by == By::Units && !view.interrupted, "Enter", "processes"),
        (is_payers, "a", "attach"),
        (!sort.is_empty(), "s", &sort),
        (by != By::Units || view.interrupted, "u", "units"),
        (by != By::Processes || view.unit.is_some(), "p", "processes"),
        (by != By::Layers, "l", "layers"),
        (by != By::Cpus, "c", "CPUs"),
        (true, "i", if view.interrupted { "owners" } else { "interrupted" }),
        (true, "f", if view.frozen { "go on" } else { "freeze" }),
    ];
    let mut line = Line::default();
    // Without samples there is no other view.
    let is_of_use = |key: &str| snapshot.network.is_some() || matches!(key, "s" | "f");
    for (_, key, name) in items.iter().filter(|(is_shown, key, _)| *is_shown && is_of_use(key)) {
        let gap = if line.spans.is_empty() { "" } else { "  " };
        if line.width() + gap.len() + key.width() + 1 + name.width() <= width {
            line.append(Line::of(gap, Role::Plain).with(key, Role::Title).with(&format!(" {name}"), Role::Faint));
        }
    }
    line
}
