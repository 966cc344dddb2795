//! The one notation of figures in answers: three digits, a range with an en dash, a change with
//! its sign, an interval in brackets.

pub use model::words::{group, list};
use model::{Api, Bytes, Receive, Test};

use crate::metric::Metric;
use crate::verdict::{COMPARED, Design};

/// The least size that a sentence gives in KiB.
const LEAST_KIB: u64 = 2 << 10;
/// Stands for an interval that there is none of.
const NONE: &str = "–";

/// Units of time, the smallest first.
const TIMES: [(f64, &str); 4] = [(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")];

/// A share in percent without its sign and unit: `184`, `7.5`, `0.5`, `6`.
pub fn amount(share: f64) -> String {
    let percent = share.abs() * 100.0;
    if !percent.is_finite() {
        return NONE.to_owned();
    }
    let text = if percent < 9.95 { format!("{percent:.1}") } else { format!("{percent:.0}") };
    grouped(text.strip_suffix(".0").unwrap_or(&text))
}

/// The same with its sign, a minus being one: `+184`, `−7.5`, `0`.
pub fn signed(share: f64) -> String {
    let amount = amount(share);
    match () {
        () if amount == "0" => amount,
        () if share < 0.0 => format!("−{amount}"),
        () => format!("+{amount}"),
    }
}

/// A change with its unit: `+184 %`.
pub fn change(share: f64) -> String {
    format!("{} %", signed(share))
}

/// Both ends of a change, with signs where they are needed: `16 to 58`, `−48 to −19`, `−12 to +14`.
pub fn span([low, high]: [f64; 2]) -> String {
    match low >= 0.0 {
        true => format!("{} to {}", amount(low), amount(high)),
        false => format!("{} to {}", signed(low), signed(high)),
    }
}

/// Both ends of the size of a change that is said in words, ` (6 to 20)`; with their signs where it may be of
/// either way, and nothing without an interval.
pub fn sizes(interval: Option<[f64; 2]>) -> String {
    interval.map_or_else(String::new, |[low, high]| match high <= 0.0 {
        true => format!(" ({} to {})", amount(high), amount(low)),
        false => format!(" ({})", span([low, high])),
    })
}

/// A change with its interval: `+40 % (16 to 58)`.
pub fn with_span(share: f64, interval: Option<[f64; 2]>) -> String {
    let ends = interval.map_or_else(String::new, |ends| format!(" ({})", span(ends)));
    format!("{}{ends}", change(share))
}

/// A time in ns with its unit, three digits: `8.54 µs`.
pub fn time(ns: f64) -> String {
    let (factor, unit) = unit_of(ns);
    format!("{} {unit}", digits(ns / factor))
}

/// Both ends of a time, which is not negative: a wide interval, as it is computed, may reach below 0.
pub const fn ends_of_time(time: f64, [low, high]: [f64; 2]) -> [f64; 2] {
    [if time >= 0.0 { low.max(0.0) } else { low }, high]
}

/// A time with both ends in its unit: `12.9 µs (11.8–14.1)`.
pub fn time_in(ns: f64, interval: Option<[f64; 2]>) -> String {
    let (factor, unit) = unit_of(ns);
    let end = |ns: f64| if ns == 0.0 { "0".to_owned() } else { digits(ns / factor) };
    let ends = interval.map_or_else(|| NONE.to_owned(), |ends| ends_of_time(ns, ends).map(end).join("–"));
    format!("{} {unit} ({ends})", digits(ns / factor))
}

/// The factor and the unit in which a time in ns is written.
pub fn unit_of(ns: f64) -> (f64, &'static str) {
    // 999.6 ns reads 1.00 µs.
    TIMES.into_iter().rev().find(|(factor, _)| ns.abs() >= factor * 0.999_5).unwrap_or(TIMES[0])
}

/// Three digits, thousands grouped: `8.54`, `16.4`, `1,210`.
pub fn digits(value: f64) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    let size = value.abs();
    match () {
        () if size >= 99.95 => grouped(&format!("{value:.0}")),
        () if size >= 9.995 => format!("{value:.1}"),
        () if size >= 0.995 || size == 0.0 => format!("{value:.2}"),
        () => format!("{value:.3}"),
    }
}

/// A number of things, thousands grouped.
pub fn whole(things: u64) -> String {
    group(&things.to_string())
}

/// A number of things with their name: `1 block`, `2 blocks`.
pub fn plural(count: u64, name: &str) -> String {
    format!("{} {name}{}", whole(count), if count == 1 { "" } else { "s" })
}

/// A verb by the number of things that do it: `1 block gives`, `2 blocks give`.
pub const fn verb(count: u64, one: &'static str, several: &'static str) -> &'static str {
    if count == 1 { one } else { several }
}

