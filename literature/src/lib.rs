//! Published studies and the output of other tools, analysed by the methods for runs.
//! It knows no run: a caller that has one passes it as [`Foreign`].
//!
//! ```text
//! published CSV | --table | iperf3 | netperf | run -> Series, Table
//!   -> sweep (cost model, power law, steps) | knee | loads | routines -> ReferenceAnalysis
//! reference/claims.csv + tables -> Statement: what a paper says, the figures, the rule, the ruling
//! ```
#![forbid(unsafe_code)]

pub mod cabrera;
pub mod claims;
pub mod comparison;
pub mod cost;
pub mod jacobson;
pub mod power;
pub mod read;
pub mod shape;
pub mod stated;
pub mod statement;
pub mod steps;
pub mod sweep;
pub mod years;

mod bidulock;
#[cfg(test)]
mod tests;

use serde::Serialize;

pub use comparison::{Comparison, Foreign};
pub use read::ReadError;
pub use stated::StatedFigure;
pub use statement::{PresentRuling, Ruling, Standing, Statement, TableRuling};
pub use stats::resample::{DRAWS, Resampled};

use cabrera::loads::{self, LoadCurve};
use cabrera::routines::{self, Routines};
use cabrera::unloaded;
use jacobson::BufferCurve;
use read::csv::{Table, parse};
use sweep::SeriesResult;

/// The version of [`ReferenceAnalysis`] as JSON.
pub const REFERENCE_FORMAT: u32 = 1;

/// A published study that is part of nettoll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Study {
    /// Three implementations of UDP.
    Bidulock2007,
    /// TCP and UDP under 4.2BSD.
    Cabrera1984,
    /// TCP by socket buffer.
    Jacobson1988,
    /// Processing time by kind of work.
    Kay1993,
    /// Cycles, instructions and accesses by layer.
    Kim1997,
}

/// A study: its name, year, subject, publication.
type Entry = (Study, &'static str, u16, &'static str, &'static str);

const STUDIES: [Entry; 5] = [
    (
        Study::Cabrera1984,
        "cabrera1984",
        1984,
        "TCP and UDP on an Ethernet under 4.2BSD, 1984",
        "Cabrera, Hunter, Karels, Mosher, \"A User-Process Oriented Performance Study of Ethernet Networking Under Berkeley UNIX 4.2BSD\", \
         UC Berkeley, 1984, tables 3-5 and 7, appendix B",
    ),
    (
        Study::Jacobson1988,
        "jacobson1988",
        1988,
        "TCP on an Ethernet by socket buffer, 4BSD, 1988",
        "Van Jacobson, \"4BSD TCP Ethernet Throughput\", tcp-ip list, 24 October 1988",
    ),
    (
        Study::Kay1993,
        "kay1993",
        1993,
        "Where TCP and UDP spend their time, by kind of work, 1993",
        "Kay, Pasquale, extended abstract on the time that TCP/IP and UDP/IP take on a DECstation 5000/200 over FDDI, 1993",
    ),
    (
        Study::Kim1997,
        "kim1997",
        1997,
        "Cycles, instructions and memory accesses of TCP/IP by layer, 1997",
        "Kim, Sung, Lee, measurement of 4.4BSD-Lite TCP/IP on a 150 MHz Pentium under FreeBSD, 1997, sections 2 and 3",
    ),
    (
        Study::Bidulock2007,
        "bidulock2007",
        2007,
        "Three implementations of UDP over loopback, five kernels, 2007",
        "Bidulock, \"Experimental Test Results for Linux\", OpenSS7, June 2007, tables 1-4 and 6",
    ),
];

impl Study {
    /// All of them, by year.
    pub const ALL: [Self; 5] = [Self::Cabrera1984, Self::Jacobson1988, Self::Kay1993, Self::Kim1997, Self::Bidulock2007];

    fn entry(self) -> &'static Entry {
        STUDIES.iter().find(|entry| entry.0 == self).unwrap_or(&STUDIES[0])
    }

    /// The study of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|study| study.name() == name)
    }

    /// The name to ask for it by.
    pub fn name(self) -> &'static str {
        self.entry().1
    }

    /// Its year.
    pub fn year(self) -> u16 {
        self.entry().2
    }

    /// Its subject.
    pub fn title(self) -> &'static str {
        self.entry().3
    }

    /// Its publication.
    pub fn source(self) -> &'static str {
        self.entry().4
    }

    /// Its tables, as far as nettoll carries them.
    ///
    /// # Errors
    /// None that a user can meet: the tables are part of the program, and read by its tests.
    pub fn tables(self) -> Result<Vec<Table>, ReadError> {
        let texts: &[&str] = match self {
            Self::Bidulock2007 => &[bidulock::TABLES],
            Self::Cabrera1984 => &[cabrera::UNLOADED, cabrera::LATENCY, cabrera::ROUND_TRIP, cabrera::SECONDS, cabrera::CALLS],
            Self::Jacobson1988 => &[jacobson::TABLE],
            Self::Kay1993 | Self::Kim1997 => &[],
        };
        texts.iter().map(|text| parse(text)).collect()
    }
}

