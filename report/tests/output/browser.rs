//! The page in a real browser: it draws, it fits, it keeps quiet.

use std::path::{Path, PathBuf};

use crate::chromium::{Browser, Page, Screen, present};
use crate::support;
use analysis::result::Analysis;

const WIDE: Screen = Screen { width: 1280, height: 900, dark: false };
const NARROW: Screen = Screen { width: 400, height: 800, dark: false };

/// Where pages and pictures are left for whoever wants to look.
fn place(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn pictures() -> PathBuf {
    let folder = place("pictures");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn written(name: &str, analysis: &Analysis) -> PathBuf {
    let path = place(name);
    std::fs::write(&path, report::html::render(analysis)).unwrap();
    path
}

fn assert_quiet(page: &mut Page) {
    assert_eq!(page.complaints(), Vec::<String>::new());
    assert_eq!(page.requests(), Vec::<String>::new());
}

fn assert_fits(page: &mut Page, screen: Screen) {
    let width = page.evaluate("document.documentElement.scrollWidth").as_u64().unwrap();
    assert!(width <= u64::from(screen.width), "the page is {width} wide on a screen of {}", screen.width);
    let outside = page.evaluate(
        "[...document.querySelectorAll('.plot')].filter(plot => plot.querySelector('.main-svg').getBoundingClientRect().width > plot.getBoundingClientRect().width + 1).map(plot => plot.id)",
    );
    assert_eq!(outside, serde_json::json!([]), "charts wider than their place");
}

/// Every chart of the data has its picture, with as many traces as the data has.
fn assert_drawn(page: &mut Page, charts: usize) {
    let counts = page.evaluate(
        "JSON.parse(document.getElementById('chart-data').textContent).map(chart => {
            const plot = document.getElementById('chart-' + chart.id);
            const points = chart.traces.filter(trace => !trace.model).flatMap(trace => trace.y).length;
            return [chart.id, plot.querySelectorAll('.main-svg').length > 0, plot.querySelectorAll('.trace').length === chart.traces.length,
                points > 0 && plot.querySelectorAll('.points path').length === points,
                document.querySelectorAll('#key-' + chart.id + ' button').length > 0]
        })",
    );
    let counts = counts.as_array().unwrap();
    assert_eq!(counts.len(), charts);
    for chart in counts {
        assert_eq!(chart.as_array().unwrap()[1..], [true, true, true, true], "{chart}");
    }
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
        assert_drawn(&mut page, 5);
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
        assert_drawn(&mut page, 1);
        assert_fits(&mut page, screen);
        assert_quiet(&mut page);
        let squares = "[...document.querySelectorAll('svg.heat rect')].filter(square => square.getBoundingClientRect().width > 20).length";
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
    let colour = "getComputedStyle(document.querySelector('#chart-messages .points path')).fill";
    let light = page.evaluate(colour);
    page.show(Screen { dark: true, ..WIDE });
    page.settle();
    assert_ne!(page.evaluate(colour), light);
    page.show(NARROW);
    page.settle();
    assert_eq!(page.evaluate(colour), light);
    assert_drawn(&mut page, 5);
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
    let kind = "document.getElementById('chart-delay').layout.xaxis.type";
    assert_eq!(page.evaluate(kind), "linear");
    page.evaluate("document.querySelector('[data-chart=delay][data-axis=log]').click()");
    page.settle();
    assert_eq!(page.evaluate(kind), "log");
    assert_eq!(page.evaluate("document.querySelector('[data-chart=delay][data-axis=log]').getAttribute('aria-pressed')"), "true");
    assert_drawn(&mut page, 5);
    assert_quiet(&mut page);
}

#[test]
fn a_series_can_be_hidden_and_shown_again() {
    if !present() {
        return;
    }
    let path = written("hide.html", &support::sample());
    let mut browser = Browser::start();
    let mut page = browser.open(&path, NARROW);
    let traces = "document.querySelectorAll('#chart-messages .trace').length";
    assert_eq!(page.evaluate(traces), 4);
    for shown in [3, 4] {
        page.evaluate("document.querySelector('#key-messages button').click()");
        page.settle();
        assert_eq!(page.evaluate(traces), shown);
        assert_eq!(page.evaluate("document.activeElement.dataset.series"), "0");
    }
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
    page.evaluate("Plotly.Fx.hover('chart-messages', [{ curveNumber: 1, pointNumber: 0 }])");
    page.settle();
    let label = page.evaluate("document.querySelector('#chart-messages .hoverlayer').textContent");
    let label = label.as_str().unwrap();
    assert!(label.contains("UDP_STREAM") && label.contains("messages/s") && label.contains("n = 9"), "{label}");
    page.screenshots(&pictures(), "hover");
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
    let files = [
        ("[data-save=json]", "nettoll.json"),
        ("[data-save=csv]", "nettoll.csv"),
        ("[data-picture=messages]", "nettoll-messages.png"),
        ("[data-picture=delay]", "nettoll-delay.png"),
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
    assert_drawn(&mut page, 5);
    assert_eq!(page.evaluate("document.scripts.length"), 5);
    assert_eq!(page.evaluate("document.images.length"), 0);
    page.evaluate("Plotly.Fx.hover('chart-messages', [{ curveNumber: 0, pointNumber: 0 }])");
    page.settle();
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
    let colour = "getComputedStyle(document.querySelector('#chart-messages .points path')).fill";
    let dark = page.evaluate(colour);
    page.evaluate("dispatchEvent(new Event('beforeprint'))");
    page.settle();
    assert_eq!(page.evaluate(colour), "rgb(0, 114, 178)", "paper is light");
    page.evaluate("dispatchEvent(new Event('afterprint'))");
    page.settle();
    assert_eq!(page.evaluate(colour), dark);
    page.print(&place("print.pdf"));
    page.settle();
    assert_drawn(&mut page, 5);
    assert_quiet(&mut page);
}

#[test]
fn the_charts_of_the_reference_studies_are_drawn() {
    use literature::{Study, analyse};
    if !present() {
        return;
    }
    let mut browser = Browser::start();
    for (study, charts) in [(Study::Jacobson1988, 1), (Study::Bidulock2007, 20)] {
        let path = place(&format!("{}.html", study.name()));
        std::fs::write(&path, report::reference::html(&analyse(study, 100).unwrap(), "0.0.0")).unwrap();
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
        let areas = page.evaluate(
            "['work-0', 'layer-0', 'work-2', 'layer-2'].map(id => document.querySelectorAll('#chart-' + id + ' .fills path').length > 5)",
        );
        assert_eq!(areas, serde_json::json!([true, true, true, true]));
        page.evaluate("document.querySelectorAll('#receipt details').forEach(details => { details.open = true; })");
        page.settle();
        assert_fits(&mut page, screen);
        assert_quiet(&mut page);
        let flame = "Math.max(...[...document.querySelectorAll('svg.flame')[0].querySelectorAll('rect')].map(rect => rect.getBoundingClientRect().width)) > 600";
        assert_eq!(page.evaluate(flame), true);
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
