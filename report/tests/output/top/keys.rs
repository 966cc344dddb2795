//! Every key, in every view.

use analysis::top::{RowKind, Snapshot};
use proptest::prelude::{Just, Strategy, prop_oneof};
use proptest::sample::select;
use report::top::{Action, By, CpuSort, Key, Sort, Target, View};

use super::machines::{busy, degraded, idle, many};
use super::{screen, view};

const SIZE: (u16, u16) = (80, 24);
/// Room for the rows that are folded, too.
const TALL: (u16, u16) = (80, 40);

/// All keys: those that are not letters, then letters with a meaning, and one without.
const KEYS: [Key; 21] = [
    Key::Enter,
    Key::Escape,
    Key::Up,
    Key::Down,
    Key::PageUp,
    Key::PageDown,
    Key::Home,
    Key::End,
    Key::Letter('a'),
    Key::Letter('s'),
    Key::Letter('u'),
    Key::Letter('p'),
    Key::Letter('l'),
    Key::Letter('c'),
    Key::Letter('i'),
    Key::Letter('f'),
    Key::Letter(' '),
    Key::Letter('h'),
    Key::Letter('?'),
    Key::Letter('q'),
    Key::Letter('x'),
];

pub fn any_key() -> impl Strategy<Value = Key> {
    prop_oneof![select(KEYS.to_vec()), Just(Key::Letter('y'))]
}

/// Presses keys, and draws after each, as the program does.
fn press(view: &mut View, snapshot: &Snapshot, keys: &[Key]) -> Action {
    let mut action = Action::None;
    for key in keys {
        screen(snapshot, view, SIZE);
        action = view.press(*key, snapshot);
    }
    screen(snapshot, view, SIZE);
    action
}

fn letters(text: &str) -> Vec<Key> {
    text.chars().map(Key::Letter).collect()
}

/// The selected row, by its mark.
fn selected(view: &mut View, snapshot: &Snapshot) -> String {
    screen(snapshot, view, SIZE).lines().find(|line| line.starts_with('>')).unwrap_or_default().to_owned()
}

/// An answer to each key in each view: what is asked for is drawn, and a key that changes nothing draws nothing.
#[test]
fn every_key_in_every_view() {
    let mut table = String::new();
    for (name, snapshot) in [("busy", busy()), ("idle", idle()), ("degraded", degraded()), ("128 CPUs", many())] {
        for by in [By::Units, By::Processes, By::Cpus, By::Layers] {
            for key in KEYS {
                let mut view = View { by, ..view() };
                let before = screen(&snapshot, &mut view, SIZE);
                let action = view.press(key, &snapshot);
                let after = screen(&snapshot, &mut view, SIZE);
                assert!(action != Action::None || before == after, "{name}, {by:?}: {key:?} changes the screen and draws nothing");
                assert!(!matches!(action, Action::Attach(_)), "{name}, {by:?}: {key:?} attaches without a question");
                let change = if before == after { "" } else { " *" };
                table += &format!("{name}, {by:?}, {key:?}: {action:?}{change}\n");
            }
        }
    }
    insta::assert_snapshot!("keys in views", table);
}

#[test]
fn enter_goes_to_processes_of_a_unit_and_escape_comes_back_to_it() {
    let (snapshot, mut view) = (busy(), view());
    press(&mut view, &snapshot, &[Key::Down, Key::Enter]);
    assert_eq!((view.by, view.unit.as_deref()), (By::Processes, Some("/system.slice/redis.service")));
    let text = screen(&snapshot, &mut view, SIZE);
    let rows = text.split_once("PROCESS").map_or("", |(_, rows)| rows);
    assert!(rows.contains("redis-server") && !rows.contains("nginx"), "{text}");
    press(&mut view, &snapshot, &letters("l"));
    assert!(screen(&snapshot, &mut view, SIZE).contains("of redis.service"));
    press(&mut view, &snapshot, &[Key::Escape]);
    assert_eq!((view.by, &view.unit), (By::Units, &None));
    assert!(selected(&mut view, &snapshot).contains("redis.service"));
    // What has nothing below says so, and stays.
    press(&mut view, &snapshot, &[Key::Home, Key::Down, Key::Down, Key::Down, Key::Down, Key::Enter]);
    assert!(screen(&snapshot, &mut view, SIZE).contains("there is nothing below this row"));
}

#[test]
fn small_rows_are_shown_and_folded_again() {
    let (snapshot, mut view) = (busy(), view());
    let folded = screen(&snapshot, &mut view, TALL);
    assert!(folded.contains("others (") && !folded.contains("sshd.service"), "{folded}");
    press(&mut view, &snapshot, &[Key::End, Key::Enter, Key::End]);
    let all = screen(&snapshot, &mut view, TALL);
    assert!(view.all && !all.contains("others (") && all.contains("sshd.service"), "{all}");
    press(&mut view, &snapshot, &[Key::Escape]);
    assert_eq!(screen(&snapshot, &mut view, TALL), folded);
}

#[test]
fn attach_is_run_after_a_yes_only() {
    let (snapshot, mut view) = (busy(), view());
    assert_eq!(press(&mut view, &snapshot, &letters("a")), Action::Redraw);
    assert!(screen(&snapshot, &mut view, SIZE).contains("run attach on nginx.service for 20 s? y/n"));
    assert_eq!(press(&mut view, &snapshot, &letters("n")), Action::Redraw);
    assert_eq!(press(&mut view, &snapshot, &letters("y")), Action::None);
    for no in [Key::Enter, Key::Escape, Key::Letter('q'), Key::Letter('a')] {
        assert_eq!(press(&mut view, &snapshot, &[Key::Letter('a'), no]), Action::Redraw);
    }
    assert_eq!(press(&mut view, &snapshot, &letters("ay")), Action::Attach(Target::Unit("/system.slice/nginx.service".to_owned())));
    assert_eq!(press(&mut view, &snapshot, &letters("pay")), Action::Attach(Target::Process { pid: 917, name: "redis-server".to_owned() }));
    // Not on CPUs, nor on what is no program.
    press(&mut view, &snapshot, &letters("ca"));
    assert!(screen(&snapshot, &mut view, SIZE).contains("select one"));
    assert_eq!(press(&mut view, &snapshot, &letters("y")), Action::Redraw);
}

