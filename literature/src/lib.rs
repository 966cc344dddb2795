//! Published studies, the output of other tools, and anything else compared with
//! them, analysed with the methods that analyse a run. It knows no run: whoever
//! has one hands it over as [`Foreign`].
//!
//! ```text
//! published CSV | --table | iperf3 | netperf | run -> Series, Table
//!   -> sweep (cost model, power law, steps) | knee | loads | routines -> ReferenceAnalysis
//!   -> Statement: what a paper says, the figures, the rule, the ruling
//! ```
#![forbid(unsafe_code)]

pub mod cabrera;
pub mod comparison;
pub mod cost;
pub mod jacobson;
pub mod power;
pub mod read;
pub mod shape;
pub mod statement;
pub mod steps;
pub mod sweep;

mod bidulock;
#[cfg(test)]
mod tests;

use serde::Serialize;

pub use comparison::{Comparison, Foreign};
pub use read::ReadError;
pub use statement::{Ruling, Statement};
pub use stats::resample::{DRAWS, Resampled};

use cabrera::loads::{self, LoadCurve};
use cabrera::routines::{self, Routines};
use cabrera::unloaded;
use jacobson::BufferCurve;
use read::csv::{Table, parse};
use sweep::SeriesResult;

/// The version of [`ReferenceAnalysis`] as JSON.
pub const REFERENCE_FORMAT: u32 = 1;

/// A published study whose tables are part of nettoll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Study {
    /// Three implementations of UDP.
    Bidulock2007,
    /// TCP and UDP under 4.2BSD.
    Cabrera1984,
    /// TCP by socket buffer.
    Jacobson1988,
}

impl Study {
    /// All of them, by year.
    pub const ALL: [Self; 3] = [Self::Cabrera1984, Self::Jacobson1988, Self::Bidulock2007];

    /// The name to ask for it by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bidulock2007 => "bidulock2007",
            Self::Cabrera1984 => "cabrera1984",
            Self::Jacobson1988 => "jacobson1988",
        }
    }

    /// Its subject.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Bidulock2007 => "Three implementations of UDP over loopback, five kernels, 2007",
            Self::Cabrera1984 => "TCP and UDP on an Ethernet under 4.2BSD, 1984",
            Self::Jacobson1988 => "TCP on an Ethernet by socket buffer, 4BSD, 1988",
        }
    }

    /// Its publication.
    pub const fn source(self) -> &'static str {
        match self {
            Self::Bidulock2007 => "Bidulock, \"Experimental Test Results for Linux\", OpenSS7, June 2007, tables 1-4 and 6",
            Self::Cabrera1984 => {
                "Cabrera, Hunter, Karels, Mosher, \"A User-Process Oriented Performance Study of Ethernet Networking Under Berkeley UNIX \
                 4.2BSD\", UC Berkeley, 1984, tables 3-5 and 7, appendix B"
            }
            Self::Jacobson1988 => "Van Jacobson, \"4BSD TCP Ethernet Throughput\", tcp-ip list, 24 October 1988",
        }
    }
}

/// The analysis of tables, published or from elsewhere.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ReferenceAnalysis {
    /// [`REFERENCE_FORMAT`].
    pub format: u32,
    /// The study's name, or the file's.
    pub name: String,
    /// Its subject.
    pub title: String,
    /// Its publication.
    pub source: String,
    /// The paper's statements, with their rulings.
    pub statements: Vec<Statement>,
    /// Contradictions in the tables.
    pub inconsistencies: Vec<String>,
    /// Messages per second by size.
    pub series: Vec<SeriesResult>,
    /// Implementations next to sockets.
    pub shapes: Vec<shape::Shape>,
    /// Times by load.
    pub loads: Vec<LoadCurve>,
    /// Seconds and calls by routine.
    pub routines: Option<Routines>,
    /// Throughput by socket buffer.
    pub buffers: Vec<BufferCurve>,
    /// Figures compared with it.
    #[serde(rename = "beside")]
    pub comparisons: Vec<Comparison>,
    /// Remarks on figures from elsewhere.
    pub remarks: Vec<String>,
}

impl ReferenceAnalysis {
    fn new(name: &str, title: &str, source: &str) -> Self {
        let [name, title, source] = [name, title, source].map(str::to_owned);
        Self { format: REFERENCE_FORMAT, name, title, source, ..Self::default() }
    }

