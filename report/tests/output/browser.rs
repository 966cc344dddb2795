//! The page in a real browser: it draws, it fits, it keeps quiet.

use std::path::{Path, PathBuf};

use crate::chromium::{Browser, Page, Screen, present};
use crate::support;
use analysis::result::Analysis;

pub const WIDE: Screen = Screen { width: 1280, height: 900, dark: false };
pub const NARROW: Screen = Screen { width: 400, height: 800, dark: false };

/// Where pages and pictures are left, to be looked at.
pub fn place(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

pub fn pictures() -> PathBuf {
    let folder = place("pictures");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn written(name: &str, analysis: &Analysis) -> PathBuf {
    let path = place(name);
    std::fs::write(&path, report::html::render(analysis)).unwrap();
    path
}

pub fn assert_quiet(page: &mut Page) {
    assert_eq!(page.complaints(), Vec::<String>::new());
    assert_eq!(page.requests(), Vec::<String>::new());
}

pub fn assert_fits(page: &mut Page, screen: Screen) {
    let width = page.evaluate("document.documentElement.scrollWidth").as_u64().unwrap();
    assert!(width <= u64::from(screen.width), "the page is {width} wide on a screen of {}", screen.width);
    let outside = page.evaluate(
        "[...document.querySelectorAll('.plot')].filter(plot => [...plot.querySelectorAll('svg')].some(svg => svg.matches('.chart') && svg.getBoundingClientRect().width > plot.getBoundingClientRect().width + 1)).map(plot => plot.id)",
    );
    assert_eq!(outside, serde_json::json!([]), "charts wider than their place");
}

/// Opens what is folded.
pub fn unfold(page: &mut Page) {
    page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })");
    page.settle();
}

/// Every chart of the data has one picture that is seen, with a mark for each measured point of
/// the data, and names for readers who cannot see it.
fn assert_drawn(page: &mut Page, charts: usize) {
    unfold(page);
    let figures = support::unpacked(page.evaluate("document.getElementById('chart-data').textContent").as_str().unwrap());
    let counts = page.evaluate(&format!(
        "({figures}).map(chart => {{
            const plot = document.getElementById('chart-' + chart.id);
            const seen = [...plot.querySelectorAll('svg')].filter(svg => svg.getClientRects().length > 0);
            const points = chart.traces.filter(trace => !trace.model && !trace.stacked).flatMap(trace => trace.y).filter(y => y !== null).length;
            const stacked = chart.traces.some(trace => trace.stacked);
            // Plain marks are strokes of one path.
            const plain = [...seen[0].querySelectorAll('.s .dots:not(.inner)')].map(path => path.getAttribute('d').split('M').length - 1);
            const marks = plain.reduce((sum, count) => sum + count, seen[0].querySelectorAll('.s .mark').length);
            return [chart.id, seen.length, stacked ? marks > 5 : marks === points,
                plot.getAttribute('aria-label').length > 5 && seen[0].getAttribute('aria-label').length > 5]
        }})"
    ));
    let counts = counts.as_array().unwrap();
    assert_eq!(counts.len(), charts);
    for chart in counts {
        assert_eq!(chart.as_array().unwrap()[1..], [serde_json::json!(1), true.into(), true.into()], "{chart}");
    }
}

/// No two marks of a drawing lie on one another.
fn assert_apart(page: &mut Page) {
    let touching = page.evaluate(
        "[...document.querySelectorAll('.plot svg')].filter(svg => svg.getClientRects().length > 0).flatMap(svg => {
            const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
            const at = [...svg.querySelectorAll('.s .mark:not(.dot)')].map(mark => mark.getBoundingClientRect()).map(box => [box.x + box.width / 2, box.y + box.height / 2]);
            return at.flatMap((a, i) => at.slice(i + 1).filter(b => Math.hypot(a[0] - b[0], a[1] - b[1]) < 5.5 * scale).map(b => [svg.parentElement.id, a, b]))
        })",
    );
    assert_eq!(touching, serde_json::json!([]));
}

