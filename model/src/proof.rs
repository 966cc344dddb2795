//! Result of a proof of receipts, as it is kept.

use serde::{Deserialize, Serialize};

use crate::host::HostFacts;

/// How far receipts found known costs on a machine, from one start of it on, by one build of nettoll.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "StoredProof")]
pub struct KeptProof {
    /// Start of the machine (`boot_id` of the kernel).
    pub boot: String,
    /// Kernel release and build.
    pub kernel: String,
    /// Version of nettoll.
    pub tool: String,
    /// End of the proof, in milliseconds since 1970 (UTC).
    pub ended_ms: u64,
    /// Neighbours of the trials: none, and a busy thread on each CPU.
    pub neighbours: [bool; 2],
    /// Least and largest part of a cost that was found.
    pub found: [f64; 2],
    /// Costs that were found.
    pub costs: u32,
    /// Costs that could not be looked for.
    pub missing: u32,
}

impl KeptProof {
    /// The same, if a proof can have its values.
    ///
    /// # Errors
    /// A name is too long, or a value is one that no proof has.
    pub fn checked(self) -> Result<Self, &'static str> {
        const LONGEST: usize = 1_000;
        /// Beyond it a row is no measure of a cost at all.
        const LARGEST: f64 = 1_000.0;
        let [low, high] = self.found;
        if [&self.boot, &self.kernel, &self.tool].iter().any(|text| text.len() > LONGEST) {
            return Err("a name in a proof is too long");
        }
        if !(-LARGEST <= low && low <= high && high <= LARGEST) || self.costs == 0 || self.neighbours == [false; 2] {
            return Err("a proof has values that no proof can have");
        }
        Ok(self)
    }

    /// Returns whether it is of these hosts, as they are now, and of this build.
    pub fn is_of(&self, hosts: &[HostFacts], tool: &str) -> bool {
        let same = |host: &HostFacts| host.boot == self.boot && kernel(host) == self.kernel;
        !hosts.is_empty() && !self.boot.is_empty() && self.tool == tool && hosts.iter().all(same)
    }
}

/// Kernel release and build of a host.
pub fn kernel(host: &HostFacts) -> String {
    format!("{} {}", host.kernel, host.kernel_build)
}

/// The same, as a file says that it is.
#[derive(Deserialize)]
struct StoredProof {
    boot: String,
    kernel: String,
    tool: String,
    ended_ms: u64,
    neighbours: [bool; 2],
    found: [f64; 2],
    costs: u32,
    missing: u32,
}

impl TryFrom<StoredProof> for KeptProof {
    type Error = &'static str;

    fn try_from(stored: StoredProof) -> Result<Self, &'static str> {
        let StoredProof { boot, kernel, tool, ended_ms, neighbours, found, costs, missing } = stored;
        Self { boot, kernel, tool, ended_ms, neighbours, found, costs, missing }.checked()
    }
}

#[cfg(test)]
mod tests {
    use super::{KeptProof, kernel};
    use crate::host::HostFacts;

    const STORED: &str =
        r#"{"boot":"b","kernel":"6.1 #1","tool":"0.1","ended_ms":1,"neighbours":[true,false],"found":[0.9,1.1],"costs":3,"missing":0}"#;

    #[test]
    fn it_is_of_one_boot_kernel_and_build() {
        let proof: KeptProof = serde_json::from_str(STORED).unwrap();
        assert_eq!(serde_json::to_string(&proof).unwrap(), STORED);
        let host = |boot: &str, release: &str| HostFacts {
            boot: boot.to_owned(),
            kernel: release.to_owned(),
            kernel_build: "#1".to_owned(),
            ..HostFacts::default()
        };
        assert_eq!(kernel(&host("b", "6.1")), "6.1 #1");
        assert!(proof.is_of(&[host("b", "6.1"), host("b", "6.1")], "0.1"));
        for (hosts, tool) in [
            (vec![host("b", "6.1"), host("c", "6.1")], "0.1"),
            (vec![host("b", "6.2")], "0.1"),
            (vec![host("b", "6.1")], "0.2"),
            (vec![], "0.1"),
        ] {
            assert!(!proof.is_of(&hosts, tool), "{hosts:?}");
        }
        let nameless = KeptProof { boot: String::new(), ..proof };
        assert!(!nameless.is_of(&[host("", "6.1")], "0.1"), "a kernel that does not tell");
    }

    #[test]
    fn values_that_none_can_have_are_refused() {
        for (from, to) in [
            ("[0.9,1.1]", "[1.1,0.9]"),
            ("[0.9,1.1]", "[0.9,1e300]"),
            ("[0.9,1.1]", "[null,1.1]"),
            ("\"costs\":3", "\"costs\":0"),
            ("\"costs\":3", "\"costs\":-1"),
            ("[true,false]", "[false,false]"),
            ("\"b\"", &format!("\"{}\"", "b".repeat(2_000))),
            ("\"ended_ms\":1,", ""),
        ] {
            let text = STORED.replace(from, to);
            assert!(text != STORED && serde_json::from_str::<KeptProof>(&text).is_err(), "{text}");
        }
    }
}
