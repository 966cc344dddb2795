//! A table with the columns of one of the published ones.

use std::collections::BTreeMap;

use super::{MOST_BYTES, MOST_MESSAGE, ReadError, shortened};

/// A published table's kind, with its rows.
#[derive(Debug, Clone, PartialEq)]
pub enum Table {
    /// Messages sent and received by size (2007).
    Sweep(Vec<SweepRow>),
    /// Tests of an unloaded host (1984, appendix B).
    Unloaded(Vec<UnloadedRow>),
    /// Time of a one-byte message by load (1984).
    Latency(Vec<LoadRow>),
    /// Round-trip time by load (1984).
    RoundTrip(Vec<LoadRow>),
    /// Seconds by kernel routine (1984).
    Seconds(Vec<RoutineRow>),
    /// Calls by kernel routine (1984).
    Calls(Vec<RoutineRow>),
    /// Throughput by socket buffer (1988).
    Buffers(Vec<BufferRow>),
}

/// One size of one implementation.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepRow {
    /// The paper's number of the table.
    pub table: String,
    /// The machine.
    pub host: String,
    /// Its distribution.
    pub distribution: String,
    /// Its kernel.
    pub kernel: String,
    /// The quantity.
    pub implementation: String,
    /// Bytes of a message.
    pub bytes: u64,
    /// Length of the test in s.
    pub seconds: f64,
    /// Messages sent.
    pub sent: f64,
    /// Messages received; above 0.
    pub received: f64,
}

/// One size on an unloaded host.
#[derive(Debug, Clone, PartialEq)]
pub struct UnloadedRow {
    /// The paper's name of the table.
    pub table: String,
    /// `tcp` or `udp`.
    pub protocol: String,
    /// The sender.
    pub sender: String,
    /// The receiver.
    pub receiver: String,
    /// Machine and network.
    pub hardware: String,
    /// Bytes of a message.
    pub bytes: u64,
    /// Length of the test in whole s.
    pub total_s: f64,
    /// As printed.
    pub messages_per_s: f64,
    /// As printed.
    pub bits_per_s: f64,
    /// As printed.
    pub s_per_message: f64,
}

/// A time under a load.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadRow {
    /// The machine.
    pub machine: String,
    /// `tcp` or `udp`.
    pub protocol: String,
    /// Units of load at the sender.
    pub load: f64,
    /// ms.
    pub ms: f64,
}

/// A kernel routine at one size.
#[derive(Debug, Clone, PartialEq)]
pub struct RoutineRow {
    /// Its name.
    pub routine: String,
    /// Bytes of a message.
    pub bytes: u64,
    /// Seconds, or calls, for 10,000 messages.
    pub figure: f64,
}

/// One socket buffer.
#[derive(Debug, Clone, PartialEq)]
pub struct BufferRow {
    /// Sender and receiver.
    pub pair: String,
    /// Packets of a segment that each buffer holds.
    pub packets: f64,
    /// From task to task, in KB/s.
    pub kbytes_per_s: f64,
    /// On the wire, in Mbit/s.
    pub wire_mbit_per_s: f64,
}

/// More rows are not read.
const MOST_ROWS: usize = 5_000;

/// Nor more series, or rows of one: what is done for each grows with them.
const MOST_SERIES: usize = 500;

/// See [`MOST_SERIES`].
const MOST_OF_SERIES: usize = 200;

/// Columns that hold a figure; the others name a series.
const FIGURES: &[&str] = &[
    "message_bytes",
    "test_s",
    "sent_messages",
    "received_messages",
    "total_s",
    "messages_per_s",
    "bits_per_s",
    "s_per_message",
    "sender_load",
    "latency_ms",
    "rtt_ms",
    "seconds_per_10000_messages",
    "calls_per_10000_messages",
    "socket_buffer_packets",
    "task_kbytes_per_s",
    "wire_mbits_per_s",
];

/// The kinds of tables, with their columns.
const KINDS: &[(&str, &[&str])] = &[
    (
        "messages by size",
        &["table", "host", "distribution", "kernel", "implementation", "message_bytes", "test_s", "sent_messages", "received_messages"],
    ),
    (
        "tests of an unloaded host",
        &[
            "table",
            "protocol",
            "sender",
            "receiver",
            "hardware",
            "message_bytes",
            "total_s",
            "messages_per_s",
            "bits_per_s",
            "s_per_message",
        ],
    ),
    ("latency by load", &["machine", "protocol", "sender_load", "latency_ms"]),
    ("round trips by load", &["machine", "protocol", "message_bytes", "sender_load", "rtt_ms"]),
    ("seconds by routine", &["routine", "message_bytes", "seconds_per_10000_messages"]),
    ("calls by routine", &["routine", "message_bytes", "calls_per_10000_messages"]),
    ("throughput by socket buffer", &["pair", "socket_buffer_packets", "task_kbytes_per_s", "wire_mbits_per_s"]),
];