/// The analysis of tables, published or from elsewhere.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ReferenceAnalysis {
    /// [`REFERENCE_FORMAT`].
    pub format: u32,
    /// The study; `None` of figures from elsewhere.
    #[serde(skip)]
    pub study: Option<Study>,
    /// The study's name, or the file's.
    pub name: String,
    /// Its subject.
    pub title: String,
    /// Its publication.
    pub source: String,
    /// The paper's statements, with their rulings.
    pub statements: Vec<Statement>,
    /// Figures that the text states.
    pub stated: Vec<StatedFigure>,
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
    pub comparisons: Vec<Comparison>,
    /// Remarks on figures from elsewhere.
    pub remarks: Vec<String>,
}

impl ReferenceAnalysis {
    fn new(name: &str, title: &str, source: &str) -> Self {
        let [name, title, source] = [name, title, source].map(str::to_owned);
        Self { format: REFERENCE_FORMAT, name, title, source, ..Self::default() }
    }

    /// Rules on a table that a user gave, by the claims of the study.
    ///
    /// # Errors
    /// None that a user can meet: the tables of the study are part of the program.
    pub fn rule(&mut self, study: Study, label: &str, table: &Table) -> Result<(), ReadError> {
        claims::rule_given(study, &study.tables()?, label, table, &mut self.statements)
    }

    /// Rules on runs of today, by the claims of the study.
    ///
    /// # Errors
    /// None that a user can meet: the claims are part of the program.
    pub fn rule_today(&mut self, today: &claims::evidence::Evidence) -> Result<(), ReadError> {
        self.study.map_or(Ok(()), |study| claims::rule_today(study, today, &mut self.statements))
    }

    /// Compares figures with it.
    pub fn compare(&mut self, foreign: &Foreign, draws: usize) {
        self.comparisons.push(comparison::compare(self, foreign, draws));
    }
}

/// Analyses a published study. `draws` is the number of residual draws for intervals
/// ([`DRAWS`]).
///
/// # Errors
/// A table of the program that cannot be read; tests read them all.
pub fn analyse(study: Study, draws: usize) -> Result<ReferenceAnalysis, ReadError> {
    let mut analysis = ReferenceAnalysis::new(study.name(), study.title(), study.source());
    analysis.study = Some(study);
    let tables = study.tables()?;
    fill(&mut analysis, &tables, draws);
    analysis.shapes = shape::shapes(&analysis.series);
    analysis.stated = stated::figures(study)?;
    analysis.statements = claims::statements(study, &tables)?;
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

fn fill(analysis: &mut ReferenceAnalysis, tables: &[Table], draws: usize) {
    let (mut tests, mut latencies, mut round_trips): (&[_], Vec<LoadCurve>, Vec<LoadCurve>) = (&[], Vec::new(), Vec::new());
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
                tests = rows;
            }
            Table::Latency(rows) => latencies = loads::curves(rows, "time per one-byte message"),
            Table::RoundTrip(rows) => round_trips = loads::curves(rows, loads::ROUND_TRIPS),
            Table::Seconds(rows) => seconds = rows,
            Table::Calls(rows) => calls = rows,
            Table::Buffers(rows) => analysis.buffers.extend(jacobson::curves(rows, draws)),
        }
    }
    analysis.inconsistencies.extend(loads::inconsistencies(&latencies, &round_trips, tests));
    analysis.loads.extend(latencies.into_iter().chain(round_trips));
    if !seconds.is_empty() || !calls.is_empty() {
        let routines = Routines::from_rows(seconds, calls);
        analysis.inconsistencies.extend(routines::inconsistencies(&routines));
        analysis.routines = Some(routines);
    }
}
