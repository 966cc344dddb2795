//! From the levels that were written to the cells that they cross to.

use std::collections::{BTreeMap, HashSet};

use super::factor::Factor;
use super::raw::RawPlan;
use super::resolve::{Override, PlanError};
use crate::cell::{Cell, default_read_size};
use crate::choice::UnknownChoice;
use crate::condition::{MOST_BULK, MOST_UNITS, PerEnd};
use crate::quantity::{Bytes, Nanos};
use crate::size::parse_sweep;
use crate::traffic::{Pacing, Protocol, Test, Waiting};

/// Each has a thread at either end; a host of 128 CPUs can have eight on each.
const MOST_FLOWS: u32 = 1_024;
/// Beyond it a trial would not end when it should: work is not broken off.
const MOST_WORK: Nanos = Nanos::from_millis(10);
/// Bytes of the number and the time in a stamped message.
const STAMP: u64 = 16;

/// Levels by their factors, as words.
type Levels = BTreeMap<Factor, Vec<String>>;

/// The most cells that all tables of a study cross to: a plan of a few lines
/// must not fill the memory.
const MOST: usize = 100_000;

pub(super) fn resolve_cells(raw: &RawPlan, overrides: &[Override]) -> Result<Vec<Cell>, PlanError> {
    let mut tables = raw.cells.iter().map(written_levels).collect::<Result<Vec<Levels>, _>>()?;
    for (factor, words) in overrides {
        if *factor == Factor::Test {
            tables = only_tests(&tables, words)?;
        } else {
            tables.iter_mut().for_each(|table| _ = table.insert(*factor, words.clone()));
        }
    }
    let mut cells = Vec::new();
    let mut seen = HashSet::new();
    let mut all = 0;
    for table in &tables {
        let crossed = cross(table)?;
        all += crossed.len();
        if all > MOST {
            return Err(PlanError::TooManyCells(MOST));
        }
        for cell in crossed {
            if seen.insert(cell.clone()) {
                cells.push(cell);
            }
        }
    }
    if cells.is_empty() { Err(PlanError::NoCells) } else { Ok(cells) }
}

/// The tables that have these tests, for each test alone. A test that no table
/// has takes the levels of the first table with one of its kind.
fn only_tests(tables: &[Levels], words: &[String]) -> Result<Vec<Levels>, PlanError> {
    let mut chosen = Vec::new();
    for word in words {
        let test: Test = word.parse().map_err(|error: UnknownChoice| level(Factor::Test, &error.to_string()))?;
        let tests_of =
            |table: &Levels| table.get(&Factor::Test).into_iter().flatten().filter_map(|word| word.parse().ok()).collect::<Vec<Test>>();
        let having = |like: &dyn Fn(Test) -> bool| tables.iter().filter(|table| tests_of(table).into_iter().any(like)).collect::<Vec<_>>();
        let mut kin = having(&|other| other == test);
        for like in [
            &(|other: Test| (other.protocol(), other.is_stream()) == (test.protocol(), test.is_stream())) as &dyn Fn(Test) -> bool,
            &|other| other.is_stream() == test.is_stream(),
            &|_| true,
        ] {
            if kin.is_empty() {
                kin = having(like).into_iter().take(1).collect();
            }
        }
        chosen.extend(kin.into_iter().map(|table| {
            let mut table = table.clone();
            table.insert(Factor::Test, vec![word.clone()]);
            table
        }));
    }
    Ok(chosen)
}

/// The levels of one table of cells as words: `size = [1, "16K"]` is `["1", "16K"]`.
fn written_levels(table: &BTreeMap<String, toml::Value>) -> Result<Levels, PlanError> {
    let mut levels = BTreeMap::new();
    for (key, written) in table {
        let Ok(factor) = key.parse::<Factor>() else { continue };
        let items = match written {
            toml::Value::Array(items) => items.as_slice(),
            one => std::slice::from_ref(one),
        };
        let words: Result<Vec<String>, PlanError> = items
            .iter()
            .map(|item| match item {
                toml::Value::String(word) => Ok(word.clone()),
                toml::Value::Integer(number) => Ok(number.to_string()),
                toml::Value::Boolean(choice) => Ok(choice.to_string()),
                other => Err(PlanError::Level { factor, reason: format!("{other} is neither a word, a whole number, true nor false") }),
            })
            .collect();
        levels.insert(factor, words?);
    }
    Ok(levels)
}

