//! Lines that a user's program says, as they come out of its pipe.

/// Longest line that a program may say, in bytes.
const LONGEST: usize = 4_096;

/// A program's output that was not taken yet.
#[derive(Debug, Default)]
pub struct Lines(Vec<u8>);

/// The part that has come of a line without an end, or of one that is too long.
#[derive(Debug, PartialEq, Eq)]
pub struct Endless(pub String);

impl Lines {
    /// Adds the next bytes of the pipe.
    pub fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Returns whether a line waits to be taken.
    pub fn is_waiting(&self) -> bool {
        self.end().is_some()
    }

    /// Takes the next line, without white space at its end; `None` while it has no end yet.
    ///
    /// # Errors
    /// A line of more than 4,096 bytes, which is dropped with all that has come.
    pub fn take(&mut self) -> Result<Option<String>, Endless> {
        let end = self.end();
        if end.unwrap_or(self.0.len()) > LONGEST {
            return Err(Endless(String::from_utf8_lossy(&std::mem::take(&mut self.0)).into_owned()));
        }
        let Some(end) = end else { return Ok(None) };
        let line: Vec<u8> = self.0.drain(..=end).collect();
        Ok(Some(String::from_utf8_lossy(&line[..end]).trim_end().to_owned()))
    }

    fn end(&self) -> Option<usize> {
        self.0.iter().position(|byte| *byte == b'\n')
    }
}

/// What follows the word that an answer begins with; `None` for another answer.
pub fn after<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(word)?;
    (rest.is_empty() || rest.starts_with(' ')).then(|| rest.trim())
}

/// The port in the answer `ready PORT`, of what follows `ready`. Who connects over TCP has none that
/// anybody needs, and may say `-`, which is 0.
pub fn port(answer: &str, connects: bool) -> Option<u16> {
    match answer {
        "-" if connects => Some(0),
        port => port.parse().ok().filter(|port| *port > 0),
    }
}

/// The names of the counters that a program keeps of its own, of what follows `connected`; `None`
/// where there are too many, or one is no name.
pub fn counters(answer: &str, most: usize) -> Option<Vec<String>> {
    let is_name = |word: &&str| word.len() <= 24 && word.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    let words: Vec<&str> = answer.split_ascii_whitespace().collect();
    let all = words.iter().filter(|word| is_name(word)).count() == words.len() && words.len() <= most;
    all.then(|| words.into_iter().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::{Endless, Lines, after, counters, port};
    use proptest::prelude::{any, prop_assert_eq, proptest};

    fn all(pieces: &[&[u8]]) -> Result<Vec<String>, Endless> {
        let mut lines = Lines::default();
        let mut taken = Vec::new();
        for piece in pieces {
            lines.push(piece);
            while let Some(line) = lines.take()? {
                taken.push(line);
            }
            assert!(!lines.is_waiting());
        }
        Ok(taken)
    }

    #[test]
    fn lines_are_taken_once_they_have_an_end() {
        assert_eq!(all(&[b"rea", b"dy 7\r\ndo", b"ne\n\nrest"]), Ok(vec!["ready 7".to_owned(), "done".to_owned(), String::new()]));
        assert!(all(&[&[b'x'; 4_096], b"\n"]).is_ok());
        assert!(all(&[&[b'x'; 4_097]]).is_err() && all(&[&[b'x'; 4_097], b"\n"]).is_err());
    }

    #[test]
    fn answers_are_whole_words() {
        assert_eq!((after("ready 7", "ready"), after("done", "done"), after("readyness", "ready")), (Some("7"), Some(""), None));
        assert_eq!((port("7", false), port("-", true), port("-", false)), (Some(7), Some(0), None));
        assert!(["", "0", "65536", "-1", "7 8", "x"].iter().all(|word| port(word, true).is_none()));
    }

    #[test]
    fn counters_have_names() {
        assert_eq!(counters("", 2), Some(Vec::new()));
        assert_eq!(counters("copies  putq", 2), Some(vec!["copies".to_owned(), "putq".to_owned()]));
        assert!(["a b c", "Copies", "a=1", "abcdefghijklmnopqrstuvwxyz", "\u{1b}"].iter().all(|words| counters(words, 2).is_none()));
    }

    proptest! {
        #[test]
        fn any_pieces_give_the_same_lines(bytes in proptest::collection::vec(any::<u8>(), 0..200), at in 0..200_usize) {
            let (first, second) = bytes.split_at(at.min(bytes.len()));
            prop_assert_eq!(all(&[first, second]), all(&[&bytes]));
        }
    }
}
