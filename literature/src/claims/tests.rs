//! Every claim against what a reader of the papers ruled by hand, each kind of rule on curves of
//! known shape, and tables that nettoll does not carry.

use super::evidence::{Curve, Evidence, Figure, Term};
use super::operands::Operands;
use super::rules::{KINDS, Kind, figure};
use super::{CLAIMS, all, rule_today, statements};
use crate::read::csv::parse;
use crate::statement::{Ruling, Standing, counts};
use crate::{ReferenceAnalysis, Statement, Study, analyse};

fn every() -> Vec<Statement> {
    Study::ALL.into_iter().flat_map(|study| statements(study, &study.tables().unwrap()).unwrap()).collect()
}

#[test]
fn the_rulings_of_all_claims_are_those_of_the_readers() {
    let found = every();
    let mut reader = csv::Reader::from_reader(CLAIMS.as_bytes());
    let mut differ = Vec::new();
    for row in reader.deserialize::<std::collections::BTreeMap<String, String>>() {
        let row = row.unwrap();
        let wanted = match row["then_ruling"].as_str() {
            "holds" => Ruling::Holds,
            "does not hold" => Ruling::DoesNotHold,
            "undecidable" => Ruling::Undecidable,
            "table not carried" => Ruling::NeedsTable,
            other => panic!("{other}"),
        };
        let one = found.iter().find(|one| one.id == row["id"]).unwrap();
        if one.ruling != wanted {
            differ.push(format!(
                "{}: {} by rule ({}), {} by hand: {} [{}]",
                one.id,
                one.ruling.words(),
                one.found,
                wanted.words(),
                one.says,
                one.rule
            ));
        }
    }
    assert!(differ.is_empty(), "{differ:#?}");
    let by = counts(&found).map(|(_, count)| count);
    assert_eq!((found.len(), by), (100, [43, 17, 28, 12]));
}

#[test]
fn every_ruling_has_its_figures_and_its_rule() {
    for one in every() {
        assert!(!one.found.is_empty() && !one.rule.is_empty() && !one.says.is_empty(), "{one:#?}");
        assert!(!one.found.contains("NaN") && !one.found.contains("inf"), "{one:#?}");
        if matches!(one.ruling, Ruling::Holds | Ruling::DoesNotHold) {
            assert!(!one.values.is_empty(), "{one:#?}");
        }
        if one.ruling == Ruling::NeedsTable {
            assert!(one.found.contains("--table"), "{one:#?}");
        }
    }
}

#[track_caller]
fn found<'a>(all: &'a [Statement], id: &str, words: &[&str]) -> &'a Statement {
    let one = all.iter().find(|one| one.id == id).unwrap();
    words.iter().for_each(|word| assert!(one.found.contains(word), "{id}: '{word}' is missing: {}", one.found));
    one
}

#[test]
fn the_figures_are_those_that_a_reader_finds() {
    let all = every();
    found(&all, "c84-03", &["1,997", "2,013"]);
    found(&all, "c84-07", &["cross at 63", "cross at 79"]);
    found(&all, "c84-33", &["11 of 20"]);
    found(&all, "c84-21", &["+79 %"]);
    found(&all, "c84-31", &["741,"]);
    found(&all, "j88-01", &["1,104"]);
    found(&all, "j88-03", &["1.079", "1.082", "1.0795", "1.1055"]);
    found(&all, "j88-09", &["0.0012"]);
    found(&all, "k97-01", &["54.86", "53.58", "56.2"]);
    found(&all, "k97-07", &["235.8"]);
    found(&all, "b07-01", &["1.28"]);
    found(&all, "b07-06", &["75 of 75", "1.003"]);
    found(&all, "b07-07", &["75 of 75 figures outside"]);
    found(&all, "b07-10", &["1.158", "1.004"]);
    found(&all, "c84-09", &["nettoll does not carry table B6"]);
}

fn curve(name: &str, labels: &[&str], points: &[(f64, f64)]) -> Curve {
    Curve {
        quantity: "time",
        name: name.to_owned(),
        group: String::new(),
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        points: points.iter().map(|(at, value)| (*at, Figure::exact(*value))).collect(),
        given: false,
    }
}

#[track_caller]
fn rule(name: &str, operands: &str, curves: &[Curve]) -> Option<Option<bool>> {
    let kind = Kind::named(name).unwrap();
    let operands = Operands::parse(operands).unwrap();
    let outcome = kind.rule(&operands, &Evidence { curves: curves.to_vec() });
    if name != "none" {
        assert!(!kind.words(&operands).trim().is_empty());
    }
    outcome.map(|outcome| outcome.holds)
}

