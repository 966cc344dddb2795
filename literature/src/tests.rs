//! Each statement of the papers, as the issue of this part has it.

use super::read::csv::parse;
use super::statement::Ruling::{self, Confirmed, Consistent, NotConfirmed, NotDecidable};
use super::{DRAWS, Foreign, ReferenceAnalysis, Statement, Study, analyse, cabrera, jacobson, of_table};

fn study(study: Study) -> ReferenceAnalysis {
    analyse(study, DRAWS).unwrap()
}

#[track_caller]
fn statement<'a>(analysis: &'a ReferenceAnalysis, id: &str) -> &'a Statement {
    analysis.statements.iter().find(|statement| statement.id == id).unwrap_or_else(|| panic!("no statement {id}"))
}

/// Asserts a ruling, and gives the first figure that decided.
#[track_caller]
fn ruled(analysis: &ReferenceAnalysis, id: &str, ruling: Ruling) -> f64 {
    let found = statement(analysis, id);
    assert_eq!(found.ruling, ruling, "{found:#?}");
    found.values.first().copied().unwrap_or(f64::NAN)
}

fn all_decided_alike(analysis: &ReferenceAnalysis, rulings: &[(&str, Ruling)]) {
    for statement in &analysis.statements {
        eprintln!("{} [{}] {}: {}", statement.ruling.words(), statement.id, statement.says, statement.found);
        assert!(rulings.iter().any(|(id, _)| *id == statement.id), "no test of {}", statement.id);
    }
    for (id, ruling) in rulings {
        ruled(analysis, id, *ruling);
    }
    assert_eq!(analysis.statements.len(), rulings.len());
}

#[test]
fn every_statement_of_2007_is_ruled_as_its_tables_have_it() {
    let rulings = [
        ("above/1", Confirmed),
        ("above/2", Confirmed),
        ("above/3", NotConfirmed),
        ("above/4", Confirmed),
        ("above/6", Confirmed),
        ("twice/1", Confirmed),
        ("twice/2", Confirmed),
        ("twice/3", Confirmed),
        ("twice/4", Confirmed),
        ("twice/6", Confirmed),
        ("slope/1", NotConfirmed),
        ("slope/2", Confirmed),
        ("slope/3", NotConfirmed),
        ("slope/4", Confirmed),
        ("slope/6", Confirmed),
        ("line/1", Confirmed),
        ("line/2", NotConfirmed),
        ("line/3", NotConfirmed),
        ("line/4", Confirmed),
        ("line/6", Confirmed),
        ("power/1", Confirmed),
        ("power/2", Confirmed),
        ("power/3", Confirmed),
        ("power/4", Confirmed),
        ("power/6", Confirmed),
        ("drops/1", NotConfirmed),
        ("drops/2", Confirmed),
        ("drops/3", Confirmed),
        ("drops/4", Confirmed),
        ("drops/6", Confirmed),
    ];
    all_decided_alike(&study(Study::Bidulock2007), &rulings);
}

#[test]
fn the_figures_of_2007_are_those_of_its_tables() {
    let analysis = study(Study::Bidulock2007);
    let near = |id: &str, value: f64, within: f64| {
        let found = statement(&analysis, id).values[0];
        assert!((found - value).abs() <= within, "{id}: {found}");
    };
    near("above/1", 28.0, 0.05);
    near("above/2", 36.0, 0.05);
    near("above/3", 19.6, 0.05);
    near("above/4", 7.1, 0.05);
    near("above/6", 38.1, 0.05);
    // SuSE misses the nearer end, 25 %, by more than 5 points.
    assert!((statement(&analysis, "above/3").values[3] - 5.4).abs() < 0.05);
    near("slope/1", 1.16, 0.005);
    near("slope/2", 0.958, 0.005);
    near("slope/3", 0.86, 0.005);
    near("slope/4", 1.004, 0.005);
    // CentOS's agreement hangs on the one size off its line.
    assert!(statement(&analysis, "slope/2").found.contains("ruled otherwise"));
    assert_eq!(analysis.statements.iter().filter(|statement| statement.found.contains("ruled otherwise")).count(), 1);
    assert!(statement(&analysis, "slope/6").values[0] > 1.6);
    for table in ["1", "2", "3", "4", "6"] {
        assert!(statement(&analysis, &format!("twice/{table}")).values[0] >= 2.0);
    }
}

