//! An analysis as JSON.

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::answer;
use crate::studies::{Analysis, StudyResult};

/// JSON as readers know it: one key for each part and each result.
impl Serialize for Analysis {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("format", &self.format)?;
        map.serialize_entry("answer", &answer::of(self))?;
        map.serialize_entry("run", &self.run)?;
        map.serialize_entry("hosts", &self.hosts)?;
        map.serialize_entry("blocks", &self.blocks)?;
        map.serialize_entry("trials", &self.trials)?;
        map.serialize_entry("failed", &self.failed)?;
        map.serialize_entry("cells", &self.cells)?;
        // These three have a key in any run.
        map.serialize_entry("models", self.models())?;
        map.serialize_entry("roles", &self.roles())?;
        map.serialize_entry("datagrams", &self.datagrams())?;
        map.serialize_entry("findings", &self.findings)?;
        map.serialize_entry("disturbed", &self.disturbed)?;
        map.serialize_entry("irq_pooled", &self.irq_pooled)?;
        let always = |study: &&StudyResult| matches!(study, StudyResult::Models(_) | StudyResult::Roles(_) | StudyResult::Datagrams(_));
        for study in self.studies.iter().filter(|study| !always(study)) {
            study.write(&mut map)?;
        }
        map.end()
    }
}