#[test]
fn a_selected_row_is_followed_when_the_order_changes() {
    let (mut snapshot, mut view) = (busy(), view());
    press(&mut view, &snapshot, &[Key::Down, Key::Down]);
    assert!(selected(&mut view, &snapshot).contains("api-7f3"));
    snapshot.units.iter_mut().find(|row| row.name.ends_with("api-7f3")).unwrap().all.cpus = 3.0;
    assert!(selected(&mut view, &snapshot).contains("api-7f3"));
    // A row that is gone leaves its place to the next.
    snapshot.units.retain(|row| !row.name.ends_with("api-7f3"));
    assert!(selected(&mut view, &snapshot).contains("nginx.service"));
    // The first row is the dearest, whose ever it is.
    press(&mut view, &snapshot, &[Key::Home]);
    snapshot.units.iter_mut().find(|row| row.name.ends_with("redis.service")).unwrap().all.cpus = 3.0;
    assert!(selected(&mut view, &snapshot).contains("redis.service"));
}

#[test]
fn a_long_list_scrolls_with_the_selected_row() {
    let (snapshot, mut view) = (many(), View { by: By::Cpus, cpu_sort: CpuSort::Number, ..view() });
    let cpu =
        |view: &mut View| selected(view, &snapshot).trim_start_matches('>').split_whitespace().next().unwrap().parse::<u32>().unwrap();
    let page = screen(&snapshot, &mut view, SIZE)
        .lines()
        .filter(|line| line.trim_start_matches('>').trim_start().starts_with(|c: char| c.is_ascii_digit()))
        .count() as u32;
    assert!((10..20).contains(&page), "{page}");
    for (key, place) in [
        (Key::PageDown, page),
        (Key::PageDown, 2 * page),
        (Key::PageUp, page),
        (Key::End, 127),
        (Key::Down, 127),
        (Key::Up, 126),
        (Key::Home, 0),
        (Key::Up, 0),
        (Key::PageUp, 0),
    ] {
        press(&mut view, &snapshot, &[key]);
        assert_eq!(cpu(&mut view), place, "{key:?}");
    }
    // A smaller terminal still shows it.
    press(&mut view, &snapshot, &[Key::End]);
    assert!(screen(&snapshot, &mut view, (40, 8)).contains(">  127"), "{}", screen(&snapshot, &mut view, (40, 8)));
}

#[test]
fn orders_go_through_the_columns_that_have_figures() {
    let (snapshot, mut view) = (busy(), view());
    for (sort, first) in
        [(Sort::Messages, "nginx"), (Sort::Bytes, "nginx"), (Sort::PerMessage, "pod2/web"), (Sort::Wait, "数据库"), (Sort::Cpus, "nginx")]
    {
        press(&mut view, &snapshot, &letters("s"));
        assert_eq!(view.sort, sort);
        let row = selected(&mut view, &snapshot);
        assert!(row.contains(first), "{sort:?}: {row}");
    }
    // Where messages were not counted, the order is by CPUs or by waits.
    let mut uncounted = busy();
    uncounted.units.iter_mut().for_each(|row| (row.messages, row.bytes) = (None, None));
    press(&mut view, &uncounted, &letters("s"));
    assert_eq!(view.sort, Sort::Wait);
    press(&mut view, &uncounted, &letters("s"));
    assert_eq!(view.sort, Sort::Cpus);
    press(&mut view, &snapshot, &letters("cs"));
    assert_eq!((view.cpu_sort, view.sort), (CpuSort::Softirq, Sort::Cpus));
}

#[test]
fn help_scrolls_and_any_other_key_leaves_it() {
    let (snapshot, mut view) = (busy(), view());
    press(&mut view, &snapshot, &letters("h"));
    let first = screen(&snapshot, &mut view, (40, 10));
    assert!(first.contains("Keys"), "{first}");
    view.press(Key::End, &snapshot);
    let last = screen(&snapshot, &mut view, (40, 10));
    assert!(last != first && view.help && last.lines().filter(|line| !line.is_empty()).count() >= 9, "{last}");
    view.press(Key::Home, &snapshot);
    assert_eq!(screen(&snapshot, &mut view, (40, 10)), first);
    assert_eq!(view.press(Key::Letter('q'), &snapshot), Action::Redraw);
    assert!(!view.help);
    assert_eq!(view.press(Key::Letter('q'), &snapshot), Action::Quit);
}

#[test]
fn interrupted_tasks_are_a_view_of_their_own() {
    let (snapshot, mut view) = (busy(), view());
    press(&mut view, &snapshot, &letters("i"));
    let text = screen(&snapshot, &mut view, SIZE);
    assert!(view.interrupted && text.contains("INTERRUPTED") && text.contains("idle\n"), "{text}");
    press(&mut view, &snapshot, &[Key::Escape]);
    assert!(!view.interrupted);
    press(&mut view, &snapshot, &letters("iu"));
    assert!(!view.interrupted && view.by == By::Units);
    assert_eq!(snapshot.interrupted.iter().filter(|row| row.kind == RowKind::Idle).count(), 1);
}
