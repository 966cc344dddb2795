//! Stored times as dates.

use jiff::Timestamp;

/// Writes milliseconds since 1970 as `2026-11-21 20:14:05 UTC`. A time past the
/// year 9999 gets the calendar's last second.
pub fn utc(milliseconds: u64) -> String {
    timestamp(milliseconds).strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// Writes milliseconds since 1970 in UTC as `2026-11-21 20:14`, or without the year.
pub fn short(milliseconds: u64, year: bool) -> String {
    timestamp(milliseconds).strftime(if year { "%Y-%m-%d %H:%M" } else { "%m-%d %H:%M" }).to_string()
}

/// Writes milliseconds since 1970 in UTC as tables have times, `2026-11-21 20:14:05`: readers of CSV take it for a time
/// and need no table of zones.
pub fn plain(milliseconds: u64) -> String {
    timestamp(milliseconds).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// Writes the time of day of milliseconds since 1970 in UTC as `20:14:05`.
pub fn time(milliseconds: u64) -> String {
    timestamp(milliseconds).strftime("%H:%M:%S").to_string()
}

/// Writes the day of milliseconds since 1970 in UTC as `21 November`.
pub fn day(milliseconds: u64) -> String {
    timestamp(milliseconds).strftime("%-d %B").to_string()
}

/// Writes milliseconds since 1970 as HTTP writes dates (RFC 9110, section 5.6.7):
/// `Sun, 22 Nov 2026 00:31:05 GMT`.
pub fn http(milliseconds: u64) -> String {
    timestamp(milliseconds).strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

fn timestamp(milliseconds: u64) -> Timestamp {
    i64::try_from(milliseconds).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok()).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::{day, http, utc};

    #[test]
    fn known_instants() {
        assert_eq!(utc(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(utc(951_782_400_000), "2000-02-29 00:00:00 UTC");
        assert_eq!(utc(1_795_292_045_123), "2026-11-21 20:14:05 UTC");
        assert_eq!(day(1_780_272_000_000), "1 June");
        assert_eq!(http(0), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(http(1_795_307_465_000), "Sun, 22 Nov 2026 00:31:05 GMT");
        assert_eq!(utc(4_102_444_799_999), "2099-12-31 23:59:59 UTC");
    }
}