/// Reads a table with the columns of a published one; which it is, its columns
/// say. Their order does not matter, and there may be others.
///
/// # Errors
/// The problem, its place, and the remedy.
pub fn parse(text: &str) -> Result<Table, ReadError> {
    if text.len() > MOST_BYTES {
        return Err(ReadError::TooLong);
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).from_reader(text.as_bytes());
    let names: Vec<String> = reader.headers().map_err(|error| not_a_row(&error, 1))?.iter().map(str::to_owned).collect();
    let (kind, columns) = kind(&names)?;
    let places: Vec<usize> = columns.iter().filter_map(|column| names.iter().position(|name| name == column)).collect();
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| not_a_row(&error, 0))?;
        if rows.len() == MOST_ROWS {
            return Err(ReadError::TooMany("5,000 rows"));
        }
        rows.push(Row { line: record.position().map_or(0, csv::Position::line), record, columns, places: &places });
    }
    if rows.is_empty() {
        return Err(ReadError::Empty);
    }
    bounded(columns, &rows)?;
    table(kind, &rows)
}

/// Refuses tables whose analysis would take for ever.
fn bounded(columns: &[&'static str], rows: &[Row]) -> Result<(), ReadError> {
    let names: Vec<&str> = columns.iter().copied().filter(|column| !FIGURES.contains(column)).collect();
    let mut series: BTreeMap<Vec<&str>, usize> = BTreeMap::new();
    for row in rows {
        *series.entry(names.iter().map(|name| row.cell(name)).collect()).or_default() += 1;
    }
    if series.len() > MOST_SERIES {
        return Err(ReadError::TooMany("500 series"));
    }
    match series.values().any(|rows| *rows > MOST_OF_SERIES) {
        true => Err(ReadError::TooMany("200 rows of one series")),
        false => Ok(()),
    }
}

/// The kind that shares the most columns with `names`; all of them.
fn kind(names: &[String]) -> Result<(usize, &'static [&'static str]), ReadError> {
    let lacks = |columns: &[&'static str]| -> Vec<&str> {
        columns.iter().copied().filter(|column| !names.iter().any(|name| name == column)).collect()
    };
    // Of those that share as many, the one that lacks the fewest.
    let shared = |columns: &[&'static str]| columns.len() - lacks(columns).len();
    let ranked = KINDS.iter().enumerate().rev().max_by_key(|(_, (_, columns))| (lacks(columns).is_empty(), shared(columns)));
    let Some((place, (kind, columns))) = ranked else { return Err(ReadError::Empty) };
    let missing = lacks(columns);
    if missing.is_empty() {
        return Ok((place, columns));
    }
    let missing = missing.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
    Err(ReadError::MissingColumns { missing, kind, all: columns.join(", ") })
}

fn table(kind: usize, rows: &[Row]) -> Result<Table, ReadError> {
    Ok(match kind {
        0 => Table::Sweep(rows.iter().map(Row::sweep).collect::<Result<_, _>>()?),
        1 => Table::Unloaded(rows.iter().map(Row::unloaded).collect::<Result<_, _>>()?),
        2 => Table::Latency(rows.iter().map(|row| row.load("latency_ms")).collect::<Result<_, _>>()?),
        3 => Table::RoundTrip(rows.iter().map(|row| row.load("rtt_ms")).collect::<Result<_, _>>()?),
        4 => Table::Seconds(rows.iter().map(|row| row.routine("seconds_per_10000_messages")).collect::<Result<_, _>>()?),
        5 => Table::Calls(rows.iter().map(|row| row.routine("calls_per_10000_messages")).collect::<Result<_, _>>()?),
        _ => Table::Buffers(rows.iter().map(Row::buffer).collect::<Result<_, _>>()?),
    })
}

fn not_a_row(error: &csv::Error, otherwise: u64) -> ReadError {
    let line = error.position().map_or(otherwise, csv::Position::line);
    let reason = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => format!("it has {len} fields and the first line {expected_len}"),
        _ => shortened(&error.to_string()),
    };
    ReadError::NotARow { line, reason }
}

