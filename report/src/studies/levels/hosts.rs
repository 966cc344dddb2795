//! Several hosts at one end of the link: what arrived, how evenly, how late.

use analysis::answer::notation::{plural, size};
use analysis::result::levels::{Level, LevelMetric, SeriesLevels};
use analysis::result::{Estimate, LevelStudy};
use model::Bytes;
use model::plan::Factor;

use crate::document::{Block, Rows, Table};
use crate::studies::glance;

/// Levels of a series on a terminal's first screen.
const MOST_LEVELS: usize = 4;

/// One level of a series at one of its sizes.
struct Row<'a> {
    name: String,
    factor: Factor,
    level: &'a Level,
    place: usize,
    first: bool,
}

impl Row<'_> {
    fn figure(&self, compared: LevelMetric) -> Option<Estimate> {
        self.level.figures.get(&compared)?.by_size.get(self.place)?.value
    }
}

/// The medians at some levels of each series, its base among them; empty where no factor is a number of hosts.
pub fn at_a_glance(study: &LevelStudy) -> Vec<Block> {
    let of_hosts = study.factors.iter().filter(|factor| factor.factor.is_of_hosts());
    let rows: Vec<Row> = of_hosts.flat_map(|factor| factor.series.iter().flat_map(|series| rows(factor.factor, series))).collect();
    // Bursts have a time, streams shares of the link: two tables have no empty columns.
    let (bursts, streams): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(|row| row.figure(LevelMetric::Completion).is_some());
    let tables: Vec<Block> = [bursts, streams].iter().filter(|rows| !rows.is_empty()).map(|rows| table(rows).into()).collect();
    if tables.is_empty() {
        return tables;
    }
    let legend = "Medians (95 % interval). Fairness is Jain's index: 1 where all have the same share, 1/n where one of n has everything.";
    tables.into_iter().chain([Block::Aside(legend.to_owned().into())]).collect()
}

fn table(rows: &[Row]) -> Table {
    let columns = [
        (LevelMetric::Throughput, "goodput", Some(("Mbit/s", 1e6))),
        (LevelMetric::Completion, "all arrived", None),
        (LevelMetric::Fairness, "fairness", Some(("", 1.0))),
        (LevelMetric::Loss, "lost", Some(("%", 0.01))),
        (LevelMetric::ReceiverCpu, "CPU, receiver", None),
    ];
    let mut table = Rows::of(rows)
        .words("", |row| if row.first { row.name.as_str() } else { "" })
        .figures(("hosts", 20, ["", "hosts"]), |row| side(row.factor, &row.level.name));
    for (place, (compared, head, written)) in columns.into_iter().enumerate() {
        let values: Vec<f64> = rows.iter().filter_map(|row| row.figure(compared)).map(|value| value.value).collect();
        if values.is_empty() {
            continue;
        }
        let (unit, factor) = written.unwrap_or_else(|| {
            let (factor, unit) = glance::unit(&values);
            (unit, factor)
        });
        let (rank, whole) = (9 - place as u8, if unit.is_empty() { head.to_owned() } else { format!("{head}, {unit}") });
        table = table.figures((whole.as_str(), rank, [unit, head]), |row| glance::figure(row.figure(compared).as_ref(), factor));
    }
    let mut table = table.table().labelled("Hosts at once", "");
    table.columns[0].cut = Some(glance::NAME);
    table
}

fn rows(factor: Factor, series: &SeriesLevels) -> Vec<Row<'_>> {
    let of_size = |(place, bytes): (usize, &Bytes)| {
        let test = if series.test.is_stream() { series.test.protocol().name() } else { series.test.name() };
        let name = format!("{} {}", test.replace('_', " "), size(*bytes));
        let row =
            move |(at, level): (usize, usize)| Row { name: name.clone(), factor, level: &series.levels[level], place, first: at == 0 };
        glance::places(series.levels.len(), MOST_LEVELS).into_iter().enumerate().map(row).collect::<Vec<_>>()
    };
    series.sizes.iter().enumerate().flat_map(of_size).collect()
}

/// `8 senders`.
fn side(factor: Factor, count: &str) -> String {
    let one = if factor == Factor::Senders { "sender" } else { "receiver" };
    plural(count.parse().unwrap_or_default(), one)
}