#[test]
fn every_chart_is_drawn_on_every_screen() {
    if !present() {
        return;
    }
    let path = written("sample.html", &support::sample());
    let mut browser = Browser::start();
    for (screen, name) in [(WIDE, "wide-light"), (NARROW, "narrow-light"), (WIDE, "wide-dark"), (NARROW, "narrow-dark")] {
        let screen = Screen { dark: name.ends_with("dark"), ..screen };
        let mut page = browser.open(&path, screen);
        assert_drawn(&mut page, 10);
        assert_apart(&mut page);
        assert_fits(&mut page, screen);
        assert_quiet(&mut page);
        page.screenshots(&pictures(), name);
        page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true; })");
        page.settle();
        assert_fits(&mut page, screen);
        page.screenshots(&pictures(), &format!("{name}-open"));
    }
}

#[test]
fn maps_of_buffers_are_drawn_on_every_screen() {
    if !present() {
        return;
    }
    let path = written("buffers.html", &support::buffers::buffers());
    let mut browser = Browser::start();
    for (screen, name) in [(WIDE, "buffers-wide"), (NARROW, "buffers-narrow"), (Screen { dark: true, ..WIDE }, "buffers-dark")] {
        let mut page = browser.open(&path, screen);
        assert_drawn(&mut page, 2);
        assert_fits(&mut page, screen);
        assert_quiet(&mut page);
        let squares =
            "[...document.querySelectorAll('svg.heat g rect')].filter(square => square.getBoundingClientRect().width > 20).length";
        assert_eq!(page.evaluate(squares), 17 * 17);
        page.screenshots(&pictures(), name);
    }
}

#[test]
fn charts_follow_the_colour_scheme_and_the_width() {
    if !present() {
        return;
    }
    let path = written("follow.html", &support::sample());
    let mut browser = Browser::start();
    let mut page = browser.open(&path, WIDE);
    let colour = "getComputedStyle(document.querySelector('#chart-messages .s .mark')).fill";
    let light = page.evaluate(colour);
    page.show(Screen { dark: true, ..WIDE });
    page.settle();
    assert_ne!(page.evaluate(colour), light);
    page.show(NARROW);
    page.settle();
    assert_eq!(page.evaluate(colour), light);
    assert_drawn(&mut page, 10);
    assert_fits(&mut page, NARROW);
    assert_quiet(&mut page);
}

#[test]
fn the_size_axis_can_be_switched() {
    if !present() {
        return;
    }
    let path = written("switch.html", &support::sample());
    let mut browser = Browser::start();
    let mut page = browser.open(&path, WIDE);
    unfold(&mut page);
    let kind =
        "[...document.querySelectorAll('#chart-delay svg')].filter(svg => svg.getClientRects().length > 0).map(svg => svg.dataset.axis)";
    assert_eq!(page.evaluate(kind), serde_json::json!(["log"]), "sizes span decades");
    page.evaluate("document.querySelector('[data-chart=delay][data-axis=linear]').click()");
    assert_eq!(page.evaluate(kind), serde_json::json!(["linear"]));
    assert_eq!(page.evaluate("document.querySelector('[data-chart=delay][data-axis=linear]').getAttribute('aria-pressed')"), "true");
    assert_apart(&mut page);
    assert_drawn(&mut page, 10);
    assert_quiet(&mut page);
}

/// A link to a place in a fold opens it.
#[test]
fn folds_open_for_links_and_for_paper() {
    if !present() {
        return;
    }
    let path = written("folds.html", &support::disturbed());
    let mut browser = Browser::start();
    let mut page = browser.open(&path, NARROW);
    let open = "document.querySelectorAll('details.fold[open]').length";
    assert_eq!(page.evaluate(open), 0);
    page.evaluate("document.querySelector('a[href=\"#doubts\"]').click()");
    page.settle();
    assert_eq!(page.evaluate("document.getElementById('doubts').open"), true);
    assert_eq!(page.evaluate(open), 1);
    assert_quiet(&mut page);
}