#[test]
fn the_one_point_off_its_line_in_2007_is_found() {
    let analysis = study(Study::Bidulock2007);
    let off: Vec<(&str, &str, u64)> = analysis
        .series
        .iter()
        .flat_map(|series| series.off_line.iter().map(|size| (series.group.as_str(), series.name.as_str(), size.message_bytes)))
        .collect();
    let [(group, name, size)] = off[..] else { panic!("{off:?}") };
    assert!(group.contains("CentOS 4"), "{group}");
    assert_eq!((name, size), ("streams-tpi", 8_192));
}

#[test]
fn the_delays_of_2007_have_costs_with_intervals_and_an_end() {
    let analysis = study(Study::Bidulock2007);
    assert_eq!(analysis.series.len(), 15);
    for series in &analysis.series {
        let cost = series.cost.as_ref().unwrap();
        let piece = cost.pieces.last().unwrap();
        eprintln!(
            "{} {}: {} pieces, r2 {:.4}, {:?} {:?}",
            series.group,
            series.name,
            cost.pieces.len(),
            cost.r_squared,
            piece.message_ns,
            piece.byte_ns
        );
        let [low, high] = piece.byte_ns.residual_bootstrap.unwrap();
        assert!(low <= piece.byte_ns.value && piece.byte_ns.value <= high && low > 0.0);
        assert!(series.saturation.unwrap().reached < 1.0);
        assert!(series.name == "sockets" || series.sizes.iter().all(|size| size.improvement.is_some()));
    }
    assert!(analysis.inconsistencies[0].contains("more messages received than sent"), "{:?}", analysis.inconsistencies);
}

#[test]
fn every_statement_of_1984_is_ruled_as_its_tables_have_it() {
    let rulings = [
        ("latency/B1", Confirmed),
        ("latency/B2", Confirmed),
        ("latency/B3", Confirmed),
        ("latency/B4", Confirmed),
        ("messages", NotConfirmed),
        ("page/B1", Confirmed),
        ("frame/B1", Confirmed),
        ("page/B2", Confirmed),
        ("frame/B2", Confirmed),
        ("page/B3", Confirmed),
        ("frame/B3", Confirmed),
        ("page/B4", Confirmed),
        ("frame/B4", Confirmed),
        ("page/B5", Confirmed),
        ("frame/B5", Confirmed),
        ("halves/sun-ii/tcp", Confirmed),
        ("halves/sun-ii/udp", Confirmed),
        ("halves/vax-11/750/tcp", Confirmed),
        ("halves/vax-11/750/udp", NotConfirmed),
        ("round-trip", Confirmed),
        ("movers", Confirmed),
        ("costliest", Confirmed),
        ("dearer", NotDecidable),
        ("buffers", Confirmed),
        ("segments", Confirmed),
        ("copying", Confirmed),
        ("constant", Confirmed),
        ("receiver", NotDecidable),
        ("both", NotDecidable),
        ("flatten", NotDecidable),
        ("ether", NotDecidable),
        ("udp-checksum", NotDecidable),
        ("spread", NotDecidable),
    ];
    all_decided_alike(&study(Study::Cabrera1984), &rulings);
}

#[test]
fn the_tables_of_1984_imply_two_thousand_messages_a_test() {
    let analysis = study(Study::Cabrera1984);
    let [round, low, high] = statement(&analysis, "messages").values[..] else { panic!() };
    assert_eq!(round, 2_000.0);
    assert!((1_990.0..2_000.0).contains(&low) && (2_000.0..2_020.0).contains(&high), "{low} {high}");
}

#[test]
fn the_steps_of_1984_are_found_and_no_others() {
    let analysis = study(Study::Cabrera1984);
    for series in &analysis.series {
        let steps: Vec<(u64, bool)> = series.steps.iter().map(|step| (step.before, step.throughput_falls)).collect();
        let expected = if series.name.ends_with("TCP") { [(1_024, false), (1_460, true)] } else { [(1_024, false), (2_032, true)] };
        assert_eq!(steps, expected, "{}", series.name);
    }
}