/// A rule on curves that show it, curves that show the opposite, and none.
#[track_caller]
fn tells(name: &str, operands: &str, yes: &[Curve], no: &[Curve]) {
    assert_eq!(rule(name, operands, yes), Some(Some(true)), "{name} {operands}");
    assert_eq!(rule(name, operands, no), Some(Some(false)), "{name} {operands}");
    assert_eq!(rule(name, operands, &[]), None, "{name} {operands}");
}

#[test]
fn rules_on_single_figures_tell_apart() {
    let a = |value: f64| curve("a", &["a"], &[(1.0, value), (2.0, 10.0)]);
    tells("near", "of=time@1; near=5; within=0.5", &[a(5.4)], &[a(5.6)]);
    tells("near", "of=time@1; near=-5; percent=20", &[a(-5.9)], &[a(-6.1)]);
    tells("near", "of=time@1; over=time@2; near=0.5; within=0.05", &[a(5.4)], &[a(5.6)]);
    tells("near", "of=time@1; times=3; near=15; within=0.5", &[a(5.1)], &[a(5.3)]);
    tells("between", "of=time@1; low=4; high=6", &[a(4.0)], &[a(6.1)]);
    tells("between", "of=time@1; less=time@2; low=0", &[a(11.0)], &[a(9.0)]);
    tells("spread", "of=time@1; high=1.2", &[a(5.0), a(6.0)], &[a(5.0), a(6.1)]);
    let b = |ends: [f64; 2]| {
        let mut one = a(5.0);
        one.points[0].1 = Figure::within(5.0, ends);
        one
    };
    tells("allows", "of=time@1; value=5.5", &[b([4.0, 6.0])], &[b([4.0, 5.4])]);
    tells(
        "allows",
        "of=time,a@1; any=time,b@1",
        &[b([4.0, 6.0]), curve("b", &["b"], &[(1.0, 5.9)])],
        &[b([4.0, 6.0]), curve("b", &["b"], &[(1.0, 6.1)])],
    );
    // A figure without an interval shows nothing, and refutes nothing.
    assert_eq!(rule("near", "of=time@1; near=5; within=0.5", &[b([0.0, f64::INFINITY])]), Some(None));
    assert_eq!(rule("spread", "of=time@1; low=1.2", &[a(5.0), b([0.0, f64::INFINITY])]), Some(None));
    assert_eq!(rule("line", "of=time; r2=0.1", &[b([0.0, f64::INFINITY])]), None);
    // An interval across the border shows neither.
    assert_eq!(rule("between", "of=time@1; high=5.5", &[b([5.0, 6.0])]), Some(None));
    assert_eq!(rule("none", "", &[a(1.0)]), None);
}

#[test]
fn quantifiers_count() {
    let all: Vec<Curve> = [1.0, 1.0, 3.0].iter().map(|value| curve("a", &[], &[(1.0, *value)])).collect();
    let ruled = |each: &str| rule("between", &format!("of=time@1; high=2{each}"), &all);
    assert_eq!(
        [ruled(""), ruled("; each=most"), ruled("; each=any"), ruled("; each=2"), ruled("; each=3")].map(Option::unwrap),
        [Some(false), Some(true), Some(true), Some(true), Some(false)]
    );
}

#[test]
fn rules_on_shapes_tell_apart() {
    let of = |values: &[f64]| {
        let points: Vec<(f64, f64)> = values.iter().enumerate().map(|(place, value)| ((place + 1) as f64, *value)).collect();
        curve("a", &["a"], &points)
    };
    tells("rises", "of=time", &[of(&[1.0, 2.0, 3.0])], &[of(&[1.0, 2.0, 2.0])]);
    tells("peaks", "of=time; at=3; percent=5", &[of(&[1.0, 2.0, 3.0, 2.8])], &[of(&[1.0, 2.0, 3.0, 2.9])]);
    tells("peaks", "of=time; at=3; percent=5", &[of(&[1.0, 2.0, 3.0, 2.0])], &[of(&[2.0, 1.0, 3.0, 2.0])]);
    tells("peaks", "of=time; at=3; percent=0; to=any", &[of(&[2.0, 1.0, 3.0, 2.0])], &[of(&[4.0, 1.0, 3.0, 2.0])]);
    // A notch is lower than both neighbours by 2 %: a flatter stretch of a rise is none.
    tells("notch", "of=time; at=3", &[of(&[1.0, 5.0, 4.0, 6.0])], &[of(&[1.0, 5.0, 5.1, 6.0])]);
    tells("notch", "of=time; at=3", &[of(&[1.0, 5.0, 4.89, 6.0])], &[of(&[1.0, 5.0, 4.95, 6.0])]);
    tells("saturates", "of=time; percent=5", &[of(&[1.0, 5.0, 6.0, 6.05, 6.1, 6.2])], &[of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])]);
    let line = |bend: f64| {
        let points: Vec<(f64, f64)> = [1.0, 64.0, 128.0, 256.0, 512.0, 1_024.0].iter().map(|size| (*size, 100.0 + 0.5 * size)).collect();
        let mut one = curve("a", &[], &points);
        one.points[5].1 = Figure::exact(612.0 * bend);
        one
    };
    tells("step", "of=time; at=1024; to=cheaper", &[line(0.5)], &[line(1.0)]);
    tells("step", "of=time; at=1024; to=dearer", &[line(2.0)], &[line(0.5)]);
    tells("line", "of=time; r2=0.99", &[line(1.0)], &[line(3.0)]);
    let rates = |byte: f64| {
        let sizes = (0..15).map(|power| f64::from(1 << power));
        curve("a", &[], &sizes.map(|size| (size, 1e9 / (10_000.0 + byte * size))).collect::<Vec<_>>())
    };
    tells("power-law", "of=time; at=64", &[rates(1.0)], &[rates(0.0)]);
}