/// A row, with where its columns are.
struct Row<'a> {
    line: u64,
    record: csv::StringRecord,
    columns: &'static [&'static str],
    places: &'a [usize],
}

impl Row<'_> {
    fn cell(&self, column: &str) -> &str {
        let place = self.columns.iter().position(|name| *name == column).and_then(|place| self.places.get(place));
        place.and_then(|place| self.record.get(*place)).unwrap_or_default()
    }

    fn text(&self, column: &str) -> String {
        self.cell(column).to_owned()
    }

    fn bad(&self, column: &'static str, wrong: &'static str, remedy: &'static str) -> ReadError {
        ReadError::BadCell { line: self.line, column, found: shortened(self.cell(column)), wrong, remedy }
    }

    /// A number of 0 or more.
    fn number(&self, column: &'static str) -> Result<f64, ReadError> {
        let value: f64 =
            self.cell(column).parse().map_err(|_| self.bad(column, "not a number", "write digits, with a point if need be"))?;
        if !value.is_finite() || value > 1e18 {
            return Err(self.bad(column, "no number that was measured", "leave the row out"));
        }
        if value < 0.0 {
            return Err(self.bad(column, "negative", "nothing here can be: leave the row out or mend it"));
        }
        Ok(value)
    }

    /// A number above 0.
    fn positive(&self, column: &'static str) -> Result<f64, ReadError> {
        let value = self.number(column)?;
        // Its inverse has to be a number, too.
        if value >= 1e-12 { Ok(value) } else { Err(self.bad(column, "not above 0", "leave the row out: it says nothing of a cost")) }
    }

    fn bytes(&self) -> Result<u64, ReadError> {
        let value = self.positive("message_bytes")?;
        let whole = value as u64;
        if whole as f64 != value || whole > MOST_MESSAGE {
            return Err(self.bad("message_bytes", "no size of a message", "give whole bytes, at least 1"));
        }
        Ok(whole)
    }

    fn sweep(&self) -> Result<SweepRow, ReadError> {
        Ok(SweepRow {
            table: self.text("table"),
            host: self.text("host"),
            distribution: self.text("distribution"),
            kernel: self.text("kernel"),
            implementation: self.text("implementation"),
            bytes: self.bytes()?,
            seconds: self.positive("test_s")?,
            sent: self.number("sent_messages")?,
            received: self.positive("received_messages")?,
        })
    }

    fn unloaded(&self) -> Result<UnloadedRow, ReadError> {
        Ok(UnloadedRow {
            table: self.text("table"),
            protocol: self.text("protocol"),
            sender: self.text("sender"),
            receiver: self.text("receiver"),
            hardware: self.text("hardware"),
            bytes: self.bytes()?,
            total_s: self.positive("total_s")?,
            messages_per_s: self.positive("messages_per_s")?,
            bits_per_s: self.positive("bits_per_s")?,
            s_per_message: self.positive("s_per_message")?,
        })
    }

    fn load(&self, column: &'static str) -> Result<LoadRow, ReadError> {
        let (machine, protocol) = (self.text("machine"), self.text("protocol"));
        Ok(LoadRow { machine, protocol, load: self.number("sender_load")?, ms: self.positive(column)? })
    }

    fn routine(&self, column: &'static str) -> Result<RoutineRow, ReadError> {
        Ok(RoutineRow { routine: self.text("routine"), bytes: self.bytes()?, figure: self.number(column)? })
    }

    fn buffer(&self) -> Result<BufferRow, ReadError> {
        Ok(BufferRow {
            pair: self.text("pair"),
            packets: self.positive("socket_buffer_packets")?,
            kbytes_per_s: self.positive("task_kbytes_per_s")?,
            wire_mbit_per_s: self.positive("wire_mbits_per_s")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Table, parse};
    use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};

    const SIZES: &str = "table,host,distribution,kernel,implementation,message_bytes,test_s,sent_messages,received_messages\n";

    #[track_caller]
    fn refused(text: &str, words: &[&str]) {
        let error = parse(text).unwrap_err().to_string();
        words.iter().for_each(|word| assert!(error.contains(word), "'{word}' is missing: {error}"));
    }

    #[test]
    fn columns_may_stand_in_any_order_and_next_to_others() {
        let text = "\u{feff}received_messages,note,sent_messages,test_s,message_bytes,implementation,kernel,distribution,host,table\n\
                    # a remark\n 900 ,\"a, b\",1000,10,64,udp,6.1,d,h,1\n";
        let Table::Sweep(rows) = parse(text).unwrap() else { panic!() };
        assert_eq!((rows[0].bytes, rows[0].seconds, rows[0].received, rows[0].host.as_str()), (64, 10.0, 900.0, "h"));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place_and_its_remedy() {
        refused("", &["column 'table'", "is missing"]);
        refused(SIZES, &["no figures", "at least one row"]);
        refused(&SIZES.replace(",test_s", ""), &["column 'test_s' is missing", "messages by size", "message_bytes, test_s"]);
        refused("routine,message_bytes\nx,1\n", &["_per_10000_messages", "missing"]);
        refused(&format!("{SIZES}1,h,d,k,i,64,10,5,many\n"), &["line 2", "'received_messages'", "'many' is not a number", "write digits"]);
        refused(&format!("{SIZES}1,h,d,k,i,64,10,5,5\n1,h,d,k,i,64,10,-5,5\n"), &["line 3", "'sent_messages'", "'-5' is negative"]);
        refused(&format!("{SIZES}1,h,d,k,i,64,10,5,0\n"), &["'received_messages'", "not above 0", "leave the row out"]);
        refused(&format!("{SIZES}1,h,d,k,i,1.5,10,5,5\n"), &["'message_bytes'", "no size of a message", "whole bytes"]);
        refused(&format!("{SIZES}1,h,d,k,i,64,NaN,5,5\n"), &["'test_s'", "no number that was measured"]);
        refused(&format!("{SIZES}1,h,d,k,i,64,inf,5,5\n"), &["'test_s'"]);
        refused(&format!("{SIZES}1,h,d\n"), &["line 2 is no row", "3 fields", "9"]);
        refused(&"x".repeat(5 << 20), &["longer than"]);
        refused(&format!("{SIZES}{}", "1,h,d,k,i,64,10,5,5\n".repeat(201)), &["more than 200 rows of one series"]);
        let many: String = (0..501).map(|host| format!("1,{host},d,k,i,64,10,5,5\n")).collect();
        refused(&format!("{SIZES}{many}"), &["more than 500 series"]);
        refused(&format!("{SIZES}{}", many.repeat(10)), &["more than 5,000 rows"]);
    }

    #[test]
    fn every_kind_is_known_by_its_columns() {
        let kinds = [
            "machine,protocol,sender_load,latency_ms\nm,tcp,0,4.5\n",
            "machine,protocol,message_bytes,sender_load,rtt_ms\nm,tcp,1,0,18.5\n",
            "routine,message_bytes,seconds_per_10000_messages\nx,1,0.5\n",
            "routine,message_bytes,calls_per_10000_messages\nx,1,500\n",
            "pair,socket_buffer_packets,task_kbytes_per_s,wire_mbits_per_s\np,1,384,3.4\n",
            "table,protocol,sender,receiver,hardware,message_bytes,total_s,messages_per_s,bits_per_s,s_per_message\nB,tcp,a,b,c,1,11,181,1454,0.0055\n",
        ];
        let found: Vec<Table> = kinds.iter().map(|text| parse(text).unwrap()).collect();
        assert!(matches!(
            found[..],
            [Table::Latency(_), Table::RoundTrip(_), Table::Seconds(_), Table::Calls(_), Table::Buffers(_), Table::Unloaded(_)]
        ));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(\\PC|[,\"\\n0-9.-]){0,200}") {
            for text in [text.clone(), format!("{SIZES}{text}")] {
                if let Err(error) = parse(&text) {
                    prop_assert!(!error.to_string().chars().any(char::is_control), "{}", error);
                }
            }
        }

        #[test]
        fn what_is_written_is_read(rows in prop::collection::vec((1u64..1 << 40, 0.01..1e6f64, any::<u32>(), 1u32..), 1..20)) {
            let line = |(bytes, seconds, sent, received): &(u64, f64, u32, u32)| format!("1,h,d,k,i,{bytes},{seconds},{sent},{received}\n");
            let Table::Sweep(read) = parse(&format!("{SIZES}{}", rows.iter().map(line).collect::<String>())).unwrap() else { panic!() };
            let read: Vec<_> = read.iter().map(|row| (row.bytes, row.seconds, row.sent as u32, row.received as u32)).collect();
            prop_assert_eq!(read, rows);
        }
    }
}