/// Crosses every level with every other; the size varies fastest.
fn cross(levels: &Levels) -> Result<Vec<Cell>, PlanError> {
    let tests: Vec<Test> =
        parse_levels(levels, Factor::Test)?.ok_or_else(|| level(Factor::Test, "a table of cells names at least one test"))?;
    let sizes = parse_sizes(levels, Factor::Size)?.ok_or_else(|| level(Factor::Size, "a table of cells names at least one size"))?;
    // What no level says follows from the rest once that is known.
    let blank = |test| Cell { read_size: Bytes::new(0), ..Cell::plain(test, Bytes::new(0)) };
    let mut cells: Vec<Cell> = tests.into_iter().map(blank).collect();
    vary(&mut cells, levels)?;
    expand(&mut cells, Some(sizes), |cell, size| cell.size = size)?;
    cells.into_iter().map(checked).collect()
}

/// A cell with other levels of some factors, one of each; the test and the size
/// are its own.
pub(crate) fn with_levels(cell: &Cell, levels: &[(Factor, &str)]) -> Result<Cell, PlanError> {
    let mut cell = cell.clone();
    for (factor, word) in levels {
        let mut one = vec![cell];
        vary(&mut one, &Levels::from([(*factor, vec![(*word).to_owned()])]))?;
        cell = match (one.pop(), one.is_empty()) {
            (Some(cell), true) => cell,
            _ => return Err(level(*factor, &format!("'{word}' is more than one level"))),
        };
    }
    checked(cell)
}

/// Crosses the levels of every factor but the test and the size.
fn vary(cells: &mut Vec<Cell>, levels: &Levels) -> Result<(), PlanError> {
    expand(cells, parse_levels(levels, Factor::Family)?, |cell, family| cell.family = family)?;
    expand(cells, parse_levels(levels, Factor::Api)?, |cell: &mut Cell, api: crate::Api| {
        (cell.api, cell.batch) = (api, api.default_batch(cell.test));
    })?;
    expand(cells, parse_switches(levels, Factor::Nodelay)?, |cell, nodelay| cell.nodelay = nodelay)?;
    expand(cells, parse_names(levels, Factor::Cc)?, |cell, cc| cell.cc = Some(cc))?;
    expand(cells, parse_sizes(levels, Factor::Sndbuf)?, |cell, size| cell.sndbuf = Some(size))?;
    expand(cells, parse_sizes(levels, Factor::Rcvbuf)?, |cell, size| cell.rcvbuf = Some(size))?;
    expand(cells, parse_flows(levels)?, |cell, flows| cell.flows = flows)?;
    expand(cells, parse_levels(levels, Factor::Rate)?, |cell, rate| cell.rate = Some(rate))?;
    expand(cells, parse_levels(levels, Factor::Pacing)?, |cell, pacing| cell.pacing = pacing)?;
    expand(cells, parse_levels(levels, Factor::Waiting)?, |cell, waiting| cell.waiting = waiting)?;
    expand(cells, parse_work(levels)?, |cell, work| cell.work = work)?;
    expand(cells, parse_switches(levels, Factor::Bidirectional)?, |cell, both| cell.bidirectional = both)?;
    expand(cells, parse_switches(levels, Factor::Stamp)?, |cell, stamp| cell.stamp = stamp)?;
    expand(cells, parse_sizes(levels, Factor::ReadSize)?, |cell, size| cell.read_size = size)?;
    conditions(cells, levels)?;
    for (factor, offload) in Factor::ALL.iter().filter_map(|factor| Some((*factor, factor.offload()?))) {
        expand(cells, parse_switches(levels, factor)?, |cell, on| _ = cell.offloads.insert(offload, on))?;
    }
    Ok(())
}