#[test]
fn a_crossing_is_more_than_the_same_band() {
    let one = |name: &str, values: [f64; 4]| {
        curve(name, &[name], &std::array::from_fn::<_, 4, _>(|place| (f64::from(1 << place), values[place])))
    };
    let base = one("b", [10.0; 4]);
    let operands = "of=time,a; over=time,b; near=4; factor=1.5";
    tells(
        "crosses",
        operands,
        &[one("a", [9.0, 9.6, 10.2, 11.0]), base.clone()],
        // To and fro within 5 %: the two are the same, and cross by chance.
        &[one("a", [9.6, 10.4, 9.6, 10.4]), base],
    );
}

#[test]
fn rules_on_rows_tell_apart() {
    let row = |name: &str, values: [f64; 2]| curve(name, &["x"], &[(1.0, values[0]), (2.0, values[1])]);
    let rows = |third: [f64; 2]| vec![row("a", [10.0, 30.0]), row("b", [9.0, 9.0]), row("c", third)];
    tells("varying", "of=time; near=1; of-rows=3", &rows([1.0, 1.4]), &rows([1.0, 1.6]));
    tells("movers", "of=time; between=1,2; names=a,c", &rows([1.0, 3.0]), &[rows([1.0, 1.0]), vec![row("d", [8.0, 1.0])]].concat());
    tells("dearest", "of=time@all; names=b,a", &rows([1.0, 1.0]), &rows([30.0, 1.0]));
    tells("dearest", "of=time@all; names=a; each=most", &rows([1.0, 1.0]), &rows([31.0, 31.0]));
    tells("dearest", "of=time@all; names=a; each=all", &rows([1.0, 1.0]), &rows([1.0, 31.0]));
    let wide = |mut rows: Vec<Curve>| {
        rows[0].points[0].1 = Figure::within(10.0, [8.0, 12.0]);
        rows
    };
    assert_eq!(rule("dearest", "of=time@all; names=a; each=all", &wide(rows([1.0, 1.0]))), Some(None), "b may be the dearest at 1");
    tells("outweighs", "of=time; names=a,b; others=c", &rows([1.0, 1.0]), &rows([90.0, 1.0]));
    let two = |share: f64| [row("a", [share, 0.0]), row("b", [1.0, 0.0])].map(|one| Curve { labels: vec!["y".to_owned()], ..one });
    tells(
        "concentrated",
        "of=time,y@all; over=time,x@all; count=1",
        &[rows([1.0, 1.0]), two(1.0).to_vec()].concat(),
        &[rows([1.0, 1.0]), two(9.0).to_vec()].concat(),
    );
    let sum = |value: f64| [row("a", [value, 10.0])];
    tells("excess", "of=time@1; over=time@2; near=1.6; within=0.05", &sum(16.0), &sum(12.0));
    assert_eq!(rule("excess", "of=time@1; over=time@2; near=1.6; within=0.05", &sum(18.0)), Some(None));
    let at = |best: f64| vec![curve("5", &["5"], &[(1.0, 1.0), (5.0, 3.0), (9.0, best)])];
    tells("equal-best", "of=time", &at(2.0), &at(4.0));
}

#[test]
fn every_kind_of_rule_is_used_and_its_operands_are_checked() {
    let used = CLAIMS;
    for kind in KINDS {
        assert!(used.contains(kind.name), "{} is of no use", kind.name);
    }
    assert!(KINDS.len() >= 15 && all().unwrap().len() == 100);
    for bad in ["near=x", "of=", "of=time@<x", "of=tim@1", "unknown=1", "of"] {
        assert!(Operands::parse(bad).is_err(), "{bad}");
    }
    assert!(Term::parse("ratio,a|b,!c@median<1024").is_some());
}

