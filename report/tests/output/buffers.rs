//! What maps of buffers and published figures look like, compared with files in
//! `snapshots`.

use crate::support::buffers::{buffers, diagonal};
use crate::support::section;
use report::terminal::Style;
use unicode_width::UnicodeWidthStr;

#[test]
fn text() {
    let text = report::terminal::render(&buffers(), Style::VERBOSE);
    assert!(text.lines().all(|line| line.width() <= 80), "{text}");
    insta::assert_snapshot!("buffers_text", text);
    let text = report::terminal::render(&diagonal(), Style::VERBOSE);
    assert!(text.lines().all(|line| line.width() <= 80), "{text}");
    insta::assert_snapshot!("buffers_diagonal_text", text);
}

#[test]
fn page() {
    let page = report::html::render(&diagonal());
    insta::assert_snapshot!("buffers_diagonal_page", section(&page, "buffers"));
    let page = report::html::render(&buffers());
    insta::assert_snapshot!("published_page", section(&page, "published"));
    let map = section(&page, "buffers");
    assert_eq!(map.matches("<rect ").count(), 17 * 17 + 1, "a square a pair, and a frame");
    let marked = |class: &str| map.lines().filter(|line| line.starts_with("<rect ") && line.contains(class)).count();
    assert_eq!((marked("framed"), marked("notch")), (1, 13));
    assert!(map.contains("href") || !map.contains("<a "), "nothing is linked");
    assert!(!page.contains("<uranus>"), "foreign names are text");
}

/// A pair with less for the receiver that reaches the plateau as well is named, and the map has packets and bytes.
#[test]
fn a_smaller_pair_that_is_enough_is_said() {
    let mut analysis = buffers();
    let headline = |analysis: &analysis::result::Analysis| analysis::answer::of(analysis).headline;
    assert!(!headline(&analysis).contains("it too"), "{}", headline(&analysis));
    for study in &mut analysis.studies {
        let analysis::result::StudyResult::Buffers(maps) = study else { continue };
        for map in maps {
            map.autotuned = None;
            let used = map.cells[map.diagonal[6]].goodput_bit_per_s;
            map.cells.iter_mut().filter(|cell| (cell.sender, cell.receiver) == (6, 4)).for_each(|cell| cell.goodput_bit_per_s = used);
        }
    }
    let said = headline(&analysis);
    assert!(said.ends_with(" SO_RCVBUF of 8,000 B reaches it too, within its interval."), "{said}");
    let text = report::terminal::render(&analysis, Style::PLAIN);
    assert!(text.contains(" 7   7,700") && text.contains(" 8,000 ") && text.contains("[98]"), "{text}");
    let page = report::html::render(&analysis);
    let map = section(&page, "buffers");
    assert!(["7,700</text>", "8,000</text>", "packets</text>", "bytes</text>"].iter().all(|words| map.contains(words)), "{map}");
}

/// At the edge of a grid no pair is advised, and a model that does not fit is not drawn.
#[test]
fn no_advice_stands_next_to_an_open_answer() {
    let mut edge = crate::grades::at_the_edge();
    let sound = report::html::render(&buffers());
    assert!(section(&sound, "buffers").contains("Knee: ") && sound.contains("Dotted: the model"));
    for study in &mut edge.studies {
        let analysis::result::StudyResult::Buffers(maps) = study else { continue };
        let predicted = maps.iter_mut().flat_map(|map| &mut map.cells).filter_map(|cell| cell.predicted.as_mut());
        predicted.for_each(|model| model.ratio.value = 0.5);
    }
    let page = report::html::render(&edge);
    let map = section(&page, "buffers");
    for advice in ["Knee: ", "the pair to use", "Dotted: the model"] {
        assert!(!map.contains(advice), "{advice}");
    }
    assert!(map.contains("framed: the pair of the headline"), "{map}");
    assert!(map.contains("The model does not fit and is not drawn.") && page.contains("try larger"), "{map}");
}

#[test]
fn json_has_the_map_as_it_is() {
    let value: serde_json::Value = serde_json::from_str(&report::json::render(&buffers())).unwrap();
    let map = &value["buffers"][0];
    assert_eq!((map["cells"].as_array().unwrap().len(), map["link"].as_str()), (289, Some("relay 100M delay=300us")));
    let keys: Vec<&String> = map["cells"][0].as_object().unwrap().keys().collect();
    insta::assert_snapshot!("buffers_json_keys", format!("{:#?}\n{keys:#?}", map.as_object().unwrap().keys().collect::<Vec<_>>()));
    assert_eq!(value["published"]["buffers"][0]["rows"][0]["published_kbytes_per_s"], 386.0);
}
