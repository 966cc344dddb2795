//! The screens of `nettoll top` at several sizes, its page of text, its line of JSON.

mod keys;
mod machines;

use analysis::top::Snapshot;
use proptest::prelude::{Just, Strategy, any, prop_assert, prop_oneof, proptest};
use proptest::test_runner::Config;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier};
use report::terminal::Style;
use report::top::{By, CpuSort, Looks, Sort, View};
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use self::machines::{any_snapshot, busy, degraded, idle, many};

/// Sizes of terminals.
const SIZES: [(u16, u16); 3] = [(40, 10), (80, 24), (120, 40)];
const COLOURED: Looks = Looks { colour: true, ascii: false };
const PLAIN: Looks = Looks { colour: false, ascii: false };

/// A screen in cells.
fn drawn(snapshot: &Snapshot, view: &mut View, looks: Looks, (width, height): (u16, u16)) -> Buffer {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    report::top::draw(snapshot, view, looks, area, &mut buffer);
    buffer
}

/// Lines of a screen, as they stand on a terminal.
fn lines(buffer: &Buffer) -> Vec<String> {
    let width = usize::from(buffer.area.width);
    let line = |cells: &[ratatui_core::buffer::Cell]| {
        let mut line = String::new();
        // Behind a wide letter there is a cell that it covers.
        let mut covered = 0;
        for cell in cells {
            if covered == 0 {
                line += cell.symbol();
                covered = cell.symbol().width().max(1);
            }
            covered -= 1;
        }
        line
    };
    buffer.content.chunks(width.max(1)).map(line).collect()
}

fn screen(snapshot: &Snapshot, view: &mut View, size: (u16, u16)) -> String {
    let lines = lines(&drawn(snapshot, view, PLAIN, size));
    lines.iter().map(|line| line.trim_end().to_owned() + "\n").collect()
}

fn view() -> View {
    View::new("db3".to_owned())
}

#[test]
fn screens() {
    for (name, snapshot) in [("busy", busy()), ("idle", idle()), ("degraded", degraded()), ("128 CPUs", many())] {
        for size in SIZES {
            let text = screen(&snapshot, &mut view(), size);
            insta::assert_snapshot!(format!("{name} at {} x {}", size.0, size.1), text);
        }
    }
}

#[test]
fn views() {
    let views = [
        ("processes", View { by: By::Processes, ..view() }),
        ("processes of a unit", View { by: By::Processes, unit: Some("/system.slice/nginx.service".to_owned()), ..view() }),
        ("CPUs", View { by: By::Cpus, cpu_sort: CpuSort::Softirq, ..view() }),
        ("layers", View { by: By::Layers, ..view() }),
        ("interrupted", View { interrupted: true, ..view() }),
        ("by time of a message, frozen", View { sort: Sort::PerMessage, frozen: true, ..view() }),
        ("all rows", View { all: true, ..view() }),
    ];
    for (name, mut view) in views {
        insta::assert_snapshot!(format!("{name} at 80 x 24"), screen(&busy(), &mut view, (80, 24)));
    }
    for size in SIZES {
        let mut view = View { help: true, ..view() };
        insta::assert_snapshot!(format!("help at {} x {}", size.0, size.1), screen(&degraded(), &mut view, size));
    }
}

#[test]
fn pages_of_text() {
    for (name, snapshot) in [("busy", busy()), ("idle", idle()), ("degraded", degraded())] {
        for width in [40, 80, 120, 200] {
            let text = report::top::text(&snapshot, "db3", Style { width, ..Style::PLAIN });
            insta::assert_snapshot!(format!("text of {name} in {width} columns"), text);
        }
    }
    let coloured = report::top::text(&busy(), "db3", Style { colour: true, ..Style::PLAIN });
    insta::assert_snapshot!("text of busy in colour", coloured.escape_debug().to_string().replace("\\n", "\n"));
    let ascii = report::top::text(&busy(), "db3", Style { ascii: true, ..Style::PLAIN });
    assert!(ascii.is_ascii(), "{ascii}");
}