#[test]
fn what_is_pointed_at_shows_its_figures() {
    if !present() {
        return;
    }
    let path = written("hover.html", &support::sample());
    let mut browser = Browser::start();
    let mut page = browser.open(&path, WIDE);
    unfold(&mut page);
    let mark = page.evaluate(
        "(() => { const mark = document.querySelector('#chart-messages [data-series=\"2\"] .mark'); mark.scrollIntoView({ block: 'center', behavior: 'instant' });
            const box = mark.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2] })()",
    );
    // Next to it is near enough.
    page.point(mark[0].as_f64().unwrap() + 3.0, mark[1].as_f64().unwrap() - 3.0);
    page.settle();
    let tip = "document.querySelector('.tip:not([hidden])')?.textContent";
    let label = page.evaluate(tip);
    let label = label.as_str().unwrap();
    assert!(label.contains("UDP_STREAM") && label.contains("messages/s") && label.contains("n = 9"), "{label}");
    page.screenshots(&pictures(), "hover");
    // The keyboard reaches every mark, and says it.
    page.evaluate("document.getElementById('chart-messages').focus()");
    let said = "document.querySelector('[aria-live=polite]').textContent";
    let mut heard = Vec::new();
    for key in ["ArrowRight", "ArrowRight", "ArrowDown", "End"] {
        page.press(key);
        heard.push(page.evaluate(said).as_str().unwrap().lines().next().unwrap().to_owned());
    }
    assert_eq!(heard.iter().collect::<std::collections::BTreeSet<_>>().len(), 4, "{heard:?}");
    assert!(heard[3].ends_with("(ipv6) · 8,192 B"), "the last that was measured: {heard:?}");
    page.press("Escape");
    assert!(page.evaluate(tip).is_null());
    assert_quiet(&mut page);
}

#[test]
fn what_is_saved_is_whole() {
    if !present() {
        return;
    }
    let (path, folder) = (written("save.html", &support::sample()), tempfile::tempdir().unwrap());
    let mut browser = Browser::start();
    let mut page = browser.open(&path, WIDE);
    page.save_into(folder.path());
    unfold(&mut page);
    let files = [
        ("[data-save=json]", "nettoll.json"),
        ("[data-save=csv]", "nettoll.csv"),
        ("[data-picture=messages][data-kind=PNG]", "nettoll-messages.png"),
        ("[data-picture=delay][data-kind=SVG]", "nettoll-delay.svg"),
    ];
    for (button, name) in files {
        page.evaluate(&format!("document.querySelector('{button}').click()"));
        let saved = folder.path().join(name);
        for _ in 0..60 {
            page.settle();
            if saved.exists() {
                break;
            }
        }
        std::fs::copy(&saved, pictures().join(format!("saved-{name}"))).expect(name);
    }
    let saved = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert_eq!(saved("nettoll.csv"), report::csv::render(&support::sample()).into_bytes());
    assert!(serde_json::from_slice::<serde_json::Value>(&saved("nettoll.json")).unwrap()["cells"].is_array());
    assert!(saved("nettoll-messages.png").starts_with(b"\x89PNG"));
    // A picture needs nothing of the page.
    let picture = String::from_utf8(saved("nettoll-delay.svg")).unwrap();
    assert!(picture.contains("Time per message") && picture.contains("UDP_STREAM") && picture.contains("rgb("), "{picture}");
    assert!(!picture.contains("var(") && !picture.contains("class=") && !picture.contains("script"), "{picture}");
    assert_quiet(&mut page);
}

