//! What another tool measured, one size a test.

use super::sweep::{Series, SizePoint};

/// One test of another tool.
#[derive(Debug, Clone, PartialEq)]
pub struct PeerResult {
    /// The tool and its test: `iperf3 UDP`.
    pub name: String,
    /// The size and its rates.
    pub point: SizePoint,
    /// What is to be known of it.
    pub remarks: Vec<String>,
}

/// Tests as series, those of one name together, and their remarks, each once.
pub fn series(results: Vec<PeerResult>) -> (Vec<Series>, Vec<String>) {
    let (mut all, mut remarks): (Vec<Series>, Vec<String>) = (Vec::new(), Vec::new());
    for result in results {
        let group = result.name.split(' ').next().unwrap_or_default().to_owned();
        match all.iter_mut().find(|series| series.name == result.name) {
            Some(series) => series.points.push(result.point),
            None => all.push(Series { group, name: result.name, points: vec![result.point] }),
        }
        remarks.extend(result.remarks);
    }
    remarks.sort();
    remarks.dedup();
    (all, remarks)
}