/// Colours and letters of the 80 × 24 screen: each style with the text that it has.
#[test]
fn styles() {
    let buffer = drawn(&busy(), &mut view(), COLOURED, (80, 24));
    let mut runs: Vec<(String, String)> = Vec::new();
    for cell in &buffer.content {
        let style = format!("{:?} {:?}", cell.fg, cell.modifier);
        match runs.last_mut().filter(|(last, _)| *last == style) {
            Some((_, text)) => *text += cell.symbol(),
            None => runs.push((style, cell.symbol().to_owned())),
        }
    }
    runs.retain(|(style, _)| *style != format!("{:?} {:?}", Color::Reset, Modifier::empty()));
    let text: String = runs.iter().map(|(style, text)| format!("{style}: {}\n", text.trim())).collect();
    insta::assert_snapshot!("styles at 80 x 24", text);
}

#[test]
fn nothing_is_said_by_colour_alone() {
    for snapshot in [busy(), idle(), degraded(), many()] {
        for size in SIZES {
            let [coloured, plain] = [COLOURED, PLAIN].map(|looks| drawn(&snapshot, &mut view(), looks, size));
            assert_eq!(lines(&coloured), lines(&plain));
            assert!(plain.content.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
        }
    }
    // Without styles the selected row still has its mark, and the order its arrow.
    let text = screen(&busy(), &mut view(), (80, 24));
    assert_eq!((text.matches("\n>").count(), text.matches('↓').count()), (1, 1), "{text}");
}

#[test]
fn names_of_others_do_not_steer() {
    let hostile = busy();
    let text = report::top::text(&hostile, "a\u{1b}]0;x\u{7}", Style { width: 200, ..Style::PLAIN });
    let screen = screen(&hostile, &mut View::new("\u{202e}3bd\u{1b}[2J".to_owned()), (200, 50));
    for text in [text, screen] {
        assert!(text.chars().all(|letter| letter == '\n' || !letter.is_control() && letter != '\u{202e}'), "{text:?}");
        assert!(text.contains("\\u{1b}"), "{text}");
    }
}

/// The own cost is on every screen and every page.
#[test]
fn the_cost_of_watching_is_always_shown() {
    for snapshot in [busy(), idle(), degraded(), many()] {
        for size in SIZES {
            for by in [By::Units, By::Processes, By::Cpus, By::Layers] {
                let text = screen(&snapshot, &mut View { by, ..view() }, size);
                assert!(text.contains("own cost"), "{text}");
            }
        }
    }
}

/// Numbers that stand before a row's name, the first `count` of them; what is not shown is 0.
fn figures(line: &str, count: usize) -> Vec<f64> {
    let number = |word: &str| word.trim_end_matches('?').replace(',', "").parse().unwrap_or(0.0);
    line.trim_start_matches('>').split_whitespace().take(count).map(number).collect()
}

#[test]
fn shown_rows_add_up_to_the_total() {
    let snapshot = busy();
    let network = snapshot.network.as_ref().unwrap();
    for (name, of) in [
        ("units", View { ..view() }),
        ("processes", View { by: By::Processes, ..view() }),
        ("interrupted", View { interrupted: true, ..view() }),
        ("all", View { all: true, ..view() }),
    ] {
        let mut of = of;
        let text = screen(&snapshot, &mut of, (80, 100));
        let rows: Vec<&str> = text.lines().skip_while(|line| !line.contains("↓CPUs")).skip(1).take_while(|line| !line.is_empty()).collect();
        for (column, total) in [(0, network.all.cpus), (2, network.call), (3, network.softirq)] {
            let sum: f64 = rows.iter().map(|line| figures(line, 4)[column]).sum();
            // Each figure is rounded to the third digit.
            assert!((sum - total).abs() <= 0.005 * rows.len() as f64, "{name}, column {column}: {sum}, {total}\n{text}");
        }
        assert!(rows.len() > 4, "{text}");
    }
    // A row for each unit, in samples: exactly.
    let samples: u64 = snapshot.units.iter().map(|row| row.samples).sum();
    assert_eq!(samples, machines::NETWORK_SAMPLES);
}

#[test]
fn layers_add_up_and_so_do_kinds_in_each() {
    let text = screen(&busy(), &mut View { by: By::Layers, ..view() }, (80, 100));
    let rows: Vec<&str> = text.lines().skip_while(|line| !line.contains("LAYER")).skip(1).take_while(|line| !line.is_empty()).collect();
    let is_kind = |line: &&&str| line.contains(" %    ");
    let sum = |rows: Vec<&&str>| rows.iter().map(|line| figures(line, 1)[0]).sum::<f64>();
    let [kinds, layers] = [sum(rows.iter().filter(is_kind).collect()), sum(rows.iter().filter(|line| !is_kind(line)).collect())];
    let total = busy().network.unwrap().all.cpus;
    assert!((kinds - total).abs() < 0.02 && (layers - total).abs() < 0.02, "{kinds} {layers} {total}\n{text}");
}

#[test]
fn a_window_is_a_line_of_json() {
    let line = report::top::json_line(&busy());
    assert_eq!((line.matches('\n').count(), line.ends_with('\n')), (1, true));
    let value: Value = serde_json::from_str(&line).unwrap();
    let names: Vec<&str> = value["units"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert!(names.iter().eq(busy().units.iter().map(|row| &row.name)) && !line.contains('\u{202e}'), "{line}");
    insta::assert_snapshot!("keys of a line of JSON", keys_of(&value, "").join("\n"));
    insta::assert_snapshot!("line of JSON of an idle machine", report::top::json_line(&idle()));
    let value: Value = serde_json::from_str(&report::top::json_line(&degraded())).unwrap();
    assert!(value["network"].is_null() && value["refused"].as_array().unwrap().len() == 4);
}

/// The keys of a value, each once, those of lists by their first entry.
fn keys_of(value: &Value, path: &str) -> Vec<String> {
    match value {
        Value::Object(map) => map.iter().flat_map(|(key, value)| keys_of(value, &format!("{path}.{key}"))).collect(),
        Value::Array(list) if !list.is_empty() => keys_of(&list[0], &format!("{path}[]")),
        Value::Array(_) => vec![format!("{path}[]")],
        Value::Null => vec![format!("{path}: null")],
        Value::Bool(_) => vec![format!("{path}: true or false")],
        Value::Number(_) => vec![format!("{path}: number")],
        Value::String(_) => vec![format!("{path}: text")],
    }
}

fn any_view() -> impl Strategy<Value = View> {
    let by = prop_oneof![Just(By::Units), Just(By::Processes), Just(By::Cpus), Just(By::Layers)];
    let sort = (0..Sort::ALL.len()).prop_map(|place| Sort::ALL[place]);
    let unit = proptest::option::of("[a-z/]{0,4}|\\PC{0,4}");
    (by, sort, any::<[bool; 4]>(), unit, 0..200_usize, any::<String>()).prop_map(
        |(by, sort, [interrupted, all, frozen, help], unit, scroll, host)| View {
            by,
            sort,
            interrupted,
            all,
            frozen,
            help,
            unit,
            scroll,
            ..View::new(host)
        },
    )
}

proptest! {
    #![proptest_config(Config::with_cases(300))]
    #[test]
    fn any_snapshot_is_drawn_at_any_size(snapshot in any_snapshot(), view in any_view(), width in 0..220_u16, height in 0..60_u16, presses in proptest::collection::vec(keys::any_key(), 0..12)) {
        let mut view = view;
        drawn(&snapshot, &mut view, COLOURED, (width, height));
        for key in presses {
            let _ = view.press(key, &snapshot);
            drawn(&snapshot, &mut view, COLOURED, (width, height));
        }
        for line in lines(&drawn(&snapshot, &mut view, PLAIN, (width, height))) {
            prop_assert!(line.width() <= usize::from(width), "{line:?}");
            prop_assert!(!line.contains(char::is_control), "{line:?}");
        }
        let style = Style { width: usize::from(width), ..Style::PLAIN };
        for line in report::top::text(&snapshot, &view.host, style).lines() {
            prop_assert!(line.width() <= style.columns(), "{line:?}");
        }
        let line = report::top::json_line(&snapshot);
        prop_assert!(serde_json::from_str::<Value>(&line).is_ok(), "{line}");
    }
}