#[test]
fn figures_have_four_digits_and_thousands() {
    assert_eq!([741_600.0, 1.003, 0.0012, -12.5, 1104.24].map(figure), ["741,600", "1.003", "0.0012", "-12.5", "1,104"]);
}

fn given(study: Study, text: &str) -> ReferenceAnalysis {
    let mut analysis = analyse(study, 0).unwrap();
    analysis.rule(study, "mine.csv", &parse(text).unwrap()).unwrap();
    analysis
}

#[track_caller]
fn ruled(analysis: &ReferenceAnalysis, id: &str) -> Ruling {
    let one = found(&analysis.statements, id, &[]);
    assert!(one.given.len() <= 1);
    one.ruling
}

/// A table of a second chip: it saturates at 65 % and 6 Mbit/s, with a notch at three packets or without.
fn chip(third: u32) -> String {
    let rates = [
        (1, 330, 2.9),
        (2, 560, 5.0),
        (3, third, 4.5),
        (4, 640, 5.7),
        (5, 680, 5.9),
        (6, 700, 6.1),
        (7, 705, 6.2),
        (8, 710, 6.2),
        (9, 712, 6.2),
        (10, 715, 6.2),
        (11, 716, 6.2),
        (12, 718, 6.2),
    ];
    let rows: String =
        rates.iter().map(|(packets, task, wire)| format!("Intel to LANCE (3/280 to 3/60),{packets},{task},{wire}\n")).collect();
    format!("pair,socket_buffer_packets,task_kbytes_per_s,wire_mbits_per_s\n{rows}")
}

#[test]
fn a_table_of_a_second_chip_is_ruled_by_the_same_rows() {
    let own = analyse(Study::Jacobson1988, 0).unwrap();
    assert_eq!(["j88-06", "j88-07", "j88-08"].map(|id| ruled(&own, id)), [Ruling::NeedsTable; 3]);
    let notched = given(Study::Jacobson1988, &chip(520));
    assert_eq!(["j88-06", "j88-07", "j88-08"].map(|id| ruled(&notched, id)), [Ruling::Holds; 3]);
    assert_eq!(ruled(&given(Study::Jacobson1988, &chip(600)), "j88-08"), Ruling::DoesNotHold);
    // Claims about the other chip keep their ruling, and are not ruled by this table.
    let other = found(&notched.statements, "j88-05", &["384"]);
    assert!(other.given.is_empty() && other.ruling == Ruling::Holds);
}

/// A table of a second machine, whose STREAMS is so many times as fast as its sockets.
fn machine(small: f64, large: f64) -> String {
    let mut text = "table,host,distribution,kernel,implementation,message_bytes,test_s,sent_messages,received_messages\n".to_owned();
    for power in 0..15 {
        let size = 1_u64 << power;
        let rate = |message: f64, byte: f64| (1e10 / (message + byte * size as f64)) as u64;
        let rows = [
            ("sockets", rate(14_000.0, 1.2)),
            ("streams-tpi", rate(14_000.0 / small, 1.2 / large)),
            ("xti-over-sockets", rate(15_000.0, 2.6)),
        ];
        rows.iter().for_each(|(name, count)| text += &format!("5,pumbah,RedHat 7.2,2.4.20,{name},{size},10,{count},{count}\n"));
    }
    text
}

#[test]
fn a_table_of_a_second_machine_is_ruled_by_the_same_rows() {
    let faster = given(Study::Bidulock2007, &machine(1.2, 1.9));
    assert_eq!([ruled(&faster, "b07-21"), ruled(&faster, "b07-22")], [Ruling::Holds; 2]);
    let slower = given(Study::Bidulock2007, &machine(0.9, 0.8));
    assert_eq!([ruled(&slower, "b07-21"), ruled(&slower, "b07-22")], [Ruling::DoesNotHold; 2]);
    // Those of the carried tables are about these.
    assert_eq!(ruled(&slower, "b07-06"), Ruling::Holds);
}

/// Tables of a second protocol: seconds of 28 routines, of which seven vary.
fn protocol(varying: usize) -> String {
    let named = ["udp_cksum", "sosend", "if_wubaput", "uiomove", "Copyin", "m_freem", "m_get"];
    let mut text = "routine,message_bytes,seconds_per_10000_messages\n".to_owned();
    for place in 0..28 {
        let name = named.get(place).map_or_else(|| format!("udp_{place}"), |name| (*name).to_owned());
        for (size, factor) in [(1, 1.0), (112, 1.2), (113, 1.2), (1_023, 6.0), (1_024, 2.0), (1_025, 6.0)] {
            let base = 3.0 / (place + 1) as f64;
            let factor = match name.as_str() {
                "m_freem" if size == 1_024 => 9.0,
                "m_freem" => 2.0,
                "uiomove" | "if_wubaput" if size == 1_023 => 30.0,
                _ if place < varying => factor,
                _ => 1.0,
            };
            text += &format!("{name},{size},{:.3}\n", base * factor);
        }
    }
    text
}