#[test]
fn the_routines_of_1984_come_in_their_order() {
    let analysis = study(Study::Cabrera1984);
    let routines = analysis.routines.as_ref().unwrap();
    let movers: Vec<&str> = routines.movers.iter().take(4).map(|(name, _)| name.as_str()).collect();
    assert_eq!(movers, ["m_copy", "sosend", "if_wubaput", "uiomove"]);
    let costliest: Vec<&str> = routines.rows.iter().take(5).map(|row| row.name.as_str()).collect();
    assert_eq!(costliest, ["m_copy", "sosend", "tcp_cksum", "if_wubaput", "tcp_output"]);
    // A second of 10,000 messages is 100 µs a message.
    assert!((routines.rows[0].total_us - 6_220.0).abs() < 1e-6);
    assert!(analysis.inconsistencies.iter().any(|text| text.contains("lacks Copyin")), "{:#?}", analysis.inconsistencies);
    assert!(analysis.inconsistencies.iter().any(|text| text.contains("messages/s is lower than bits/s imply")));
    assert_eq!(analysis.loads.len(), 5);
}

#[test]
fn every_statement_of_1988_is_ruled_as_its_table_has_it() {
    let rulings = [
        ("limit", Consistent),
        ("share", Confirmed),
        ("rise", Confirmed),
        ("wire", NotConfirmed),
        ("clock", NotDecidable),
        ("notch", NotDecidable),
        ("equal", NotDecidable),
    ];
    all_decided_alike(&study(Study::Jacobson1988), &rulings);
}

#[test]
fn the_figures_of_1988_follow_from_the_frames() {
    let analysis = study(Study::Jacobson1988);
    let curve = &analysis.buffers[0];
    let limit = curve.limit.unwrap();
    assert_eq!((limit.segment_byte_times, limit.acknowledgement_byte_times), (1_538.0, 76.0));
    assert_eq!(format!("{:.0} {:.4}", limit.kbytes_per_s, limit.wire_bytes_per_byte), "1104 1.1055");
    assert_eq!(format!("{:.0}", curve.points[11].share_of_limit.unwrap() * 100.0), "91");
    let wire = curve.wire.unwrap();
    assert_eq!(format!("{:.3}", wire.implied), "1.080");
    // No factor of the limit's fits the column, unless a KB has 1,000 bytes there.
    assert!(wire.allowed_1024[1] < 1.1055 && wire.allowed_1000[0] < 1.1055 && 1.1055 < wire.allowed_1000[1], "{wire:?}");
    let knee = curve.knee.as_ref().unwrap();
    let [low, high] = knee.at.residual_bootstrap.unwrap();
    assert!((4.0..5.5).contains(&knee.at.value) && low < knee.at.value && knee.at.value < high && low > 2.0 && high < 8.0, "{knee:?}");
}

#[test]
fn a_table_of_the_same_columns_is_analysed_by_itself() {
    let kinds = [cabrera::UNLOADED, cabrera::LATENCY, cabrera::ROUND_TRIP, cabrera::SECONDS, cabrera::CALLS, jacobson::TABLE];
    for text in kinds {
        let analysis = of_table("x.csv", &parse(text).unwrap(), 0);
        assert!(analysis.statements.is_empty());
        let parts = [analysis.series.len(), analysis.loads.len(), analysis.buffers.len(), usize::from(analysis.routines.is_some())];
        assert_eq!(parts.iter().filter(|part| **part > 0).count(), 1, "{parts:?}");
    }
}

#[test]
fn a_reference_compared_with_itself_is_the_same() {
    for study in [Study::Bidulock2007, Study::Cabrera1984, Study::Jacobson1988] {
        let text = match study {
            Study::Bidulock2007 => super::bidulock::TABLES,
            Study::Cabrera1984 => cabrera::UNLOADED,
            Study::Jacobson1988 => jacobson::TABLE,
        };
        let mut analysis = analyse(study, 0).unwrap();
        analysis.compare(&Foreign::of_table("again", &parse(text).unwrap()), 0);
        let comparison = &analysis.comparisons[0];
        let same = comparison.pairs.iter().filter(|pair| pair.sizes.iter().all(|(_, ratio)| *ratio == 1.0)).count();
        assert_eq!(same, analysis.series.len());
        assert_eq!(comparison.buffer_pairs.len(), analysis.buffers.len());
        assert!(comparison.buffer_pairs.iter().all(|pair| pair.knees[0] == pair.knees[1]));
        assert!(comparison.remarks.iter().all(|remark| !remark.contains("no message size")), "{:?}", comparison.remarks);
    }
}
