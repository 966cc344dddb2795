//! A run that varies socket buffers, and repeats a published study.

use analysis::result::buffers::{Autotuned, BufferCell, BufferKnee, BufferLevel, BufferMap, Line, Notch, Prediction};
use analysis::result::published::{Published, PublishedBuffer, PublishedBuffers, PublishedSize, PublishedSizes, PublishedTime};
use analysis::result::{Analysis, StudyResult};
use model::{Bytes, Cell, Test};

use super::{empty, estimate};

const SIDE: usize = 17;

fn level(asked: usize, packets: usize, window: Option<f64>) -> BufferLevel {
    BufferLevel {
        asked: Some(Bytes::new(asked as u64)),
        set: Some((2 * asked).max(4_608) as i64),
        got: Some((2 * asked).max(4_608) as i64),
        window,
        in_flight: Some(packets as f64),
        most_in_flight: Some(packets as u32 + 1),
        looks: 12_345,
    }
}

fn cell(sender: usize, receiver: usize) -> BufferCell {
    let packets = (sender.max(2) + 1).min(receiver + 1);
    let slower = if sender == 4 { 0.8 } else { 1.0 };
    let goodput = 13.7e6 * packets.min(7) as f64 * slower;
    BufferCell {
        sender,
        receiver,
        goodput_bit_per_s: estimate(goodput, 0.02, 0.01),
        limit_share: Some(goodput / 98e6),
        wire_bit_per_s: Some(goodput / 0.98),
        in_flight: Some(packets as f64),
        segments_per_ack: Some(2.0),
        resent: u64::from(sender == 0),
        predicted: Some(Prediction { bit_per_s: goodput * 1.03, ratio: estimate(1.0 / 1.03, 0.02, 0.01) }),
    }
}

fn map() -> BufferMap {
    let cells: Vec<BufferCell> = (0..SIDE * SIDE).map(|place| cell(place / SIDE, place % SIDE)).collect();
    let notch = |sender: usize, receiver: usize, line| Notch { cell: sender * SIDE + receiver, line, depth: 0.2, p: 0.0021 };
    BufferMap {
        rest: Cell { nodelay: true, cc: Some("cubic".into()), ..Cell::plain(Test::TcpStream, Bytes::new(1_460)) },
        label: "TCP_STREAM (nodelay, cubic)".into(),
        message: Bytes::new(1_460),
        link: "relay 100M delay=300us".parse().expect("a link"),
        senders: (0..SIDE).map(|place| level(1_100 * (place + 1), place.max(2) + 1, None)).collect(),
        receivers: (0..SIDE).map(|place| level(1_200 * (place + 1) + 2_000, place + 1, Some(1_460.0 * (place + 1) as f64))).collect(),
        cells,
        diagonal: (0..SIDE).map(|place| place * (SIDE + 1)).collect(),
        knee: Some(BufferKnee { plateau_bit_per_s: 95.9e6, plateau_cells: 4, at: 6, buffer: 6, surely: Some(7) }),
        notches: (5..SIDE).map(|receiver| notch(4, receiver, Line::OverSenders)).chain([notch(4, 4, Line::Diagonal)]).collect(),
        tested: 525,
        autotuned: Some(Autotuned {
            goodput_bit_per_s: estimate(96.5e6, 0.01, 0.01),
            buffer_over_it: Some(estimate(0.994, 0.01, 0.02)),
            got: [Some(87_040), Some(131_072)],
        }),
        beyond_ns: Some(estimate(38e6, 0.05, 0.04)),
    }
}

fn published() -> Published {
    let row = |packets: u64| PublishedBuffer {
        packets,
        published_kbytes_per_s: (packets <= 12).then_some(330.0 + 56.0 * packets as f64),
        today_kbytes_per_s: (packets > 1).then(|| estimate(1_600.0 * packets as f64, 0.02, 0.03)),
    };
    let size = |message_bytes: u64| PublishedSize {
        message_bytes,
        today: (message_bytes != 16).then(|| estimate(220_000.0, 0.01, 0.01)),
        published: vec![Some(181.0), (message_bytes < 1_000).then_some(250.0)],
    };
    Published {
        name: "jacobson1988".into(),
        title: "TCP on an Ethernet by socket buffer, 4BSD, 1988".into(),
        source: "Van Jacobson, \"4BSD TCP Ethernet Throughput\", tcp-ip list, 24 October 1988".into(),
        sizes: vec![PublishedSizes {
            series: "TCP_STREAM (nodelay)".into(),
            published: vec!["VAX 11/750, calder-10 to matisse-10: B1 TCP".into(), "SUN II, <uranus> to mars: B3 TCP".into()],
            native: Vec::new(),
            rows: [1, 16, 1_024].map(size).into(),
        }],
        times: vec![PublishedTime {
            what: "VAX 11/750 TCP round trip of one byte".into(),
            published_ms: 18.5,
            today_ms: estimate(0.211, 0.03, 0.02),
        }],
        buffers: vec![PublishedBuffers {
            pair: "LANCE to LANCE (3/60 to 3/60)".into(),
            map: "TCP_STREAM (nodelay, cubic)".into(),
            place: 0,
            rows: (1..=17).map(row).collect(),
        }],
    }
}

/// The whole of it.
pub fn buffers() -> Analysis {
    Analysis { trials: 40, blocks: 9, studies: vec![StudyResult::Buffers(vec![map()]), StudyResult::Published(published())], ..empty() }
}

/// A map of which the diagonal alone was measured, over a link without a rate.
pub fn diagonal() -> Analysis {
    let mut map = map();
    map.cells = map
        .diagonal
        .iter()
        .map(|place| BufferCell { limit_share: None, wire_bit_per_s: None, predicted: None, ..map.cells[*place].clone() })
        .collect();
    map.diagonal = (0..map.cells.len()).collect();
    (map.notches, map.autotuned, map.tested) = (Vec::new(), None, 15);
    map.knee = Some(BufferKnee { plateau_bit_per_s: 95.9e6, plateau_cells: 4, at: 5, buffer: 6, surely: None });
    Analysis { trials: 40, blocks: 9, studies: vec![StudyResult::Buffers(vec![map])], ..empty() }
}