#[test]
fn hostile_text_stays_text() {
    if !present() {
        return;
    }
    let path = written("hostile.html", &support::hostile());
    let mut browser = Browser::start();
    let mut page = browser.open(&path, NARROW);
    assert_drawn(&mut page, 10);
    assert_eq!(page.evaluate("document.scripts.length"), 4);
    assert_eq!(page.evaluate("document.images.length"), 0);
    page.evaluate("document.getElementById('chart-messages').focus()");
    page.press("ArrowRight");
    assert_ne!(page.evaluate("document.querySelector('.tip:not([hidden])').textContent"), "");
    assert_eq!(page.evaluate("document.images.length"), 0);
    assert_fits(&mut page, NARROW);
    assert_quiet(&mut page);
    page.screenshots(&pictures(), "hostile");
}

#[test]
fn a_run_without_figures_has_a_page_too() {
    if !present() {
        return;
    }
    let mut browser = Browser::start();
    for (name, analysis) in [("empty", support::empty()), ("spoilt", support::spoilt())] {
        let path = written(&format!("{name}.html"), &analysis);
        let mut page = browser.open(&path, WIDE);
        assert_eq!(page.evaluate("document.body.innerText.includes('NaN')"), false);
        assert_quiet(&mut page);
        page.screenshots(&pictures(), name);
    }
}

#[test]
fn it_prints() {
    if !present() {
        return;
    }
    let path = written("print.html", &support::sample());
    let mut browser = Browser::start();
    let mut page = browser.open(&path, Screen { dark: true, ..WIDE });
    let colour = "getComputedStyle(document.querySelector('#chart-messages .s .mark')).fill";
    let dark = page.evaluate(colour);
    page.medium("print", true);
    assert_eq!(page.evaluate(colour), "rgb(11, 98, 196)", "paper is light");
    page.medium("", true);
    assert_eq!(page.evaluate(colour), dark);
    page.evaluate("dispatchEvent(new Event('beforeprint'))");
    assert_eq!(page.evaluate("document.querySelectorAll('details:not([open])').length"), 0);
    page.evaluate("dispatchEvent(new Event('afterprint'))");
    assert_ne!(page.evaluate("document.querySelectorAll('details:not([open])').length"), 0);
    page.print(&place("print.pdf"));
    page.settle();
    assert_drawn(&mut page, 10);
    assert_quiet(&mut page);
}

#[test]
fn the_charts_of_the_reference_studies_are_drawn() {
    use literature::{Study, analyse};
    if !present() {
        return;
    }
    let mut browser = Browser::start();
    for (study, charts) in [(Study::Cabrera1984, 14), (Study::Jacobson1988, 2), (Study::Bidulock2007, 20)] {
        let path = place(&format!("{}.html", study.name()));
        std::fs::write(&path, report::html::document(&report::reference::document(&analyse(study, 100).unwrap()), "0.0.0")).unwrap();
        for (screen, name) in [(WIDE, "wide"), (NARROW, "narrow")] {
            let mut page = browser.open(&path, screen);
            assert_drawn(&mut page, charts);
            assert_fits(&mut page, screen);
            assert_quiet(&mut page);
            page.screenshots(&pictures(), &format!("{}-{name}", study.name()));
        }
    }
}

#[test]
fn receipts_are_drawn_and_fit() {
    if !present() {
        return;
    }
    let (analysis, flames) = support::receipts::red();
    let path = place("receipts.html");
    std::fs::write(&path, report::html::render_with(&analysis, &flames)).unwrap();
    let mut browser = Browser::start();
    for screen in [WIDE, Screen { dark: true, ..NARROW }] {
        let mut page = browser.open(&path, screen);
        let toll = "[...document.querySelectorAll('#toll svg')].filter(one => one.getClientRects().length > 0).map(one => [one.getBoundingClientRect().top < 600, one.querySelectorAll('.mark').length > 8])";
        let toll = page.evaluate(toll);
        assert_eq!((toll.as_array().unwrap().len(), &toll[0][0], &toll[0][1]), (2, &true.into(), &true.into()), "{toll}");
        page.evaluate("document.querySelector('[data-chart=toll-0][data-axis=s1]').click()");
        let shown = "[...document.querySelectorAll('#chart-toll-0 svg')].filter(one => one.getClientRects().length > 0).map(one => one.dataset.axis)";
        assert_eq!(page.evaluate(shown), serde_json::json!(["s1"]));
        let stacks = page.evaluate(
            "['work-0', 'layer-0', 'work-2', 'layer-2'].map(id => document.querySelectorAll('#chart-' + id + ' .part').length > 20)",
        );
        assert_eq!(stacks, serde_json::json!([true, true, true, true]));
        page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true; })");
        page.settle();
        assert_fits(&mut page, screen);
        assert_quiet(&mut page);
    }
}

