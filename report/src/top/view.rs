//! The view of a snapshot, and the effect of each key on it. Pure: no terminal is asked.

use analysis::top::{RowKind, Snapshot};

use super::columns::{CpuSort, Sort};
use super::rows::{self, Id, Selection, Table, TableRow, payers};

/// Time for which `attach` is proposed.
pub const ATTACH_SECONDS: u32 = 20;

/// Kinds of rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum By {
    /// Units: cgroups.
    #[default]
    Units,
    /// Processes.
    Processes,
    /// CPUs.
    Cpus,
    /// Layers, and kinds of work in each.
    Layers,
}

/// A key of any terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// Enter.
    Enter,
    /// Escape, and backspace.
    Escape,
    /// One row up.
    Up,
    /// One row down.
    Down,
    /// One page up.
    PageUp,
    /// One page down.
    PageDown,
    /// To the first row.
    Home,
    /// To the last row.
    End,
    /// A letter.
    Letter(char),
}

/// A program that `attach` is to observe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A unit, by its path below the root of cgroups.
    Unit(String),
    /// A process.
    Process {
        /// Its number.
        pid: u32,
        /// Its name.
        name: String,
    },
}

impl Target {
    /// Its name in a question.
    pub fn name(&self) -> String {
        match self {
            Self::Unit(path) => rows::tail(path, 1).to_owned(),
            Self::Process { pid, name } => format!("{name} ({pid})"),
        }
    }
}

/// The program's answer to a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Nothing: the screen is as it was.
    None,
    /// Draw the screen again.
    Redraw,
    /// End.
    Quit,
    /// End, and run `attach`.
    Attach(Target),
}

/// The part of a snapshot that is shown, and its order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    /// Name of the machine, others' text.
    pub host: String,
    /// Kind of rows.
    pub by: By,
    /// Order of units and processes.
    pub sort: Sort,
    /// Order of CPUs.
    pub cpu_sort: CpuSort,
    /// Rows are the tasks in which the work ran, not those that it was for.
    pub interrupted: bool,
    /// The unit whose processes or layers are shown, by its path.
    pub unit: Option<String>,
    /// Rows below their own ± are shown one by one.
    pub all: bool,
    /// New snapshots are not shown.
    pub frozen: bool,
    /// The help is shown.
    pub help: bool,
    /// First row that is shown, of the help its first line.
    pub scroll: usize,
    /// The selected row, and what the last line says.
    pub cursor: Cursor,
}

/// The selected row, and what the last line says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cursor {
    /// The row that keys act on; `None`: the first.
    selected: Option<Id>,
    /// The place that it had, for when it is gone.
    place: usize,
    /// Rows that the screen has room for.
    room: usize,
    /// The program that a question is about.
    pub(super) asked: Option<Target>,
    /// Why a key did nothing.
    pub(super) note: &'static str,
}

impl View {
    /// Units of this machine, the dearest first.
    pub fn new(host: String) -> Self {
        Self { host, ..Self::default() }
    }

    /// Kind of rows: without samples only CPUs are known.
    pub fn shown(&self, snapshot: &Snapshot) -> By {
        if snapshot.network.is_none() { By::Cpus } else { self.by }
    }

