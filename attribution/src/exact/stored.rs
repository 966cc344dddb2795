//! Exact receipts as files hold them: what `-J` writes, and `exact.json` of a run.

use serde::{Deserialize, Serialize};

use super::{Counts, Measured, Region};

/// Version of the format.
pub const EXACT_FORMAT: u32 = 1;

/// A file of exact receipts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// Version of the format.
    pub format: u32,
    /// The run that it belongs to; `None` of what `-J` wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<StoredRun>,
    /// What was measured, in the order of the kernels that were asked for.
    pub measured: Vec<Measured>,
}

/// A run of the microscope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredRun {
    /// Its name.
    pub id: String,
    /// Its start, in milliseconds since 1970 (UTC).
    pub started_ms: u64,
    /// Version of nettoll.
    pub tool: String,
    /// The plan that it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<PartOf>,
}

/// A part of a plan, as that plan names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartOf {
    /// The part's name.
    pub name: String,
    /// Seed of the plan, which all of its parts have.
    pub seed: u64,
}

/// A file that holds no exact receipts; the words follow its name.
#[derive(Debug, thiserror::Error)]
pub enum StoredError {
    /// It is no JSON of this kind.
    #[error("holds no counts of the microscope: {0}")]
    Json(#[from] serde_json::Error),
    /// Another version of the format.
    #[error("has format {0}, and {EXACT_FORMAT} is understood; use the nettoll that wrote it")]
    Format(u32),
    /// Rows that do not sum to the message.
    #[error("is damaged: {region} on kernel {kernel} does not add up, {instructions} instructions in all, {what}")]
    Sum {
        /// The kernel.
        kernel: String,
        /// The region.
        region: String,
        /// Its total.
        instructions: u64,
        /// The sum that differs.
        what: String,
    },
}

impl Stored {
    /// What was measured, for a file.
    pub const fn new(run: Option<StoredRun>, measured: Vec<Measured>) -> Self {
        Self { format: EXACT_FORMAT, run, measured }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// Text that is none, of another version, or whose rows do not sum to their message.
    pub fn parse(text: &str) -> Result<Self, StoredError> {
        /// The version is read before what depends on it.
        #[derive(Deserialize)]
        struct Head {
            format: u32,
        }
        let Head { format } = serde_json::from_slice(text.as_bytes())?;
        if format != EXACT_FORMAT {
            return Err(StoredError::Format(format));
        }
        let stored: Self = serde_json::from_slice(text.as_bytes())?;
        for (one, region) in stored.measured.iter().flat_map(|one| one.regions.iter().map(move |region| (one, region))) {
            if let Some((what, sum)) = wrong(region) {
                return Err(StoredError::Sum {
                    kernel: one.provenance.kernel.clone(),
                    region: region.name.clone(),
                    instructions: region.total.instructions,
                    what: format!("{} by {what}", sum.instructions),
                });
            }
        }
        Ok(stored)
    }
}

/// The first sum of a region that is not its total.
fn wrong(region: &Region) -> Option<(&'static str, Counts)> {
    let rows = &region.rows;
    let sums = [
        ("call path", region.tree.total()),
        ("layer", rows.layers.iter().map(|row| row.counts).sum()),
        ("kind of work", rows.categories.iter().map(|row| row.counts).sum()),
        ("function", rows.functions.iter().map(|row| row.counts).sum()),
    ];
    sums.into_iter().find(|(_, sum)| *sum != region.total)
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::tree;
    use super::{Stored, StoredRun};
    use crate::Rules;
    use crate::exact::{ExactRows, Measured, Region};

    fn stored() -> Stored {
        let tree = tree(&[(None, "[user]", 5), (None, "udp_sendmsg", 40)]);
        let region = Region {
            name: "udp-112".to_owned(),
            messages: 2,
            usual: 2,
            courses: 1,
            total: tree.total(),
            rows: ExactRows::of(&tree, &Rules::builtin().unwrap()),
            tree,
            ..Region::default()
        };
        let run = StoredRun { id: "x".to_owned(), started_ms: 7, tool: "0".to_owned(), part: None };
        Stored::new(Some(run), vec![Measured { regions: vec![region], ..Measured::default() }])
    }

    #[test]
    fn what_is_written_is_read() {
        let stored = stored();
        assert_eq!(Stored::parse(&serde_json::to_string(&stored).unwrap()).unwrap(), stored);
    }

    #[test]
    fn damage_is_named() {
        let text = serde_json::to_string(&stored()).unwrap();
        let refused = |text: &str| Stored::parse(text).unwrap_err().to_string();
        assert!(refused("{").contains("no counts of the microscope"));
        assert!(refused(&text.replacen("\"format\":1", "\"format\":9", 1)).contains("format 9"));
        let told = refused(&text.replacen("\"instructions\":45", "\"instructions\":46", 1));
        assert!(told.contains("does not add up, 46 instructions in all, 45 by call path"), "{told}");
    }
}