#[test]
fn a_table_of_a_second_protocol_is_ruled_by_the_same_rows() {
    let ids = ["c84-41", "c84-42", "c84-43"];
    let as_stated = given(Study::Cabrera1984, &protocol(7));
    assert_eq!(ids.map(|id| ruled(&as_stated, id)), [Ruling::Holds; 3], "{:#?}", as_stated.statements);
    assert_eq!(ruled(&given(Study::Cabrera1984, &protocol(12)), "c84-41"), Ruling::DoesNotHold);
    // The share of the five dearest needs both protocols, and has them.
    assert_ne!(ruled(&as_stated, "c84-44"), Ruling::NeedsTable);
    // TCP's own rows are not ruled by it.
    assert!(found(&as_stated.statements, "c84-33", &["11 of 20"]).given.is_empty());
}

/// Curves of today in which TCP and UDP cost so much at one byte and at 1,460.
fn today(quantity: &'static str, labels: &[&str], points: &[(f64, [f64; 3])]) -> Curve {
    Curve {
        quantity,
        name: labels.join(" "),
        group: "run".to_owned(),
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        points: points.iter().map(|(at, [value, low, high])| (*at, Figure::within(*value, [*low, *high]))).collect(),
        given: false,
    }
}

#[test]
fn runs_of_today_are_ruled_by_the_same_rows() {
    let standing = |curves: Vec<Curve>, study: Study, id: &str| {
        let mut statements = statements(study, &study.tables().unwrap()).unwrap();
        rule_today(study, &Evidence { curves }, &mut statements).unwrap();
        statements.into_iter().find(|one| one.id == id).unwrap().today.unwrap().standing
    };
    // TCP's throughput dipped at 1,460 B.
    let rates = |at_1460: [f64; 3]| vec![today("rate", &["tcp", "one-link"], &[(1_024.0, [100.0, 98.0, 102.0]), (1_460.0, at_1460)])];
    let dip = |at_1460| standing(rates(at_1460), Study::Cabrera1984, "c84-14");
    assert_eq!(dip([60.0, 58.0, 62.0]), Standing::Holds);
    assert_eq!(dip([130.0, 128.0, 133.0]), Standing::OtherWayRound);
    assert_eq!(dip([98.0, 97.5, 100.0]), Standing::NoLonger);
    assert_eq!(dip([100.5, 99.5, 101.0]), Standing::NoLonger, "a figure above 1 that may be below is not the other way round");
    assert_eq!(dip([95.0, 90.0, 100.0]), Standing::NotShown);
    // Eight times where twice was claimed is no reversal: both are longer.
    let longer = |at_1024: f64| vec![today("time", &["tcp"], &[(128.0, [1.0, 0.99, 1.01]), (1_024.0, [at_1024, at_1024, at_1024])])];
    assert_eq!(standing(longer(8.0), Study::Cabrera1984, "c84-19"), Standing::NoLonger);
    assert_eq!(standing(longer(1.9), Study::Cabrera1984, "c84-19"), Standing::Holds);
    assert_eq!(standing(Vec::new(), Study::Cabrera1984, "c84-14"), Standing::NotTestable);
    // A shape without intervals is no evidence, however clear it looks.
    let times = |high: f64| {
        let sizes = [1.0, 64.0, 128.0, 256.0, 512.0, 1_024.0];
        vec![today("time", &["tcp"], &sizes.map(|size| (size, [100.0 + 0.5 * size, 0.0, high])))]
    };
    assert_eq!(standing(times(f64::INFINITY), Study::Cabrera1984, "c84-16"), Standing::NotShown);
    assert_eq!(standing(times(1_000.0), Study::Cabrera1984, "c84-16"), Standing::NoLonger);
    // A claim that its own table refutes does not cease to hold.
    let share =
        |left: f64| vec![today("left", &["sender", "tcp"], &[(1.0, [left, left, left]), (2.0, [left * left, left * left, left * left])])];
    assert_eq!(standing(share(0.5), Study::Cabrera1984, "c84-22"), Standing::Holds);
    assert_eq!(standing(share(0.9), Study::Cabrera1984, "c84-22"), Standing::DoesNotHold);
    // No claim about interfaces that there are no more is ruled by a run.
    assert_eq!(standing(rates([60.0, 58.0, 62.0]), Study::Cabrera1984, "c84-08"), Standing::NotTestable);
}

