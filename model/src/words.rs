//! Numbers and lists as sentences have them.

/// Digits in groups of three: `16,384`.
pub fn group(digits: &str) -> String {
    let comma = |place: usize| place > 0 && (digits.len() - place).is_multiple_of(3);
    digits.chars().enumerate().flat_map(|(place, digit)| comma(place).then_some(',').into_iter().chain([digit])).collect()
}

/// `a`, `a and b`, `a, b and c`.
pub fn list(all: &[String]) -> String {
    match all {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
