//! The first screen of each kind of page: the picture that answers, few words, everything within the width.

use crate::browser::{NARROW, WIDE, assert_fits, assert_quiet, pictures, place, unfold, unreadable};
use crate::chromium::{Browser, Page, Screen, present};
use crate::pictures::pages;

/// Words of a page that are neither folded nor drawn.
const MOST_WORDS: u64 = 600;

/// Screens, and the height that the first picture has to begin and end within.
const SCREENS: [(Screen, f64, f64); 3] = [
    (Screen { height: 800, ..WIDE }, 400.0, 800.0),
    (Screen { height: 800, dark: true, ..WIDE }, 400.0, 800.0),
    (Screen { height: 800, ..NARROW }, 800.0, 1_600.0),
];

/// Kinds whose answer is a table, or whose picture is as tall as its data.
const WITHOUT: [&str; 3] = ["microscope", "microscope-diff", "reference"];
const TALL: [&str; 2] = ["receipts", "buffers"];

fn words(page: &mut Page) -> u64 {
    let text = "[...document.querySelectorAll('header, main > section')].map(part => part.innerText).join(' ')";
    let drawn = "[...document.querySelectorAll('main > section svg')].map(drawing => { drawing.style.display = 'none'; })";
    page.evaluate(drawn);
    page.evaluate(&format!("{text}.split(/\\s+/).filter(word => /\\w/.test(word)).length")).as_u64().unwrap()
}

/// Lines at sizes of a chart without their name in it.
const UNNAMED: &str = "[...document.querySelectorAll('svg.chart')].filter(chart => chart.getClientRects().length > 0).flatMap(chart => {
    const names = [...chart.querySelectorAll('text.landmark')].flatMap(text => text.textContent.replace(' →', '').split(', '));
    const lines = [...chart.querySelectorAll('path.landmark title')].map(title => title.textContent.startsWith('a page') ? 'page' : title.textContent.slice(0, 3));
    return lines.filter(line => !names.includes(line)).map(line => chart.getAttribute('aria-label').slice(0, 40) + ': ' + line);
})";

/// Colours of the picture of a message that stand below its rows, or below the screen that the picture begins on.
const LATE_COLOURS: &str =
    "[...document.querySelectorAll('svg.toll')].filter(one => one.getClientRects().length > 0).slice(0, 1).flatMap(toll => {
    const key = [...toll.querySelectorAll('rect.part[width=\"12\"][height=\"12\"]')].map(one => one.getBoundingClientRect().bottom);
    const rows = Math.min(...[...toll.querySelectorAll('.mark rect')].map(one => one.getBoundingClientRect().top));
    const begins = toll.getBoundingClientRect().top < innerHeight;
    return key.length === 0 ? ['none'] : key.filter(bottom => (begins && bottom > innerHeight) || bottom > rows);
})";

#[test]
fn every_page_shows_its_answer_first() {
    if !present() {
        return;
    }
    let mut browser = Browser::start();
    let mut wrong = Vec::new();
    for (name, text) in pages() {
        let path = place(&format!("first-{name}.html"));
        std::fs::write(&path, &text).unwrap();
        for (screen, begins, ends) in SCREENS {
            let mut page = browser.open(&path, screen);
            let first = "(() => { const seen = [...document.querySelectorAll('main .plot svg, main svg.heat')].find(one => one.getClientRects().length > 0);
                const box = seen?.getBoundingClientRect(); return box ? [box.top, box.bottom] : [0, 0]; })()";
            let at = page.evaluate(first);
            let (top, bottom) = (at[0].as_f64().unwrap(), at[1].as_f64().unwrap());
            let late = top > begins || (bottom > ends && !TALL.contains(&name));
            if late && !WITHOUT.contains(&name) {
                wrong.push(format!("{name} at {}: its first picture is at {top:.0} to {bottom:.0}", screen.width));
            }
            assert_fits(&mut page, screen);
            let texts = unreadable(&mut page, "svg.chart");
            if texts != serde_json::json!([]) {
                wrong.push(format!("{name} at {}: texts that touch: {texts}", screen.width));
            }
            for (fault, found) in
                [("lines without a name", page.evaluate(UNNAMED)), ("colours that come late", page.evaluate(LATE_COLOURS))]
            {
                if found != serde_json::json!([]) {
                    wrong.push(format!("{name} at {}: {fault}: {found}", screen.width));
                }
            }
            assert_quiet(&mut page);
            page.screenshots(&pictures(), &format!("first-{name}-{}{}", screen.width, if screen.dark { "-dark" } else { "" }));
            let found = words(&mut page);
            // A paper has all of its figures.
            if found > MOST_WORDS && name != "reference" {
                wrong.push(format!("{name} at {}: {found} words", screen.width));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Tables that scroll sideways.
const SCROLLING: &str =
    "[...document.querySelectorAll('.scroll')].filter(one => one.querySelector('table') && one.scrollWidth > one.clientWidth + 1)
    .map(one => one.getAttribute('aria-label') + ': ' + (one.scrollWidth - one.clientWidth))";

/// Cells of tables in which an interval breaks at its dash.
const BROKEN: &str = r"[...document.querySelectorAll('td, th')].filter(cell => cell.getClientRects().length > 0).filter(cell => {
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    for (let text; (text = texts.nextNode());) {
        for (const found of text.data.matchAll(/[\d.,]+–[\d.,]+/g)) {
            const range = document.createRange();
            range.setStart(text, found.index);
            range.setEnd(text, found.index + found[0].length);
            if (range.getClientRects().length > 1) return true;
        }
    }
    return false;
}).map(cell => cell.innerText)";

#[test]
fn tables_fit_a_narrow_screen() {
    if !present() {
        return;
    }
    let mut browser = Browser::start();
    let mut wrong = Vec::new();
    for (name, text) in pages() {
        let path = place(&format!("tables-{name}.html"));
        std::fs::write(&path, &text).unwrap();
        let mut page = browser.open(&path, NARROW);
        unfold(&mut page);
        for (fault, found) in [("tables that scroll", page.evaluate(SCROLLING)), ("figures that break", page.evaluate(BROKEN))] {
            if found != serde_json::json!([]) {
                wrong.push(format!("{name}: {fault}: {found}"));
            }
        }
        assert_fits(&mut page, NARROW);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
