//! The figures that follow from the published tables.

use super::read::csv::parse;
use super::{DRAWS, Foreign, ReferenceAnalysis, Study, analyse, cabrera, jacobson, of_table};

fn study(study: Study) -> ReferenceAnalysis {
    analyse(study, DRAWS).unwrap()
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
            _ => jacobson::TABLE,
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

#[test]
fn the_figures_that_texts_state_are_read() {
    let stated = |study: Study| super::stated::figures(study).unwrap();
    let kim = stated(Study::Kim1997);
    assert_eq!((kim[0].quantity.as_str(), kim[0].figure.as_str()), ("time", "0.21 ms"));
    assert_eq!(kim[0].condition, "1440, send, socket+tcp+ip, received");
    let kay = stated(Study::Kay1993);
    assert_eq!(kay[0].figure, "up to 40 percent of processing time");
    assert!(stated(Study::Jacobson1988).iter().any(|one| one.quantity == "clock resolution" && one.figure == "10 ms"));
    for study in Study::ALL {
        let figures = stated(study);
        assert!(figures.len() >= 5 && figures.iter().all(|one| !one.quantity.is_empty() && !one.figure.trim().is_empty()), "{figures:#?}");
        assert_eq!(Study::named(study.name()), Some(study));
    }
}

#[test]
fn transactions_are_not_compared_with_streams() {
    let series = |name: &str, transactions: bool| super::sweep::Series {
        group: "g".to_owned(),
        name: name.to_owned(),
        implementation: None,
        tcp: false,
        transactions,
        link: None,
        points: vec![super::sweep::SizePoint { bytes: 1, messages_per_s: 10_000.0, sent_per_s: None }],
    };
    let foreign = Foreign { series: vec![series("netperf TCP_CRR", true), series("netperf UDP_STREAM", false)], ..Foreign::default() };
    let mut analysis = analyse(Study::Bidulock2007, 0).unwrap();
    analysis.compare(&foreign, 0);
    let comparison = &analysis.comparisons[0];
    assert!(
        comparison.pairs.len() == 15 && comparison.pairs.iter().all(|pair| pair.candidate == "netperf UDP_STREAM"),
        "{:?}",
        comparison.pairs
    );
    assert!(comparison.remarks.iter().any(|remark| remark.contains("TCP_CRR counts transactions")), "{:?}", comparison.remarks);
}
