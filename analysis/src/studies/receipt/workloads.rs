//! Published workloads over the series of a study.

use super::{CellReceipt, SeriesReceipt, WorkloadReceipt};
use attribution::Receipt;
use attribution::{SizeDistribution, weigh};

/// W1 to W5 of Montazeri et al., "Homa", SIGCOMM 2018: name, what it is of, sizes.
pub const WORKLOADS: [(&str, &str, &str); 5] = [
    ("W1", "Facebook's key-value store", include_str!("../../../../reference/workloads/w1.csv")),
    ("W2", "a search application at Google", include_str!("../../../../reference/workloads/w2.csv")),
    ("W3", "all applications of a Google datacentre", include_str!("../../../../reference/workloads/w3.csv")),
    ("W4", "a Hadoop cluster at Facebook", include_str!("../../../../reference/workloads/w4.csv")),
    ("W5", "web search", include_str!("../../../../reference/workloads/w5.csv")),
];

/// Sizes that a series must have: between fewer there is no line.
const LEAST_SIZES: usize = 2;

/// Each workload over each series of streams whose sizes reach into it.
pub fn workloads(cells: &[CellReceipt], series: &[SeriesReceipt]) -> Vec<WorkloadReceipt> {
    let fit: Vec<&SeriesReceipt> = series.iter().filter(|series| series.test.is_stream() && series.columns.len() >= LEAST_SIZES).collect();
    if fit.is_empty() {
        return Vec::new();
    }
    // Files of our own, which a test reads: none is left out.
    let workloads = WORKLOADS.iter().filter_map(|(name, title, text)| Some((*name, *title, SizeDistribution::parse(text).ok()?)));
    let workloads: Vec<(&str, &str, SizeDistribution)> = workloads.collect();
    let weighed = fit.iter().flat_map(|series| {
        let receipts = receipts(cells, series);
        workloads.iter().filter_map(move |(name, title, sizes)| {
            Some(WorkloadReceipt {
                workload: (*name).to_owned(),
                title: (*title).to_owned(),
                mean_bytes: sizes.mean(),
                series: series.series.clone(),
                role: series.role,
                // A workload beyond every size measured has nothing to weigh.
                categories: weigh(sizes, &receipts, |receipt| &receipt.rows.categories).ok()?,
                layers: weigh(sizes, &receipts, |receipt| &receipt.rows.layers).ok()?,
            })
        })
    });
    weighed.collect()
}

fn receipts<'a>(cells: &'a [CellReceipt], series: &SeriesReceipt) -> Vec<&'a Receipt> {
    series.columns.iter().filter_map(|column| cells[column.cell].end(series.role).outcome.receipt()).collect()
}
