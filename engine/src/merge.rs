//! Times of several flows in one histogram.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};

/// Merges what flows have encoded; `None` when none has anything.
pub fn times<'a>(flows: impl Iterator<Item = Option<&'a str>>) -> Option<String> {
    let mut texts = flows.flatten();
    let first = texts.next()?;
    let Some(second) = texts.next() else { return Some(first.to_owned()) };
    let mut all = decode(first)?;
    for text in std::iter::once(second).chain(texts) {
        all.add(decode(text)?).ok()?;
    }
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(&all, &mut bytes).ok()?;
    Some(STANDARD.encode(bytes))
}

fn decode(text: &str) -> Option<Histogram<u64>> {
    Deserializer::new().deserialize(&mut STANDARD.decode(text).ok()?.as_slice()).ok()
}

#[cfg(test)]
mod tests {
    use super::{decode, times};
    use crate::recorder::Recorder;

    #[test]
    fn every_time_of_every_flow_is_in_it() {
        let recorded = |all: &[u64]| {
            let mut recorder = Recorder::new();
            all.iter().for_each(|time| recorder.record(*time));
            recorder.encode()
        };
        let flows = [recorded(&[5, 5]), None, recorded(&[7_000_000]), recorded(&[1])];
        let all = decode(&times(flows.iter().map(Option::as_deref)).unwrap()).unwrap();
        assert_eq!((all.len(), all.count_at(5), all.min()), (4, 2, 1));
        assert_eq!(times([None, None].into_iter()), None);
    }
}
