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
    assert_eq!(map.matches("<rect ").count(), 17 * 17, "a square a pair");
    let marked = |class: &str| map.lines().filter(|line| line.starts_with("<rect ") && line.contains(class)).count();
    assert_eq!((marked("to-use"), marked("notch")), (1, 13));
    assert!(map.contains("href") || !map.contains("<a "), "nothing is linked");
    assert!(!page.contains("<uranus>"), "foreign names are text");
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
    for advice in ["Knee: ", "to-use", "the pair to use", "Dotted: the model"] {
        assert!(!map.contains(advice), "{advice}");
    }
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