#[test]
fn experiments_of_today_are_ruled_by_the_rows_that_ask_for_them() {
    let standing = |curves: Vec<Curve>, study: Study, id: &str| {
        let mut statements = statements(study, &study.tables().unwrap()).unwrap();
        rule_today(study, &Evidence { curves }, &mut statements).unwrap();
        statements.into_iter().find(|one| one.id == id).unwrap().today.unwrap().standing
    };
    let near = |value: f64| [value, value * 0.99, value * 1.01];
    // A wire of 10 Mbit/s is faster than one of 3 by today's model of it.
    let links = vec![
        today("time", &["udp", "ethernet 3M"], &[(1_460.0, near(4.0))]),
        today("time", &["udp", "ethernet 10M"], &[(1_460.0, near(1.2))]),
    ];
    assert_eq!(standing(links, Study::Cabrera1984, "c84-09"), Standing::OtherWayRound);
    let kinds = |movement: f64, checksum: f64| {
        let of = |name, ns| today("kind", &[name, "tcp", "veth", "offload"], &[(1_448.0, near(ns)), (16_384.0, near(8.0 * ns))]);
        let mut curves =
            vec![of("data-movement", movement), of("checksum", checksum), of("protocol", 500.0), of("touches-payload", 9_000.0)];
        curves.iter_mut().for_each(|curve| curve.name = curve.labels[0].clone());
        curves
    };
    assert_eq!(standing(kinds(900.0, 10.0), Study::Cabrera1984, "c84-37"), Standing::Holds);
    // More than the checksum is not the most.
    assert_eq!(standing(kinds(300.0, 10.0), Study::Cabrera1984, "c84-37"), Standing::NoLonger);
    // The best of each sender's buffer: where both are equal, and where the receiver's is the largest.
    let pairs = |best: fn(f64, f64) -> f64| -> Vec<Curve> {
        let one = |sender: f64| {
            let points = [1.0, 2.0, 3.0].map(|receiver| (receiver, near(best(sender, receiver))));
            today("by-receiver", &[&sender.to_string()], &points)
        };
        [1.0, 2.0, 3.0].map(one).to_vec()
    };
    assert_eq!(
        standing(pairs(|sender, receiver| 100.0 - 20.0 * (sender - receiver).abs()), Study::Jacobson1988, "j88-10"),
        Standing::Holds
    );
    assert_ne!(standing(pairs(|_, receiver| 100.0 * receiver), Study::Jacobson1988, "j88-10"), Standing::Holds);
    let costs = |with: f64| {
        vec![
            today("cost-with-checksum", &["tcp", "software"], &[(16_384.0, near(with))]),
            today("cost-without-checksum", &["tcp", "offload"], &[(16_384.0, near(1_000.0))]),
        ]
    };
    assert_eq!(standing(costs(1_200.0), Study::Kay1993, "k93-10"), Standing::Compared);
    let mix = |tcp: f64| {
        vec![today("mix", &["touches-payload", "tcp"], &[(0.0, near(tcp))]), today("mix", &["touches-payload", "udp"], &[(0.0, near(0.6))])]
    };
    assert_eq!(standing(mix(0.2), Study::Kay1993, "k93-12"), Standing::Holds);
    assert_ne!(standing(mix(0.5), Study::Kay1993, "k93-12"), Standing::Holds);
    let rates = |send: f64| vec![today("cpu-rate", &["send", "alone", "tcp"], &[(1_440.0, near(send))])];
    assert_eq!(standing(rates(9_000.0), Study::Kim1997, "k97-03"), Standing::Compared);
    let placed = |two: f64| {
        vec![
            today("placed-ratio", &["streams-tpi", "other-core"], &[(1.0, near(two)), (64.0, near(two))]),
            today("placed-ratio", &["streams-tpi", "same-core"], &[(1.0, near(1.1)), (64.0, near(1.1))]),
        ]
    };
    assert_eq!(standing(placed(1.4), Study::Bidulock2007, "b07-14"), Standing::Holds);
    assert_eq!(standing(placed(0.9), Study::Bidulock2007, "b07-14"), Standing::OtherWayRound);
    let buffers = |largest: f64| vec![today("by-sndbuf", &["udp"], &[(4_096.0, [1.0; 3]), (131_071.0, near(largest))])];
    assert_eq!(standing(buffers(1.02), Study::Bidulock2007, "b07-18"), Standing::Holds);
    assert_ne!(standing(buffers(1.5), Study::Bidulock2007, "b07-18"), Standing::Holds);
}

