//! The plan: a file of one step a line, `WORD key=value ...`.

/// A line of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step<'p> {
    /// Its first word: what to do.
    pub verb: &'p str,
    /// The rest of the line.
    pub rest: &'p str,
}

impl<'p> Step<'p> {
    /// Every step of a plan; lines that are empty or begin with `#` are none.
    pub fn all(plan: &'p str) -> impl Iterator<Item = Self> {
        plan.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).map(|line| {
            let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
            Self { verb, rest: rest.trim() }
        })
    }

    /// The value of a key.
    pub fn value(&self, key: &str) -> Option<&'p str> {
        self.rest.split(' ').find_map(|word| word.split_once('=').filter(|(name, _)| *name == key).map(|(_, value)| value))
    }

    /// A number; `usual` where it is not said or is none.
    pub fn number(&self, key: &str, usual: usize) -> usize {
        self.value(key).and_then(|value| value.parse().ok()).unwrap_or(usual)
    }

    /// True where the key has that value.
    pub fn says(&self, key: &str, value: &str) -> bool {
        self.value(key) == Some(value)
    }
}

/// Reads `/plan`; `None` where that cannot be read or is no text.
#[cfg(nettoll_guest)]
pub fn read() -> Option<&'static str> {
    /// The longest plan, in bytes.
    const MOST: usize = 1 << 16;
    static mut TEXT: [u8; MOST] = [0; MOST];
    // SAFETY: called once, by the only thread.
    let room = unsafe { &mut *(&raw mut TEXT) };
    let fd = crate::sys::open("/plan", 0).ok()?;
    let mut length = 0;
    while length < MOST {
        match crate::sys::read(fd, &mut room[length..]) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(_) => return None,
        }
    }
    crate::sys::close(fd);
    core::str::from_utf8(&room[..length]).ok()
}

#[cfg(test)]
mod tests {
    use super::Step;

    #[test]
    fn steps_are_words_and_values() {
        let plan = "# a remark\n\nrun kind=udp size=112 n=x\nlink lo\n";
        let steps: Vec<Step> = Step::all(plan).collect();
        assert_eq!(steps.len(), 2);
        assert_eq!((steps[0].verb, steps[0].value("kind"), steps[0].number("size", 1)), ("run", Some("udp"), 112));
        assert_eq!((steps[0].number("n", 200), steps[0].number("warm", 64), steps[0].value("x")), (200, 64, None));
        assert_eq!((steps[1].verb, steps[1].rest), ("link", "lo"));
    }
}