/// Labels of a flame graph stay within their bars, and bars of a row lie side by side.
fn assert_bars_apart(page: &mut Page) {
    let bad = page.evaluate(
        "[...document.querySelectorAll('svg.flame')].flatMap(svg => [...svg.querySelectorAll('g[data-series]')].flatMap(row => {
            const marks = [...row.querySelectorAll('.mark')];
            const boxes = marks.map(mark => mark.querySelector('rect').getBoundingClientRect());
            const out = marks.filter((mark, i) => mark.querySelector('text')?.getBoundingClientRect().right > boxes[i].right + 0.5);
            const over = marks.filter((mark, i) => i > 0 && boxes[i].left < boxes[i - 1].right - 0.1);
            return [...out, ...over].map(mark => mark.dataset.tip);
        }))",
    );
    assert_eq!(bad, serde_json::json!([]));
}

#[test]
fn flame_graphs_zoom_search_and_compare() {
    if !present() {
        return;
    }
    let (analysis, flames) = support::receipts::red();
    let path = place("flames.html");
    std::fs::write(&path, report::html::render_with(&analysis, &flames)).unwrap();
    let mut browser = Browser::start();
    for screen in [WIDE, Screen { dark: true, ..NARROW }] {
        let mut page = browser.open(&path, screen);
        let bars = "document.querySelectorAll('#chart-flame-0 .mark').length";
        let said = "document.querySelector('#figure-flame-0 output').textContent";
        let bar = |name: &str| {
            format!("[...document.querySelectorAll('#chart-flame-0 .mark')].find(mark => mark.dataset.tip.startsWith('{name}\\n'))")
        };
        let width =
            |name: &str| format!("{}.getBoundingClientRect().width / document.querySelector('#chart-flame-0 svg').clientWidth", bar(name));
        let click = |name: &str| format!("{}.dispatchEvent(new MouseEvent('click', {{ bubbles: true }}))", bar(name));
        let choose = |value: &str| {
            format!(
                "(() => {{ const select = document.querySelector('#figure-flame-0 select'); select.value = '{value}'; select.dispatchEvent(new Event('input', {{ bubbles: true }})); }})()"
            )
        };
        let seek = |word: &str| {
            format!(
                "(() => {{ const field = document.querySelector('#figure-flame-0 input'); field.value = '{word}'; field.dispatchEvent(new Event('input', {{ bubbles: true }})); }})()"
            )
        };
        let all = page.evaluate(bars).as_u64().unwrap();
        assert!(all > 25, "{all}");
        assert_bars_apart(&mut page);
        // A size.
        let before = page.evaluate(&width("rep_movs_alternative")).as_f64().unwrap();
        page.evaluate("document.querySelector('[data-chart=flame-0][data-axis=\"3\"]').click()");
        assert!(page.evaluate(&width("rep_movs_alternative")).as_f64().unwrap() > 2.0 * before, "16 KiB are copied");
        assert_bars_apart(&mut page);
        // A difference.
        page.evaluate(&choose("0"));
        let class = |page: &mut Page, name: &str| page.evaluate(&format!("{}.classList[2]", bar(name)));
        assert_eq!(class(&mut page, "rep_movs_alternative"), "more3", "its cost is per byte");
        assert_eq!(class(&mut page, "[user]"), "same", "its cost is per message");
        assert!(page.evaluate(said).as_str().unwrap().contains("times as much"));
        let key = "[...document.querySelectorAll('#key-flame-0 > :not([hidden])')].map(part => part.className)";
        assert_eq!(page.evaluate(key), serde_json::json!(["flame-tools", "changes"]));
        page.screenshots(&pictures(), &format!("flames-difference-{}", screen.width));
        page.evaluate(&choose(""));
        // A function by its name.
        page.evaluate(&seek("TCP_ACK"));
        let found = page.evaluate(said).as_str().unwrap().to_owned();
        assert!(found.contains(" % ") || found.contains(" %, "), "{found}");
        assert_eq!(page.evaluate(&format!("{}.classList.contains('faded')", bar("tcp_ack"))), false);
        assert_eq!(page.evaluate(&format!("{}.classList.contains('faded')", bar("[user]"))), true);
        page.evaluate(&seek("no such function"));
        assert_eq!(page.evaluate(said), "not found");
        page.evaluate(&seek(""));
        // One as wide as the graph, and back.
        page.evaluate(&click("tcp_sendmsg_locked"));
        assert!(page.evaluate(&width("tcp_sendmsg_locked")).as_f64().unwrap() > 0.99);
        assert!(page.evaluate(bars).as_u64().unwrap() < all);
        assert_bars_apart(&mut page);
        page.evaluate(&click("all"));
        assert!(page.evaluate(&width("tcp_sendmsg_locked")).as_f64().unwrap() < 0.9);
        // The same by keys, said aloud.
        unfold(&mut page);
        page.evaluate("document.getElementById('chart-flame-0').focus()");
        let heard = "document.querySelector('[aria-live=polite]').textContent.split('\\n')[0]";
        page.press("ArrowRight");
        assert_eq!(page.evaluate(heard), "all");
        page.press("ArrowUp");
        page.press("ArrowUp");
        let name = page.evaluate(heard).as_str().unwrap().to_owned();
        page.press("Enter");
        assert!(page.evaluate(&width(&name)).as_f64().unwrap() > 0.99, "{name}");
        page.press("Escape");
        assert!(page.evaluate(&width(&name)).as_f64().unwrap() < 0.99, "{name}");
        assert_fits(&mut page, screen);
        assert_quiet(&mut page);
    }
}

