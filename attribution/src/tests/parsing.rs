//! The rule language: what is taken and what is refused.

use crate::rules::{BUILTIN, Problem};
use crate::{Category, Layer, Rules};
use proptest::prelude::{prop, prop_assert, prop_assert_eq, proptest};

const SMALL: &str = "rule tcp\n  match tcp_*\n  layer tcp\n  category protocol\n";

fn refused(text: &str) -> (usize, Problem) {
    let error = Rules::parse(text).unwrap_err();
    assert!(error.to_string().starts_with(&format!("rules, line {}: ", error.line)), "{error}");
    // It says what is wrong, and after a semicolon or colon what to do.
    assert!(error.to_string().len() > 30, "{error}");
    (error.line, error.problem)
}

#[test]
fn comments_and_empty_lines_are_nothing() {
    let rules = Rules::parse(&format!("# head\n\n{SMALL}   # end\n")).unwrap();
    assert_eq!((rules.len(), rules.name(0), rules.name(1)), (1, Some("tcp"), None));
    assert!(!rules.is_empty());
}

#[test]
fn what_would_match_everything_is_refused() {
    assert_eq!(refused("rule all\n  match *\n  layer tcp\n"), (2, Problem::MatchesTooMuch("*".into())));
    assert_eq!(refused("rule all\n  match tcp_ack __*\n  layer tcp\n"), (2, Problem::MatchesTooMuch("__*".into())));
    assert_eq!(refused("rule all\n  layer tcp\n"), (1, Problem::MatchesEverything("all".into())));
    assert_eq!(refused("rule all\n  caller tcp_*\n  layer tcp\n"), (1, Problem::MatchesEverything("all".into())));
    assert_eq!(refused("rule all\n  module *\n  layer tcp\n"), (2, Problem::MatchesTooMuch("*".into())));
    assert_eq!(refused("chain all\n  direction send\n"), (1, Problem::MatchesEverything("all".into())));
    assert_eq!(refused("rule all\n  match .*\n  layer tcp\n").0, 2);
}

#[test]
fn mistakes_are_told_with_their_line() {
    let hint = "; did you mean 'match'?".to_owned();
    assert_eq!(refused("rule a\n  mach tcp_*\n"), (2, Problem::UnknownKey { word: "mach".into(), hint }));
    assert_eq!(refused("match tcp_*\n"), (1, Problem::OutsideRule("match".into())));
    assert_eq!(refused("rule\n"), (1, Problem::NoName));
    assert_eq!(refused(&format!("{SMALL}{SMALL}")), (5, Problem::SameName("tcp".into())));
    assert_eq!(refused("rule a\n  match tcp_*\n"), (1, Problem::DecidesNothing("a".into())));
    assert_eq!(refused("\n\nrule a\n  match tcp_*\nrule b\n  match udp_*\n  layer udp\n"), (3, Problem::DecidesNothing("a".into())));
    assert_eq!(refused("rule a\n  match\n"), (2, Problem::NoValue("match")));
    assert_eq!(refused("rule a\n  match tcp_*\n  layer tcp\n  layer udp\n"), (4, Problem::SaidTwice("layer")));
    assert_eq!(refused("rule a\n  match tcp_*\n  layer tcp udp\n"), (3, Problem::TwoValues("layer")));
    assert_eq!(refused("rule a\n  match tcp_*_ack\n  layer tcp\n"), (2, Problem::StarInside("tcp_*_ack".into())));
    assert_eq!(refused("rule a\n  match tcp(ack)\n  layer tcp\n"), (2, Problem::NotAName("tcp(ack)".into())));
    assert!(matches!(refused("rule a\n  match tcp_*\n  layer transport\n"), (3, Problem::UnknownValue(_))));
    assert!(matches!(refused("rule a\n  match tcp_*\n  after send\n"), (3, Problem::NotHere { kind: "rule", .. })));
    assert!(matches!(refused("chain a\n  match tcp_*\n  layer tcp\n"), (3, Problem::NotHere { kind: "chain", .. })));
    assert_eq!(refused(""), (1, Problem::Empty));
    assert_eq!(refused("# nothing\n\n").1, Problem::Empty);
}

#[test]
fn what_is_too_much_is_refused() {
    assert_eq!(refused(&"#".repeat((1 << 20) + 1)).1, Problem::TooLong);
    assert_eq!(refused(&format!("rule a\n  match {}\n  layer tcp\n", "a".repeat(513))).1, Problem::PatternTooLong);
    assert_eq!(refused(&format!("rule {}\n", "a".repeat(81))).1, Problem::NameTooLong);
    let many: String = (0..2_001).map(|n| format!("rule {n}\nmatch t{n}\nlayer tcp\n")).collect();
    assert_eq!(refused(&many).1, Problem::TooManyRules);
    let wide = format!("rule a\n{}layer tcp\n", format!("match {}\n", "tcp_a ".repeat(100)).repeat(501));
    assert_eq!(refused(&wide).1, Problem::TooManyPatterns);
}

#[test]
fn attributes_are_decided_one_by_one() {
    let rules =
        Rules::parse("rule work\n match tcp_wfree\n category buffer-management\nrule tcp\n match tcp_*\n layer tcp\n category protocol\n")
            .unwrap();
    let found = rules.classify(&["tcp_wfree"], false);
    assert_eq!((found.layer, found.category), (Layer::Tcp, Category::BufferManagement));
    assert_eq!((found.rule.layer, found.rule.category), (Some(1), Some(0)));
    let unknown = rules.classify(&["udp_rcv", "tcp_ack"], false);
    assert_eq!((unknown.layer, unknown.category, unknown.rule.layer), (Layer::Other, Category::Other, None));
}

#[test]
fn modules_tell_what_names_do_not() {
    let rules = Rules::parse("rule a driver\n module mlx5_core\n layer driver\n category protocol\n").unwrap();
    assert_eq!(rules.classify(&["cleanup [mlx5_core]"], false).layer, Layer::Driver);
    assert_eq!(rules.classify(&["cleanup [other]"], false).layer, Layer::Other);
    assert_eq!(rules.classify(&["cleanup"], false).layer, Layer::Other);
}

/// The rules that come with nettoll are read, and their lines are short.
#[test]
fn the_builtin_rules_are_taken() {
    let rules = Rules::builtin().unwrap();
    assert!(rules.len() > 40);
    assert!(BUILTIN.lines().all(|line| line.len() <= 140));
}

proptest! {
    #[test]
    fn any_text_is_taken_or_refused(text in "(?s).{0,300}") {
        if let Err(error) = Rules::parse(&text) {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn any_words_are_taken_or_refused(words in prop::collection::vec(prop::sample::select(vec![
        "rule", "chain", "match", "caller", "module", "after", "layer", "category", "context", "direction", "crossing",
        "tcp", "tcp_*", "*", "_*", "send", "none", "softirq", "protocol", "\n", "\n", "\n", "#", "é*", "entry",
    ]), 0..80), frames in prop::collection::vec("[a-z_.*é \\[\\]]{0,12}", 0..6)) {
        if let Ok(rules) = Rules::parse(&words.join(" ")) {
            let frames: Vec<&str> = frames.iter().map(String::as_str).collect();
            rules.classify(&frames, false);
            // Whatever was accepted leaves something out.
            prop_assert_eq!(rules.classify(&["q"], false).layer, Layer::Other);
            prop_assert_eq!(rules.classify(&["_"], false).category, Category::Other);
        }
    }
}
