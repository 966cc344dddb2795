//! What the plugin writes: a text file, a block a region.
//!
//! ```text
//! nettoll-scope 1 INTERFACE
//! region NUMBER
//! message COURSE COUNTS... CODE READ WRITTEN
//! course NUMBER
//! function FUNCTION COUNTS...
//! path PLACE CALLER FUNCTION COUNTS...
//! end
//! repairs NUMBER
//! ```
//!
//! Counts are instructions, reads, writes, calls, repeated and bytes. A path comes after its caller; caller 0 is the start. Functions go by their number in
//! the symbols file, from 2.

use std::collections::HashMap;

use attribution::exact::{CallTree, Counts, PathNode, TreeError};

use crate::kallsyms::Functions;

/// The format that is understood.
const FORMAT: u32 = 1;
/// Messages of a region beyond which the file is refused.
const MOST_MESSAGES: usize = 10_000_000;

/// A file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutputError {
    /// A line that is out of place or no line of this format.
    #[error("line {0} of the plugin's file cannot be understood; the run was cut short, or the file is damaged")]
    Line(usize),
    /// Another version of the format.
    #[error("the plugin's file has format {0}, and {FORMAT} is understood; empty the cache of tools")]
    Format(u32),
    /// A function that is not in the symbol table.
    #[error("line {0} of the plugin's file names a function that the symbol table lacks; symbols and file are of different kernels")]
    Function(usize),
    /// Paths that are no tree.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// Too many messages.
    #[error("the plugin's file has more than {MOST_MESSAGES} messages in a region")]
    Long,
}

/// One message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// The course that it took.
    pub course: u64,
    /// What it executed.
    pub total: Counts,
    /// Cache lines of code, reads and writes.
    pub lines: [u64; 3],
}

/// One region.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counted {
    /// Every message, in order.
    pub messages: Vec<Message>,
    /// The usual course.
    pub usual: u64,
    /// The usual course by function.
    pub functions: Vec<(String, Counts)>,
    /// The usual course by path.
    pub tree: CallTree,
    /// Returns that fitted no call.
    pub repairs: u64,
}

/// A plugin's file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Output {
    /// Version of QEMU's plugin interface.
    pub interface: u32,
    /// The regions, in the order in which they ran.
    pub regions: Vec<Counted>,
}

/// Reads a plugin's file; `functions` are those that the plugin was given.
///
/// # Errors
/// A line that cannot be understood, or what does not fit the symbols.
pub fn parse(text: &str, functions: &Functions) -> Result<Output, OutputError> {
    let mut lines = text.lines().enumerate();
    let (_, first) = lines.next().ok_or(OutputError::Line(1))?;
    let head: Vec<u64> = first.strip_prefix("nettoll-scope ").and_then(numbers).ok_or(OutputError::Line(1))?;
    let [format, interface] = head[..] else { return Err(OutputError::Line(1)) };
    if format != u64::from(FORMAT) {
        return Err(OutputError::Format(format as u32));
    }
    let mut output = Output { interface: interface as u32, regions: Vec::new() };
    let mut open: Option<Open> = None;
    for (place, line) in lines {
        let wrong = OutputError::Line(place + 1);
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let numbers = numbers(rest).ok_or_else(|| wrong.clone())?;
        let name = |number: u64| {
            let found = usize::try_from(number).ok().and_then(|number| functions.name(number));
            found.map(str::to_owned).ok_or(OutputError::Function(place + 1))
        };
        match (word, &mut open, &numbers[..]) {
            ("region", None, [number]) if *number == output.regions.len() as u64 => open = Some(Open::default()),
            ("message", Some(open), [course, counted @ .., code, read, written]) if counted.len() == COUNTS => {
                if open.counted.messages.len() >= MOST_MESSAGES {
                    return Err(OutputError::Long);
                }
                let lines = [*code, *read, *written];
                open.counted.messages.push(Message { course: *course, total: counts(counted), lines });
            }
            ("course", Some(open), [usual]) => open.counted.usual = *usual,
            ("function", Some(open), [function, counted @ ..]) if counted.len() == COUNTS => {
                open.counted.functions.push((name(*function)?, counts(counted)));
            }
            ("path", Some(open), [path, caller, function, counted @ ..]) if counted.len() == COUNTS => {
                open.path(*path, *caller, name(*function)?, counts(counted)).ok_or(wrong)?;
            }
            ("end", Some(_), []) => {
                let Some(Open { mut counted, nodes, .. }) = open.take() else { return Err(wrong) };
                counted.tree = CallTree::try_from(nodes)?;
                output.regions.push(counted);
            }
            ("repairs", None, [number]) => output.regions.last_mut().ok_or(wrong)?.repairs = *number,
            _ => return Err(wrong),
        }
    }
    if open.is_some() {
        return Err(OutputError::Line(text.lines().count()));
    }
    Ok(output)
}