/// Differences of exact counts are those that lie beyond what seeds move, in instructions.
#[test]
fn exact_flame_graphs_tell_what_changed() {
    if !present() {
        return;
    }
    let path = place("microscope-diff.html");
    std::fs::write(&path, crate::microscope::changes()).unwrap();
    let mut browser = Browser::start();
    for screen in [WIDE, NARROW] {
        let mut page = browser.open(&path, screen);
        let bar = |name: &str| {
            format!("[...document.querySelectorAll('#chart-flame-udp-112 .mark')].find(mark => mark.dataset.tip.startsWith('{name}\\n'))")
        };
        let tip = page.evaluate(&format!("{}.dataset.tip", bar("skb_defer_free_flush")));
        let tip = tip.as_str().unwrap();
        assert!(tip.contains("instructions per message") && tip.contains("kernel 6.12: not called") && tip.contains("\nnew\n"), "{tip}");
        assert_eq!(page.evaluate(&format!("{}.classList[2]", bar("skb_defer_free_flush"))), "more3");
        // Both kernels execute as many in user code.
        assert_eq!(page.evaluate(&format!("{}.classList[2]", bar("[user]"))), "same");
        let said = page.evaluate("document.querySelector('#figure-flame-udp-112 output').textContent");
        assert!(said.as_str().unwrap().contains("instructions per message; kernel 6.12: "), "{said}");
        assert_bars_apart(&mut page);
        assert_fits(&mut page, screen);
        assert_quiet(&mut page);
        page.screenshots(&pictures(), &format!("microscope-diff-{}", screen.width));
    }
    let path = place("microscope.html");
    std::fs::write(&path, crate::microscope::side_by_side()).unwrap();
    for screen in [WIDE, NARROW] {
        let mut page = browser.open(&path, screen);
        assert_drawn(&mut page, 1);
        assert_fits(&mut page, screen);
        assert_quiet(&mut page);
        page.screenshots(&pictures(), &format!("microscope-{}", screen.width));
    }
}