#[test]
fn runs_can_decide_most_claims_today() {
    let measured = all().unwrap().iter().filter(|claim| !claim.today.is_empty()).count();
    assert!(measured >= 70, "{measured} claims have operands for today");
}

/// Rulings of today of a paper by these curves.
fn of_today(study: Study, curves: Vec<Curve>) -> Vec<Statement> {
    let mut statements = statements(study, &study.tables().unwrap()).unwrap();
    rule_today(study, &Evidence { curves }, &mut statements).unwrap();
    statements
}

#[track_caller]
fn ruling_of_today(all: &[Statement], id: &str) -> (Standing, String) {
    let today = all.iter().find(|one| one.id == id).unwrap().today.clone().unwrap();
    (today.standing, today.found)
}

#[test]
fn where_a_row_asks_for_numbers_next_to_each_other_none_is_refuted() {
    for claim in all().unwrap().iter().filter(|claim| !claim.today.is_empty()) {
        let asks = claim.row.today_rule.as_str();
        let numbers = !asks.contains("holds when") && (asks.contains("number") || asks.contains("next to"));
        // Rows that refer to another are ruled as that.
        assert_eq!(claim.is_compared(), numbers, "{}: {asks}", claim.row.id);
        // An interval that reaches into a range shows nothing: today's whole interval has to lie inside.
        assert!(claim.today.iter().all(|(kind, _)| kind.name != "near"), "{}", claim.row.id);
    }
    let time = |at: f64, ms: f64| today("time", &["udp", "one-link"], &[(at, [ms, ms * 0.99, ms * 1.01])]);
    let found = of_today(Study::Cabrera1984, vec![time(1_024.0, 0.8724)]);
    assert_eq!(
        ruling_of_today(&found, "c84-18"),
        (Standing::Compared, "udp one-link 0.8724 (0.8637 to 0.8811) ms; then 7 ms to 9 ms, then is 8.02 times today".to_owned())
    );
    let moved = |end: &str, bytes: f64| today("moved-per-byte", &[end, "acknowledged"], &[(1_440.0, [bytes; 3])]);
    let (standing, words) = ruling_of_today(&of_today(Study::Kim1997, vec![moved("send", 17.78), moved("receive", 12.52)]), "k97-06");
    assert_eq!(standing, Standing::Compared);
    for part in [
        "send acknowledged 17.78 B a byte; then 8.9 B a byte, today is 2 times then",
        "12.52 B a byte; then 22.7 B a byte, then is 1.81 times today",
    ] {
        assert!(words.contains(part), "{words}");
    }
}

/// 13 sizes of which the checksum of TCP alone differs, at one of them, and one figure has no interval.
#[test]
fn one_figure_outside_refutes_what_all_have_to_show() {
    let sizes: Vec<f64> = (0..13).map(|power| f64::from(1 << power)).collect();
    let share = |kind: &str, protocol: &str, at_last: f64| {
        let of = |size: f64| if size == 4_096.0 { at_last } else { 0.1 };
        let points: Vec<(f64, [f64; 3])> = sizes.iter().map(|size| (*size, [of(*size), of(*size) - 0.01, of(*size) + 0.01])).collect();
        Curve { name: kind.to_owned(), group: protocol.to_owned(), ..today("share", &["offload", kind, protocol], &points) }
    };
    let mut curves =
        vec![share("checksum", "tcp", 0.3), share("checksum", "udp", 0.1), share("other", "tcp", 0.1), share("other", "udp", 0.1)];
    curves[2].points[0].1 = Figure::within(0.1, [0.0, f64::INFINITY]);
    let (standing, words) = ruling_of_today(&of_today(Study::Kay1993, curves.clone()), "k93-07");
    assert_eq!(standing, Standing::DoesNotHold);
    assert!(words.starts_with("1 of 26 figures outside: checksum at 4,096 0.2 (0.18 to 0.22)"), "{words}");
    // Without it the one that has no interval leaves it open.
    curves[0] = share("checksum", "tcp", 0.1);
    assert_eq!(ruling_of_today(&of_today(Study::Kay1993, curves), "k93-07").0, Standing::NotShown);
    // STREAMS below sockets at one size: that one is named, not those that leave it open.
    let ratio = |size: f64| if size == 64.0 { [0.8, 0.7, 0.9] } else { [0.6 + size / 1e4, 0.5, 1.5] };
    let points: Vec<(f64, [f64; 3])> = sizes.iter().map(|size| (*size, ratio(*size))).collect();
    let (standing, words) =
        ruling_of_today(&of_today(Study::Bidulock2007, vec![today("ratio", &["streams-tpi", "loopback"], &points)]), "b07-06");
    assert_eq!(standing, Standing::NoLonger);
    assert!(words.starts_with("1 of 13 figures outside: streams-tpi loopback at 64 0.8 (0.7 to 0.9)"), "{words}");
}