    /// Compares figures with it.
    pub fn compare(&mut self, foreign: &Foreign, draws: usize) {
        self.comparisons.push(comparison::compare(self, foreign, draws));
    }
}

/// Analyses a published study. `draws` is how often residuals are drawn for
/// intervals ([`DRAWS`]).
///
/// # Errors
/// None that a user can meet: the tables are part of the program, and read by its tests.
pub fn analyse(study: Study, draws: usize) -> Result<ReferenceAnalysis, ReadError> {
    let mut analysis = ReferenceAnalysis::new(study.name(), study.title(), study.source());
    let texts: &[&str] = match study {
        Study::Bidulock2007 => &[bidulock::TABLES],
        Study::Cabrera1984 => &[cabrera::UNLOADED, cabrera::LATENCY, cabrera::ROUND_TRIP, cabrera::SECONDS, cabrera::CALLS],
        Study::Jacobson1988 => &[jacobson::TABLE],
    };
    let tables: Vec<Table> = texts.iter().map(|text| parse(text)).collect::<Result<_, _>>()?;
    let read = fill(&mut analysis, &tables, draws);
    analysis.shapes = shape::shapes(&analysis.series);
    let statements = match study {
        Study::Bidulock2007 => bidulock::statements(&analysis.series),
        Study::Jacobson1988 => jacobson::statements(&analysis.buffers),
        Study::Cabrera1984 => {
            let mut all = unloaded::statements(read.unloaded, &analysis.series);
            all.extend(loads::statements(&read.latencies, &read.round_trips));
            all.extend(analysis.routines.iter().flat_map(routines::statements));
            all.extend(cabrera::undecided());
            all
        }
    };
    analysis.statements = statements;
    Ok(analysis)
}

/// Analyses a table from elsewhere by itself.
pub fn of_table(label: &str, table: &Table, draws: usize) -> ReferenceAnalysis {
    let mut analysis = ReferenceAnalysis::new(label, &format!("Figures of {label}"), label);
    fill(&mut analysis, std::slice::from_ref(table), draws);
    analysis
}

/// Analyses what other tools or a run measured, by itself.
pub fn of_foreign(foreign: &Foreign, draws: usize) -> ReferenceAnalysis {
    let mut analysis = ReferenceAnalysis::new(&foreign.label, &format!("Figures of {}", foreign.label), &foreign.label);
    analysis.series = sweep::analyse(&foreign.series, draws);
    analysis.remarks.clone_from(&foreign.remarks);
    analysis
}

/// Tables that statements need in addition to the analysis.
#[derive(Default)]
struct Read<'a> {
    unloaded: &'a [read::csv::UnloadedRow],
    latencies: Vec<LoadCurve>,
    round_trips: Vec<LoadCurve>,
}

fn fill<'a>(analysis: &mut ReferenceAnalysis, tables: &'a [Table], draws: usize) -> Read<'a> {
    let mut read = Read::default();
    let (mut seconds, mut calls): (&[_], &[_]) = (&[], &[]);
    for table in tables {
        match table {
            Table::Sweep(rows) => {
                analysis.series.extend(sweep::analyse(&bidulock::series(rows), draws));
                analysis.inconsistencies.extend(bidulock::inconsistencies(rows));
            }
            Table::Unloaded(rows) => {
                analysis.series.extend(sweep::analyse(&unloaded::series(rows), draws));
                analysis.inconsistencies.extend(unloaded::inconsistencies(rows));
                read.unloaded = rows;
            }
            Table::Latency(rows) => read.latencies = loads::curves(rows, "time per one-byte message"),
            Table::RoundTrip(rows) => read.round_trips = loads::curves(rows, loads::ROUND_TRIPS),
            Table::Seconds(rows) => seconds = rows,
            Table::Calls(rows) => calls = rows,
            Table::Buffers(rows) => analysis.buffers.extend(jacobson::curves(rows, draws)),
        }
    }
    analysis.inconsistencies.extend(loads::inconsistencies(&read.latencies, &read.round_trips, read.unloaded));
    analysis.loads.extend(read.latencies.iter().chain(&read.round_trips).cloned());
    if !seconds.is_empty() || !calls.is_empty() {
        let routines = Routines::from_rows(seconds, calls);
        analysis.inconsistencies.extend(routines::inconsistencies(&routines));
        analysis.routines = Some(routines);
    }
    read
}