/// Crosses the levels of what trials are run under.
fn conditions(cells: &mut Vec<Cell>, levels: &Levels) -> Result<(), PlanError> {
    expand(cells, parse_counts(levels)?, |cell, count| cell.count = Some(count))?;
    expand(cells, parse_levels(levels, Factor::Link)?, |cell, link| cell.conditions.link = Some(link))?;
    let loads: Option<Vec<PerEnd<u32>>> = parse_levels(levels, Factor::Load)?;
    if let Some(load) = loads.iter().flatten().find(|load| load.sender.max(load.receiver) > MOST_UNITS) {
        return Err(level(Factor::Load, &format!("{load}: at most {MOST_UNITS} units at an end")));
    }
    expand(cells, loads, |cell, load| cell.conditions.load = load)?;
    expand(cells, parse_levels(levels, Factor::LinkLoad)?, |cell, load| cell.conditions.link_load = load)?;
    let bulk = parse_numbers(levels, Factor::Bulk, 0, u64::from(MOST_BULK))?;
    expand(cells, bulk, |cell, flows| cell.conditions.bulk = flows as u32)?;
    expand(cells, parse_levels(levels, Factor::Priority)?, |cell, priority| cell.conditions.priority = priority)?;
    expand(cells, parse_levels(levels, Factor::Placement)?, |cell, placement| cell.conditions.placement = placement)
}

fn parse_work(levels: &Levels) -> Result<Option<Vec<Nanos>>, PlanError> {
    let work: Option<Vec<Nanos>> = parse_levels(levels, Factor::Work)?;
    match work.iter().flatten().find(|work| **work > MOST_WORK) {
        Some(work) => Err(level(Factor::Work, &format!("{work} before each send: at most {MOST_WORK}"))),
        None => Ok(work),
    }
}

/// Counts are written as sizes are, in sweeps.
fn parse_counts(levels: &Levels) -> Result<Option<Vec<u64>>, PlanError> {
    Ok(parse_sizes(levels, Factor::Count)?.map(|counts| counts.into_iter().map(Bytes::get).collect()))
}

fn parse_numbers(levels: &Levels, factor: Factor, least: u64, most: u64) -> Result<Option<Vec<u64>>, PlanError> {
    let numbers: Option<Vec<u64>> = parse_levels(levels, factor)?;
    match numbers.iter().flatten().find(|number| !(least..=most).contains(number)) {
        Some(number) => Err(level(factor, &format!("{number}: {least} to {most}"))),
        None => Ok(numbers),
    }
}

/// Every cell once with each level; as it is where the factor has none.
fn expand<T: Clone>(cells: &mut Vec<Cell>, levels: Option<Vec<T>>, set: impl Fn(&mut Cell, T)) -> Result<(), PlanError> {
    let Some(levels) = levels else { return Ok(()) };
    if cells.len().saturating_mul(levels.len()) > MOST {
        return Err(PlanError::TooManyCells(MOST));
    }
    let with = |cell: &Cell, level: &T| {
        let mut cell = cell.clone();
        set(&mut cell, level.clone());
        cell
    };
    *cells = cells.iter().flat_map(|cell| levels.iter().map(move |level| (cell, level))).map(|(cell, level)| with(cell, level)).collect();
    Ok(())
}

/// A cell that an endpoint can carry out.
fn checked(mut cell: Cell) -> Result<Cell, PlanError> {
    const LARGEST_MESSAGE: u64 = 1 << 30;
    if cell.read_size.get() == 0 {
        cell.read_size = default_read_size(cell.test, cell.size);
    }
    if cell.protocol() == Protocol::Udp {
        let limit = cell.family.largest_datagram();
        if cell.size.get() > limit {
            return Err(level(
                Factor::Size,
                &format!("{} B does not fit a UDP datagram over {}: at most {limit}", cell.size.get(), cell.family),
            ));
        }
        // These are TCP's; for UDP they would only multiply equal cells.
        cell.nodelay = false;
        cell.cc = None;
    }
    if cell.size.get() > LARGEST_MESSAGE || cell.read_size.get() > LARGEST_MESSAGE {
        return Err(level(Factor::Size, "a message or a read has at most 1G"));
    }
    if cell.rate.is_none() {
        // Without a schedule there is nothing to wait for.
        cell.pacing = Pacing::Sleep;
    }
    if !cell.api.carries(cell.test) {
        return Err(level(Factor::Api, &format!("{} does not carry {}, whose connections are made while it runs", cell.api, cell.test)));
    }
    if cell.bidirectional && !cell.test.is_stream() {
        return Err(level(Factor::Bidirectional, "a request/response test sends both ways already: only streams can be bidirectional"));
    }
    if cell.stamp && cell.test != Test::UdpStream {
        return Err(level(Factor::Stamp, "only the datagrams of UDP_STREAM can bear a number and a time"));
    }
    if cell.stamp && cell.size.get() < STAMP {
        return Err(level(Factor::Stamp, "a number and a time take 16 bytes: the message size must be at least 16"));
    }
    if cell.test == Test::TcpCrr && (cell.waiting != Waiting::Block || cell.work.get() > 0) {
        return Err(level(
            Factor::Waiting,
            "each transaction of TCP_CRR waits for its connection: waiting and work are for the other tests",
        ));
    }
    if !cell.test.is_stream() && cell.read_size < cell.size {
        return Err(level(
            Factor::ReadSize,
            "a request/response test reads whole messages: the read size must be at least the message size",
        ));
    }
    Ok(cell)
}

