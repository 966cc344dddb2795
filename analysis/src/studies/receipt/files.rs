//! Names of files that are safe anywhere.

use std::collections::HashSet;

use super::Group;

/// The longest name, in bytes: with number, end and ending it stays below the
/// 143 that encrypted file systems take.
const LONGEST: usize = 100;

/// A name for each cell and arm: letters, digits, `_`, `.` and `-` of its label,
/// with a number behind it where two would be alike.
pub fn names(groups: &[Group]) -> Vec<String> {
    let mut taken = HashSet::new();
    let name = |group: &Group| {
        let base = safe(&group.label);
        let mut name = base.clone();
        let mut number = 1;
        // Some file systems do not tell large letters from small ones.
        while !taken.insert(name.to_ascii_lowercase()) {
            number += 1;
            name = format!("{base}-{number}");
        }
        name
    };
    groups.iter().map(name).collect()
}

fn safe(label: &str) -> String {
    let mut name = String::new();
    for c in label.chars() {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => name.push(c),
            // Neither hidden nor upwards.
            '.' if !name.is_empty() && !name.ends_with('.') => name.push(c),
            _ if name.ends_with('-') || name.is_empty() => {}
            _ => name.push('-'),
        }
        if name.len() >= LONGEST {
            break;
        }
    }
    let name = name.trim_end_matches(['-', '.']);
    if name.is_empty() { "cell".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, names, safe};
    use crate::studies::receipt::Group;
    use crate::testing::cell;
    use model::{Cell, Test};
    use proptest::prelude::{prop_assert, proptest};

    #[test]
    fn labels_become_names() {
        assert_eq!(safe("TCP_STREAM (ipv6, nodelay, reno) 64 B"), "TCP_STREAM-ipv6-nodelay-reno-64-B");
        assert_eq!(safe("../../etc/passwd"), "etc-passwd");
        assert_eq!(safe("é"), "cell");
        let group = |cc: &str| Group::new(&Cell { cc: Some(cc.into()), ..cell(Test::TcpStream, 1) }, Some("a"));
        let found = names(&[group("x/y"), group("x y"), group("X y")]);
        assert_eq!(found, ["TCP_STREAM-nodelay-x-y-1-B-a", "TCP_STREAM-nodelay-x-y-1-B-a-2", "TCP_STREAM-nodelay-X-y-1-B-a-3"]);
    }

    proptest! {
        #[test]
        fn every_name_is_safe(label in ".{0,200}") {
            let name = safe(&label);
            prop_assert!(!name.is_empty() && name.len() <= LONGEST && !name.starts_with(['.', '-']) && !name.contains(".."));
            prop_assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c)));
        }
    }
}