    /// The rows of units, processes or interrupted tasks.
    pub(super) fn payers<'a>(&self, snapshot: &'a Snapshot) -> Vec<TableRow<'a>> {
        let table = match self.by {
            _ if self.interrupted => Table::Interrupted,
            By::Processes => Table::Processes,
            By::Units | By::Cpus | By::Layers => Table::Units,
        };
        payers(snapshot, &Selection { table, unit: self.unit.as_deref(), all: self.all, sort: self.sort })
    }

    /// Identities of all rows, in their order.
    pub(super) fn ids(&self, snapshot: &Snapshot) -> Vec<Id> {
        match self.shown(snapshot) {
            By::Units | By::Processes => self.payers(snapshot).iter().map(TableRow::id).collect(),
            By::Cpus => rows::cpus(snapshot, self.cpu_sort).iter().map(|row| Id::Cpu(row.cpu)).collect(),
            By::Layers => rows::work(snapshot, self.unit.as_deref()).iter().map(|work| Id::Work(work.layer, work.category)).collect(),
        }
    }

    /// Place of the selected row: where a row is gone, the one that took its place.
    pub(super) fn place(&self, ids: &[Id]) -> usize {
        let found = self.cursor.selected.as_ref().map(|id| ids.iter().position(|other| other == id).unwrap_or(self.cursor.place));
        found.unwrap_or(0).min(ids.len().saturating_sub(1))
    }

    /// Scrolls to the selected row on a screen with room for so many rows (of the help: lines); to be called before
    /// a snapshot is drawn.
    pub(super) fn fit(&mut self, snapshot: &Snapshot, room: usize, help: usize) {
        self.cursor.room = room;
        if self.help {
            self.scroll = self.scroll.min(help.saturating_sub(room));
            return;
        }
        let ids = self.ids(snapshot);
        self.cursor.place = self.place(&ids);
        let last = ids.len().saturating_sub(room);
        self.scroll = self.scroll.min(self.cursor.place).max((self.cursor.place + 1).saturating_sub(room)).min(last);
    }

    /// Does what a key asks for.
    pub fn press(&mut self, key: Key, snapshot: &Snapshot) -> Action {
        let had_note = !std::mem::take(&mut self.cursor.note).is_empty();
        if let Some(target) = self.cursor.asked.take() {
            return if matches!(key, Key::Letter('y' | 'Y')) { Action::Attach(target) } else { Action::Redraw };
        }
        if self.help {
            return self.press_in_help(key);
        }
        if key == Key::Letter('q') {
            return Action::Quit;
        }
        let before = self.clone();
        match key {
            Key::Enter => self.enter(snapshot),
            Key::Escape => self.leave(),
            Key::Up => self.step(snapshot, |place, _| place.saturating_sub(1)),
            Key::Down => self.step(snapshot, |place, _| place + 1),
            Key::PageUp => self.step(snapshot, |place, room| place.saturating_sub(room)),
            Key::PageDown => self.step(snapshot, |place, room| place + room),
            Key::Home => self.step(snapshot, |_, _| 0),
            Key::End => self.step(snapshot, |_, _| usize::MAX),
            Key::Letter(letter) => self.letter(letter, snapshot),
        }
        if *self != before || had_note { Action::Redraw } else { Action::None }
    }

    fn press_in_help(&mut self, key: Key) -> Action {
        let page = self.cursor.room.max(1);
        match key {
            Key::Up => self.scroll = self.scroll.saturating_sub(1),
            Key::Down => self.scroll += 1,
            Key::PageUp => self.scroll = self.scroll.saturating_sub(page),
            Key::PageDown => self.scroll += page,
            Key::Home => self.scroll = 0,
            Key::End => self.scroll = usize::MAX - page,
            Key::Enter | Key::Escape | Key::Letter(_) => (self.help, self.scroll) = (false, 0),
        }
        Action::Redraw
    }

    fn letter(&mut self, letter: char, snapshot: &Snapshot) {
        match letter {
            'h' | '?' => (self.help, self.scroll) = (true, 0),
            'f' | ' ' => self.frozen = !self.frozen,
            'u' => self.turn(By::Units, None),
            'p' => self.turn(By::Processes, None),
            'c' => self.turn(By::Cpus, None),
            'l' => self.turn(By::Layers, self.unit_at(snapshot)),
            'i' => {
                let by = if self.by == By::Processes { By::Processes } else { By::Units };
                let interrupted = !self.interrupted;
                let unit = self.unit.take().filter(|_| by == By::Processes);
                self.turn(by, unit);
                self.interrupted = interrupted;
            }
            's' if self.shown(snapshot) == By::Cpus => {
                let now = rows::cpu_sort(snapshot, self.cpu_sort);
                self.cpu_sort = next(&CpuSort::ALL, now, |sort| rows::cpu_sort(snapshot, sort) == sort);
            }
            's' if self.by == By::Layers => self.cursor.note = "layers are in the order of their CPUs",
            // An order by figures that no row has would be none.
            's' => {
                let is_known = |sort: Sort| self.payers(snapshot).iter().any(|shown| sort.value(&shown.row).is_some());
                self.sort = next(&Sort::ALL, self.sort, is_known);
            }
            'a' => match self.target(snapshot) {
                Some(target) => self.cursor.asked = Some(target),
                None => self.cursor.note = "attach observes a unit or a process: select one",
            },
            _ => {}
        }
    }

    /// Shows other rows, from the first.
    fn turn(&mut self, by: By, unit: Option<String>) {
        (self.by, self.unit, self.interrupted) = (by, unit, false);
        self.forget();
    }

    fn forget(&mut self) {
        (self.cursor.selected, self.cursor.place, self.scroll) = (None, 0, 0);
    }

    /// Goes down into a row.
    fn enter(&mut self, snapshot: &Snapshot) {
        match self.selected_id(snapshot) {
            Some(Id::Others) => self.all = true,
            Some(Id::Row(RowKind::Unit, path, _)) => self.turn(By::Processes, Some(path)),
            Some(Id::Row(RowKind::Process, ..)) => self.cursor.note = "a attaches to a process and shows its functions",
            _ => self.cursor.note = "there is nothing below this row",
        }
    }

    /// Goes back up.
    fn leave(&mut self) {
        if let Some(path) = self.unit.take() {
            self.turn(By::Units, None);
            self.cursor.selected = Some(Id::Row(RowKind::Unit, path, None));
        } else if self.all {
            self.all = false;
            self.forget();
        } else if self.by != By::Units || self.interrupted {
            self.turn(By::Units, None);
        }
    }

    fn step(&mut self, snapshot: &Snapshot, to: impl Fn(usize, usize) -> usize) {
        let mut ids = self.ids(snapshot);
        let place = to(self.place(&ids), self.cursor.room.max(1)).min(ids.len().saturating_sub(1));
        self.cursor.place = place;
        // The first row stays the dearest: the selection does not follow a row down from there.
        self.cursor.selected = if place == 0 || ids.is_empty() { None } else { Some(ids.swap_remove(place)) };
    }

    fn selected_id(&self, snapshot: &Snapshot) -> Option<Id> {
        let mut ids = self.ids(snapshot);
        let place = self.place(&ids);
        (place < ids.len()).then(|| ids.swap_remove(place))
    }

    /// The unit that is shown or selected.
    fn unit_at(&self, snapshot: &Snapshot) -> Option<String> {
        match self.by {
            By::Processes | By::Layers => self.unit.clone(),
            By::Units | By::Cpus => None,
        }
        .filter(|unit| snapshot.units.iter().any(|row| row.name == *unit))
    }

    /// The program to attach to.
    fn target(&self, snapshot: &Snapshot) -> Option<Target> {
        match self.selected_id(snapshot) {
            Some(Id::Row(RowKind::Unit, path, _)) => Some(Target::Unit(path)),
            Some(Id::Row(RowKind::Process, name, Some(pid))) => Some(Target::Process { pid, name }),
            Some(Id::Work(..)) => self.unit.clone().map(Target::Unit),
            _ => None,
        }
    }
}

/// The choice after `now` that is known; `now` where there is no other.
fn next<T: Copy + PartialEq>(all: &[T], now: T, is_known: impl Fn(T) -> bool) -> T {
    let place = all.iter().position(|one| *one == now).unwrap_or(0);
    let mut after = all.iter().cycle().skip(place + 1).take(all.len()).copied();
    after.find(|one| is_known(*one)).unwrap_or(now)
}