fn grouped(text: &str) -> String {
    let (integer, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let (sign, integer) = integer.strip_prefix('-').map_or(("", integer), |digits| ("−", digits));
    format!("{sign}{}{fraction}", group(integer))
}

/// A size in a sentence: in KiB where it is some whole ones.
pub fn size(bytes: Bytes) -> String {
    match bytes.get() {
        bytes if bytes >= LEAST_KIB && bytes.is_multiple_of(1 << 10) => format!("{} KiB", whole(bytes >> 10)),
        bytes => format!("{} B", whole(bytes)),
    }
}

/// Seconds: `40 s`, `2 min 30 s`, `1 h 5 min`.
pub fn duration(seconds: f64) -> String {
    let seconds = seconds.max(1.0).ceil() as u64;
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, _, _) if seconds < 100 => format!("{seconds} s"),
        (0, minutes, 0) => format!("{minutes} min"),
        (0, minutes, rest) => format!("{minutes} min {rest} s"),
        (hours, 0, _) => format!("{hours} h"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

/// What a message of a test is called: `UDP message`, `TCP round trip`.
pub const fn message(test: Test) -> &'static str {
    match test {
        Test::TcpStream | Test::TcpMaerts => "TCP message",
        Test::UdpStream => "UDP message",
        Test::TcpRr => "TCP round trip",
        Test::UdpRr => "UDP round trip",
        Test::TcpCrr => "TCP connection with a round trip",
    }
}

/// A test where sizes are named with it; TCP streams are the usual and have no name.
pub const fn short_test(test: Test) -> &'static str {
    match test {
        Test::TcpStream => "",
        Test::TcpMaerts => "TCP_MAERTS",
        Test::UdpStream => "UDP",
        Test::TcpRr => "TCP round trips",
        Test::UdpRr => "UDP round trips",
        Test::TcpCrr => "TCP connections",
    }
}

/// A title within a sentence; names such as CPU stay as they are.
pub fn uncapital(title: &str) -> String {
    let mut letters = title.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if second.is_lowercase() => first.to_lowercase().chain(letters).collect(),
        _ => title.to_owned(),
    }
}

/// The name of a metric among those that are compared.
pub fn title(metric: Metric) -> &'static str {
    COMPARED.iter().find(|one| one.metric == metric).map_or_else(|| metric.title(), |one| one.title)
}

/// The values that a comparison is made of, by its design: of runs those of each side.
pub const fn unit(design: Design) -> &'static str {
    match design {
        Design::Paired | Design::Separate => "block",
        Design::Woven => "instance",
        Design::Runs => "run",
    }
}

/// A way's name: its api, the messages of a call where there are several, and the way of
/// receiving where it is not the api's own.
pub fn way(api: Api, receive: Option<Receive>, batch: u32) -> String {
    let batch = if batch > 1 { format!(" ×{batch}") } else { String::new() };
    let receive = receive.map(|receive| format!(" → {receive}")).unwrap_or_default();
    format!("{api}{batch}{receive}")
}

#[cfg(test)]
mod tests {
    use super::{amount, change, digits, duration, size, sizes, span, time, time_in, uncapital, verb};
    use model::Bytes;

    #[test]
    fn one_notation() {
        assert_eq!([0.13, 1.84, 0.075, 0.005, 0.06, 12.4].map(amount), ["13", "184", "7.5", "0.5", "6", "1,240"]);
        assert_eq!([change(1.84), change(-0.079), change(0.0)], ["+184 %", "−7.9 %", "0 %"]);
        assert_eq!([span([0.16, 0.58]), span([-0.48, -0.19]), span([-0.12, 0.14])], ["16 to 58", "−48 to −19", "−12 to +14"]);
        assert_eq!(sizes(Some([-0.2, -0.06])) + &sizes(None), " (6 to 20)");
        assert_eq!([8_540.0, 999.6, 41_600_000.0].map(time), ["8.54 µs", "1.00 µs", "41.6 ms"]);
        assert_eq!(time_in(12_900.0, Some([11_800.0, 14_060.0])), "12.9 µs (11.8–14.1)");
        assert_eq!(time_in(7_140.0, None), "7.14 µs (–)");
        assert_eq!(time_in(5_300.0, Some([-10_900.0, 21_400.0])), "5.30 µs (0–21.4)");
        assert_eq!(["Time per message", "CPU of both ends"].map(uncapital), ["time per message", "CPU of both ends"]);
        assert_eq!([1, 2].map(|count| verb(count, "gives", "give")), ["gives", "give"]);
        assert_eq!([0.312, 58_500.0, f64::NAN].map(digits), ["0.312", "58,500", "–"]);
        assert_eq!([64, 1_024, 1_448, 16_384].map(|bytes| size(Bytes::new(bytes))), ["64 B", "1,024 B", "1,448 B", "16 KiB"]);
        assert_eq!([0.2, 40.0, 150.0, 120.0, 3_900.0].map(duration), ["1 s", "40 s", "2 min 30 s", "2 min", "1 h 5 min"]);
    }
}