/// Texts that leave their drawing or lie on another.
pub fn unreadable(page: &mut Page, drawings: &str) -> serde_json::Value {
    page.evaluate(&format!(
        "[...document.querySelectorAll('{drawings}')].filter(svg => svg.getClientRects().length > 0).flatMap(svg => {{
            const whole = svg.getBoundingClientRect();
            const texts = [...svg.querySelectorAll('text')].filter(text => text.getClientRects().length > 0).map(text => [text.textContent, text.getBoundingClientRect()]);
            const out = texts.filter(([, box]) => box.left < whole.left - 1 || box.right > whole.right + 1);
            const over = texts.filter(([, a], i) => texts.slice(i + 1).some(([, b]) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3));
            return [...out, ...over].map(([text]) => svg.parentElement.id + ': ' + text);
        }})"
    ))
}

/// Texts of a drawing stay inside it and lie apart.
fn assert_readable(page: &mut Page, drawings: &str) {
    assert_eq!(unreadable(page, drawings), serde_json::json!([]));
}

#[test]
fn forest_plots_and_claims_fit_every_screen() {
    use literature::{Study, analyse};
    if !present() {
        return;
    }
    let page = |name: &str, text: String| {
        let path = place(&format!("fit-{name}.html"));
        std::fs::write(&path, text).unwrap();
        path
    };
    let pages = [
        ("arms", page("arms", report::html::render(&crate::verdicts::arms())), "svg.forest"),
        ("runs", page("runs", report::html::document(&report::verdict::document(&crate::verdicts::between()), "0.1.0")), "svg.forest"),
        (
            "claims",
            page("claims", report::html::document(&report::reference::document(&analyse(Study::Bidulock2007, 60).unwrap()), "0.1.0")),
            "table.claims",
        ),
    ];
    let mut browser = Browser::start();
    for (name, path, wanted) in &pages {
        for width in [400, 640, 900, 1280, 1600] {
            let screen = Screen { width, ..WIDE };
            let mut page = browser.open(path, screen);
            let seen = format!("[...document.querySelectorAll('{wanted}')].filter(one => one.getClientRects().length > 0).length > 0");
            assert_eq!(page.evaluate(&seen), true, "{name} at {width}");
            assert_fits(&mut page, screen);
            let answer = "[...document.querySelectorAll('.scroll')].filter(one => !one.closest('details:not([open])') && one.scrollWidth > one.clientWidth + 1).length";
            assert!(name != &"arms" || page.evaluate(answer) == 0, "tables of the answer scroll at {width}");
            unfold(&mut page);
            assert_readable(&mut page, "svg.chart");
            let scrolls = "[...document.querySelectorAll('.scroll:has(> .claims)')].some(one => one.scrollWidth > one.clientWidth + 1)";
            assert!(width < 1280 || page.evaluate(scrolls) == false, "the claims have room at {width}");
            assert_quiet(&mut page);
            if [400, 1600].contains(&width) {
                page.screenshots(&pictures(), &format!("{name}-{width}"));
            }
        }
    }
}

#[test]
fn studies_are_drawn_and_fit() {
    use crate::support::studies::{few_levels, host_load, latency, repetitions};
    if !present() {
        return;
    }
    let mut browser = Browser::start();
    let levels = host_load(&few_levels(), &[1, 16_384], &[1]);
    for (name, analysis, charts) in [("levels", levels, 13), ("repetitions", repetitions(), 6), ("latency-rates", latency(), 3)] {
        let path = written(&format!("{name}.html"), &analysis);
        for (screen, kind) in [(WIDE, "wide"), (NARROW, "narrow")] {
            let mut page = browser.open(&path, screen);
            assert_drawn(&mut page, charts);
            assert_fits(&mut page, screen);
            assert_quiet(&mut page);
            page.screenshots(&pictures(), &format!("{name}-{kind}"));
        }
    }
}