fn level(factor: Factor, reason: &str) -> PlanError {
    PlanError::Level { factor, reason: reason.to_owned() }
}

fn parse_levels<T>(levels: &Levels, factor: Factor) -> Result<Option<Vec<T>>, PlanError>
where
    T: std::str::FromStr,
    T::Err: ToString,
{
    let Some(words) = levels.get(&factor) else { return Ok(None) };
    if words.is_empty() {
        return Err(level(factor, "it has no levels"));
    }
    let parse = |word: &String| word.parse().map_err(|error: T::Err| PlanError::Level { factor, reason: error.to_string() });
    words.iter().map(parse).collect::<Result<_, _>>().map(Some)
}

fn parse_switches(levels: &Levels, factor: Factor) -> Result<Option<Vec<bool>>, PlanError> {
    let words: Option<Vec<String>> = parse_levels(levels, factor)?;
    let switch = |word: String| match word.as_str() {
        "true" | "on" => Ok(true),
        "false" | "off" => Ok(false),
        other => Err(level(factor, &format!("'{other}' is neither true nor false, on nor off"))),
    };
    words.map(|words| words.into_iter().map(switch).collect()).transpose()
}

fn parse_flows(levels: &Levels) -> Result<Option<Vec<u32>>, PlanError> {
    let flows: Option<Vec<u32>> = parse_levels(levels, Factor::Flows)?;
    match flows.iter().flatten().find(|flows| !(1..=MOST_FLOWS).contains(*flows)) {
        Some(flows) => Err(level(Factor::Flows, &format!("{flows} flows cannot be run: 1 to {MOST_FLOWS}"))),
        None => Ok(flows),
    }
}

fn parse_names(levels: &Levels, factor: Factor) -> Result<Option<Vec<String>>, PlanError> {
    let names: Option<Vec<String>> = parse_levels(levels, factor)?;
    // TCP_CA_NAME_MAX of the kernel's include/net/tcp.h is 16 with the final zero.
    match names.iter().flatten().find(|name| name.is_empty() || name.len() > 15 || name.contains(char::is_whitespace)) {
        Some(name) => {
            Err(level(factor, &format!("'{name}' cannot be the name of a congestion control: 1 to 15 characters without spaces")))
        }
        None => Ok(names),
    }
}

fn parse_sizes(levels: &Levels, factor: Factor) -> Result<Option<Vec<Bytes>>, PlanError> {
    let Some(words) = levels.get(&factor) else { return Ok(None) };
    let mut sizes = Vec::new();
    for word in words {
        sizes.extend(parse_sweep(word).map_err(|error| level(factor, &error.to_string()))?);
    }
    if sizes.is_empty() {
        return Err(level(factor, "it has no levels"));
    }
    if sizes.iter().any(|size| size.get() == 0) {
        return Err(level(factor, "0 bytes is not a size that can be measured: at least 1"));
    }
    if sizes.iter().any(|size| size.get() > i32::MAX as u64) {
        return Err(level(factor, "a size has at most 2147483647 bytes"));
    }
    Ok(Some(sizes))
}
