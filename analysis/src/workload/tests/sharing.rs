//! What of a workload can be sent, and what the sizes measured weigh in it.

use model::{Bytes, Cell, Test};
use proptest::prelude::{prop, prop_assert, prop_assert_eq, proptest};

use crate::workload::{Weights, Workload, sizes_for};
use attribution::SizeDistribution;

fn udp() -> Cell {
    Cell::plain(Test::UdpStream, Bytes::new(1))
}

fn tcp() -> Cell {
    Cell::plain(Test::TcpStream, Bytes::new(1))
}

fn workload(points: Vec<(u64, f64)>) -> Workload {
    Workload { name: "x".to_owned(), title: String::new(), sizes: SizeDistribution::new(points) }
}

#[test]
fn the_built_in_workloads_are_sent_and_cut_at_the_datagram() {
    let all = Workload::built_in().unwrap();
    assert_eq!(all.iter().map(|workload| workload.name.as_str()).collect::<Vec<_>>(), ["W1", "W2", "W3", "W4", "W5"]);
    for workload in &all {
        let whole = workload.share_of(&tcp()).unwrap();
        assert_eq!(whole.cut, None);
        assert!((whole.sizes.mean() / workload.sizes.mean() - 1.0).abs() < 1e-9, "{}", workload.name);
        let cell = workload.cell_like(&tcp(), 1).unwrap();
        assert_eq!(cell.largest().get(), whole.sizes.largest());
        // The weights of a mix are whole numbers.
        let mean = cell.mix.unwrap().mean();
        assert!((mean / whole.sizes.mean() - 1.0).abs() < 1e-5, "{}: {mean} {}", workload.name, whole.sizes.mean());
        assert!(workload.share_of(&udp()).unwrap().sizes.largest() <= 65_507);
    }
    // Of W3 few messages are too large, and they hold most of its bytes.
    let cut = all[2].share_of(&udp()).unwrap().cut.unwrap();
    assert!((cut.messages - 0.0068).abs() < 0.0001 && (cut.bytes - 0.654).abs() < 0.001, "{cut:?}");
}

#[test]
fn a_workload_without_a_datagram_is_refused() {
    let error = workload(vec![(65_508, 1.0)]).share_of(&udp()).unwrap_err().to_string();
    assert!(error.contains("larger than the largest datagram, 65507 B"), "{error}");
    assert!(Workload::parse("f.csv", "", "bytes").unwrap_err().to_string().starts_with("f.csv: the first line is not"));
}

#[test]
fn a_sweep_reaches_into_the_workload() {
    assert_eq!(sizes_for(&tcp(), 100), [1, 64, 256, 512, 1_024, 1_448, 1_449, 2_048, 4_096, 16_384]);
    assert_eq!(sizes_for(&tcp(), 100_000)[10..], [65_536, 100_000]);
    assert_eq!(sizes_for(&tcp(), 15_158_197)[10..], [65_536, 262_144, 1_048_576]);
    assert_eq!(sizes_for(&udp(), 65_507).last(), Some(&65_507));
    assert_eq!(sizes_for(&udp(), 1 << 20).last(), Some(&65_507));
}

#[test]
fn what_lies_beyond_the_sizes_is_on_their_last_line_and_said() {
    let weights = Weights::new(&[(5, 0.5), (40, 0.5)], &[10, 20]).unwrap();
    assert_eq!(weights.of_size, [0.5 - 1.0, 1.5]);
    assert_eq!((weights.beyond.messages, weights.beyond.bytes), (0.5, 20.0 / 22.5));
    assert_eq!(weights.mean(|place| Some([100.0, 200.0][place])), Some(250.0));
    assert_eq!(weights.mean(|place| [Some(1.0), None][place]), None);
    assert_eq!(Weights::new(&[(5, 1.0)], &[10]), None);
    // As if its messages had had 30 B in the mean.
    let more = weights.towards_mean(30.0, &[10, 20]);
    assert_eq!(more.of_size, [-1.0, 2.0]);
}

proptest! {
    /// Nothing is cut that fits, and what is cut is all that does not.
    #[test]
    fn cutting_keeps_the_proportions_of_the_rest(weights in prop::collection::vec(0.01..1.0f64, 2..40), step in 1u64..8_000) {
        let whole: f64 = weights.iter().sum();
        let points: Vec<(u64, f64)> = weights.iter().enumerate().map(|(at, weight)| (1 + step * at as u64, weight / whole)).collect();
        let share = workload(points.clone()).share_of(&udp()).unwrap();
        let fits: Vec<&(u64, f64)> = points.iter().filter(|(size, _)| *size <= 65_507).collect();
        let kept = share.sizes.points();
        prop_assert_eq!(kept.len(), fits.len());
        prop_assert!((kept.iter().map(|(_, share)| share).sum::<f64>() - 1.0).abs() < 1e-9);
        for (one, was) in kept.iter().zip(&fits) {
            prop_assert!((one.1 / kept[0].1 - was.1 / fits[0].1).abs() < 1e-9);
        }
        let left = 1.0 - share.cut.map_or(0.0, |cut| cut.messages);
        prop_assert!((left - fits.iter().map(|(_, share)| share).sum::<f64>()).abs() < 1e-9);
        prop_assert_eq!(share.cut.is_none(), fits.len() == points.len());
    }

    /// What is a straight line over the sizes is predicted exactly, whatever the mix.
    #[test]
    fn a_line_is_predicted_exactly(
        mix in prop::collection::btree_map(1u64..100_000, 0.01..1.0f64, 1..60),
        measured in prop::collection::btree_set(1u64..50_000, 2..15), a in 1.0..1e4f64, b in 0.0..10.0f64,
    ) {
        let measured: Vec<u64> = [1].into_iter().chain(measured.into_iter().filter(|size| *size > 1)).collect();
        let whole: f64 = mix.values().sum();
        let mix: Vec<(u64, f64)> = mix.into_iter().map(|(size, share)| (size, share / whole)).collect();
        let weights = Weights::new(&mix, &measured).unwrap();
        prop_assert!((weights.of_size.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        let truth: f64 = mix.iter().map(|(size, share)| share * (a + b * *size as f64)).sum();
        let found = weights.mean(|place| Some(a + b * measured[place] as f64)).unwrap();
        prop_assert!((found / truth - 1.0).abs() < 1e-6, "{found} {truth}");
        let larger = weights.towards_mean(9_000.0, &measured).mean(|place| Some(a + b * measured[place] as f64)).unwrap();
        prop_assert!((larger / (a + b * 9_000.0) - 1.0).abs() < 1e-6, "{larger}");
    }
}