#[test]
fn no_share_of_checksum_is_shown_by_an_interval_that_begins_at_none() {
    let share = |ends: [f64; 3]| vec![today("share", &["checksum", "loopback"], &[(1_448.0, ends)])];
    let ruled = |ends| ruling_of_today(&of_today(Study::Bidulock2007, share(ends)), "b07-20").0;
    assert_eq!(ruled([0.01018, 0.0027, 0.0178]), Standing::NotShown);
    assert_eq!(ruled([0.001, 0.0, 0.004]), Standing::Holds);
    assert_eq!(ruled([0.02, 0.01, 0.03]), Standing::DoesNotHold);
}

/// What a reader reads of claims that no run decides, and of ratios.
#[test]
fn what_it_takes_is_a_sentence_and_a_ratio_has_no_unit() {
    for study in Study::ALL {
        for one in of_today(study, Vec::new()) {
            let today = one.today.unwrap();
            for broken in ["takes as b07", "it takes cabrera1984 sends", "trap", "none"] {
                assert!(!today.found.contains(broken) && !today.found.is_empty(), "{}: {}", one.id, today.found);
            }
            assert!(!one.rule.contains("largest over smallest at most 1.2 ms"), "{}: {}", one.id, one.rule);
        }
    }
    let lost = |rate: f64| (rate, [rate; 3]);
    let losses = vec![today("lost-by-priority", &["udp"], &[(0.0, lost(0.5).1), (1.0, lost(0.0).1)])];
    let (standing, words) = ruling_of_today(&of_today(Study::Bidulock2007, losses), "b07-19");
    assert!(standing == Standing::Holds && words.ends_with(": the smallest is 0"), "{words}");
}

#[test]
fn claims_that_today_asks_otherwise_have_rules_of_their_own() {
    let near = |value: f64| [value, value * 0.99, value * 1.01];
    // A round trip against two messages of a stream, whatever 1984 took for either.
    let trip = |ms: f64| {
        vec![today("round-trip", &["tcp", "one-link"], &[(0.0, near(ms))]), today("latency", &["tcp", "one-link"], &[(0.0, near(0.001))])]
    };
    assert_eq!(ruling_of_today(&of_today(Study::Cabrera1984, trip(0.08)), "c84-26").0, Standing::Holds);
    assert_eq!(ruling_of_today(&of_today(Study::Cabrera1984, trip(0.0015)), "c84-26").0, Standing::NoLonger);
    // Totals are lines over the count whose slopes rise with the size.
    let lines = |bend: f64, slopes: [f64; 2]| {
        let points: Vec<(f64, [f64; 3])> = [500.0, 1_000.0, 4_000.0, 9_000.0].map(|count| (count, near(0.1 * count))).to_vec();
        let mut total = today("total", &["udp"], &points);
        total.points[3].1 = Figure::exact(900.0 * bend);
        vec![total, today("slope", &["udp"], &[(1.0, near(slopes[0])), (1_024.0, near(slopes[1]))])]
    };
    let ruled = |bend, slopes| ruling_of_today(&of_today(Study::Cabrera1984, lines(bend, slopes)), "c84-01").0;
    assert_eq!(ruled(1.0, [0.067, 0.87]), Standing::Holds);
    assert_eq!(ruled(3.0, [0.067, 0.87]), Standing::DoesNotHold);
    assert_eq!(ruled(1.0, [0.87, 0.067]), Standing::DoesNotHold);
    assert_eq!(ruled(1.0, [0.87, 0.871]), Standing::NotShown);
    // Load flattens throughput over the size where it costs the larger size more.
    let left = |large: f64| {
        let of = |bytes: &str, protocol: &str, share: f64| today("left", &["sender", protocol, bytes], &[(4.0, near(share))]);
        ["tcp", "udp"].iter().flat_map(|protocol| [of("1", protocol, 0.2), of("1024", protocol, large)]).collect()
    };
    assert_eq!(ruling_of_today(&of_today(Study::Cabrera1984, left(0.1)), "c84-25").0, Standing::Holds);
    assert_eq!(ruling_of_today(&of_today(Study::Cabrera1984, left(0.3)), "c84-25").0, Standing::OtherWayRound);
    let rules = of_today(Study::Cabrera1984, trip(0.08));
    let one = rules.iter().find(|one| one.id == "c84-26").unwrap();
    assert!(one.today.as_ref().unwrap().rule.as_ref().unwrap().contains("at least 2"), "{one:#?}");
}
