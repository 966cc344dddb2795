//! Names of kernel packages, and the choice among them.

use model::sorting::{Gather, Order};
use std::collections::BTreeSet;

/// A kernel's release, as `uname -r` says it, such as `6.12.117+deb13-cloud-amd64`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release(pub String);

/// The packages of one kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// Its release.
    pub release: Release,
    /// Names of the packages that hold it.
    pub names: Vec<String>,
}

/// The flavour that is used: small, with everything for sockets built in.
const FLAVOUR: &str = "-cloud-amd64";

/// The longest list of names that is read.
const MOST_NAMES: usize = 100_000;

/// Kernels in a list of package names, a name a line with anything behind it.
///
/// Newer kernels come in two packages, one for the image and one for modules; of these
/// `linux-image-...` is empty.
pub fn parse_names(text: &str) -> Vec<Package> {
    let all: BTreeSet<&str> = text.lines().take(MOST_NAMES).filter_map(|line| line.split_ascii_whitespace().next()).into_set();
    let releases: BTreeSet<&str> = all
        .iter()
        .filter_map(|name| name.strip_prefix("linux-binary-").or_else(|| name.strip_prefix("linux-image-")))
        .filter(|release| release.ends_with(FLAVOUR) && release.starts_with(|first: char| first.is_ascii_digit()))
        .filter(|release| release.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".+-~".contains(&byte)))
        .collect();
    let package = |release: &&str| {
        let [image, binary, modules] = ["image", "binary", "modules"].map(|part| format!("linux-{part}-{release}"));
        let names = match (all.contains(binary.as_str()), all.contains(modules.as_str())) {
            // The modules may be gone from the archive: the image boots without.
            (true, true) => vec![binary, modules],
            (true, false) => vec![binary],
            (false, _) => vec![image],
        };
        Package { release: Release((*release).to_owned()), names }
    };
    releases.iter().map(package).collect()
}

impl Release {
    /// The numbers that it begins with, such as 6, 12, 117.
    fn numbers(&self) -> Vec<u64> {
        let version = self.0.strip_suffix(FLAVOUR).unwrap_or(&self.0);
        let numbers = version.split(['.', '-', '+']).map_while(|part| part.parse().ok());
        numbers.collect()
    }

    /// The series that it is of, such as `6.12`.
    pub fn series(&self) -> String {
        self.numbers().iter().take(2).map(u64::to_string).collect::<Vec<_>>().join(".")
    }

    /// True where it begins with the numbers of `wanted`, or is it.
    pub fn is(&self, wanted: &str) -> bool {
        let numbers: Option<Vec<u64>> = wanted.split('.').map(|part| part.parse().ok()).collect();
        self.0 == wanted || numbers.is_some_and(|numbers| !numbers.is_empty() && self.numbers().starts_with(&numbers))
    }

    /// Newer ones are greater.
    pub fn order(&self) -> (Vec<u64>, &str) {
        (self.numbers(), &self.0)
    }
}

/// Kernels that `wanted` means, such as `6.12` or `6.12.117`, the newest first; those with
/// modules before those without.
pub fn choose(known: &[Package], wanted: &str) -> Vec<Package> {
    let mut found: Vec<Package> = known.iter().filter(|package| package.release.is(wanted)).cloned().collect();
    let whole = |package: &Package| package.names.len() > 1 || package.names[0].starts_with("linux-image-");
    found.order_by(|a, b| (whole(b), b.release.order()).cmp(&(whole(a), a.release.order())));
    found
}

/// Every series of which there is a kernel, the oldest first.
pub fn series(known: &[Package]) -> Vec<String> {
    let mut all: Vec<Vec<u64>> = known.iter().map(|package| package.release.numbers().into_iter().take(2).collect()).collect();
    all.order();
    all.dedup();
    all.iter().filter(|numbers| numbers.len() == 2).map(|numbers| format!("{}.{}", numbers[0], numbers[1])).collect()
}

#[cfg(test)]
mod tests {
    use super::{choose, parse_names, series};
    use proptest::prelude::{prop_assert, proptest};

    const NAMES: &str = "linux-image-5.10.0-30-cloud-amd64 - Linux 5.10\nlinux-image-5.10.0-32-cloud-amd64 - Linux\n\
        linux-image-5.10.0-32-cloud-amd64-unsigned - Linux\nlinux-image-6.12.9+deb12-cloud-amd64\nlinux-image-6.12.117+deb13-cloud-amd64\n\
        linux-image-7.0.13+deb13-cloud-amd64\nlinux-binary-7.0.13+deb13-cloud-amd64\nlinux-binary-7.0.9+deb13-cloud-amd64\n\
        linux-modules-7.0.9+deb13-cloud-amd64\nlinux-image-cloud-amd64\nlinux-image-6.1.0-50-rt-amd64\n";

    fn first(wanted: &str) -> Option<String> {
        choose(&parse_names(NAMES), wanted).first().map(|package| package.names.join(" "))
    }

    #[test]
    fn the_newest_of_a_series_is_chosen() {
        assert_eq!(first("5.10").unwrap(), "linux-image-5.10.0-32-cloud-amd64");
        assert_eq!(first("6.12").unwrap(), "linux-image-6.12.117+deb13-cloud-amd64");
        assert_eq!(first("6.12.9").unwrap(), "linux-image-6.12.9+deb12-cloud-amd64");
        // The newest has lost its modules.
        assert_eq!(first("7.0").unwrap(), "linux-binary-7.0.9+deb13-cloud-amd64 linux-modules-7.0.9+deb13-cloud-amd64");
        assert_eq!(first("7.0.13").unwrap(), "linux-binary-7.0.13+deb13-cloud-amd64");
        assert_eq!((first("6.1"), first("6"), first("")), (None, first("6.12"), None));
        assert_eq!(series(&parse_names(NAMES)), ["5.10", "6.12", "7.0"]);
    }

    proptest! {
        #[test]
        fn any_list_is_taken(text in "((linux-(image|binary|modules)-)?[0-9./a +-]{0,9}(-cloud-amd64)?\n|\\PC{0,20}\n){0,9}", wanted in "[0-9.]{0,6}") {
            for package in choose(&parse_names(&text), &wanted) {
                prop_assert!(!package.names.is_empty() && !package.release.0.contains('/'));
            }
        }
    }
}
