//! A stored time as a date.

/// Milliseconds since 1970 as `2026-11-21 20:14:05 UTC`.
pub fn utc(milliseconds: u64) -> String {
    let seconds = milliseconds / 1_000;
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// Milliseconds since 1970 as HTTP writes dates (RFC 9110, section 5.6.7): `Sun, 22 Nov 2026 00:31:05 GMT`.
pub fn http(milliseconds: u64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let seconds = milliseconds / 1_000;
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    let (weekday, month) = (DAYS[(seconds / 86_400 % 7) as usize], MONTHS[(month as usize - 1) % 12]);
    format!("{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
}

/// Year, month and day of a number of days since 1970. Years start in March
/// and eras have 400 of them, so that leap days come last (H. Hinnant's method).
const fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let leap = if month <= 2 { 1 } else { 0 };
    (era * 400 + year_of_era + leap, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::{http, utc};

    #[test]
    fn known_instants() {
        assert_eq!(utc(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(utc(951_782_400_000), "2000-02-29 00:00:00 UTC");
        assert_eq!(utc(1_795_292_045_123), "2026-11-21 20:14:05 UTC");
        assert_eq!(http(0), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(http(1_795_307_465_000), "Sun, 22 Nov 2026 00:31:05 GMT");
        assert_eq!(utc(4_102_444_799_999), "2099-12-31 23:59:59 UTC");
    }
}