/// A region that is being read.
#[derive(Debug, Default)]
struct Open {
    counted: Counted,
    nodes: Vec<PathNode>,
    places: HashMap<u64, usize>,
}

impl Open {
    /// Takes a path; `None` where its caller is unknown or it was there before.
    fn path(&mut self, path: u64, caller: u64, function: String, own: Counts) -> Option<()> {
        let parent = if caller == 0 { None } else { Some(*self.places.get(&caller)?) };
        if self.places.insert(path, self.nodes.len()).is_some() {
            return None;
        }
        self.nodes.push(PathNode { parent, function, own });
        Some(())
    }
}

fn numbers(text: &str) -> Option<Vec<u64>> {
    text.split_ascii_whitespace().map(|word| word.parse().ok()).collect()
}

/// Numbers of counts.
const COUNTS: usize = 6;

/// Counts of their numbers.
fn counts(numbers: &[u64]) -> Counts {
    let at = |place: usize| numbers.get(place).copied().unwrap_or(0);
    Counts { instructions: at(0), reads: at(1), writes: at(2), calls: at(3), repeated: at(4), bytes: at(5) }
}

#[cfg(test)]
mod tests {
    use super::{OutputError, parse};
    use crate::kallsyms::Functions;
    use proptest::prelude::{prop_assert, proptest};

    const FILE: &str = "nettoll-scope 1 4\nregion 0\nmessage 0 9 1 0 1 0 8 3 2 1\nmessage 1 7 1 0 1 0 8 3 2 1\nmessage 1 7 1 0 1 0 8 3 2 1\n\
        course 1\nfunction 0 2 0 0 0 0 0\nfunction 2 5 1 0 1 0 8\npath 1 0 0 2 0 0 0 0 0\npath 4 0 2 1 0 0 0 0 0\npath 7 4 3 4 1 0 1 0 8\nend\nrepairs 2\n";

    fn functions() -> Functions {
        Functions::of_plugin("ffffffff81000000 entry\nffffffff81000040 udp_sendmsg\n").unwrap()
    }

    #[test]
    fn a_file_is_read() {
        let output = parse(FILE, &functions()).unwrap();
        let region = &output.regions[0];
        assert_eq!((output.interface, region.messages.len(), region.usual, region.repairs), (4, 3, 1, 2));
        assert_eq!(region.messages[0].lines, [3, 2, 1]);
        assert_eq!(region.tree.chain(2), ["udp_sendmsg", "entry"]);
        assert_eq!((region.tree.total().instructions, region.tree.total().bytes), (7, 8));
        assert_eq!(region.functions[1], ("entry".to_owned(), region.messages[1].total.with_instructions(5)));
    }

    trait WithInstructions {
        fn with_instructions(self, count: u64) -> Self;
    }

    impl WithInstructions for attribution::exact::Counts {
        fn with_instructions(self, count: u64) -> Self {
            Self { instructions: count, ..self }
        }
    }

    #[test]
    fn damage_is_named_by_its_line() {
        let refused = |file: &str| parse(file, &functions()).unwrap_err();
        assert_eq!(refused(""), OutputError::Line(1));
        assert_eq!(refused("nettoll-scope 2 4\n"), OutputError::Format(2));
        assert_eq!(refused(&FILE.replace("end\n", "")), OutputError::Line(12));
        assert_eq!(refused(&FILE.replace("path 7 4 3", "path 7 5 3")), OutputError::Line(11));
        assert_eq!(refused(&FILE.replace("path 7 4 3", "path 7 4 9")), OutputError::Function(11));
        assert_eq!(refused(&FILE.replace("course 1", "course -1")), OutputError::Line(6));
        let cut: String = FILE.lines().take(8).map(|line| format!("{line}\n")).collect();
        assert_eq!(refused(&cut), OutputError::Line(8));
    }

    proptest! {
        #[test]
        fn any_text_is_refused_or_read(body in "((region|message|course|function|path|end|repairs)( [0-9]{1,3}){0,10}\n){0,12}") {
            if let Ok(output) = parse(&format!("nettoll-scope 1 4\n{body}"), &functions()) {
                prop_assert!(output.regions.len() <= body.lines().count());
            }
        }
    }
}
