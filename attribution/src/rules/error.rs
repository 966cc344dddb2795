//! The limits of a rule file, and its errors: the line, the problem and the
//! remedy.

/// The longest rule file, in bytes.
pub const MOST_BYTES: usize = 1 << 20;

/// The most rules of a file, chains included.
pub const MOST_RULES: usize = 2_000;

/// The most patterns of a file.
pub const MOST_PATTERNS: usize = 50_000;

/// A prefix pattern names at least this many letters and digits: `_*` or `t*`
/// would take in half the kernel.
pub const LEAST_LETTERS: usize = 2;

/// The longest symbol of the kernel (`KSYM_NAME_LEN`, include/linux/kallsyms.h).
pub const LONGEST_NAME: usize = 512;

/// A rule file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rules, line {line}: {problem}")]
pub struct RuleError {
    /// The line, counted from 1.
    pub line: usize,
    /// The problem.
    pub problem: Problem,
}

/// A problem of a line of a rule file, with the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// More text than is read.
    #[error("the file is longer than {MOST_BYTES} bytes; leave out rules that are not needed")]
    TooLong,
    /// More rules than are read.
    #[error("there are more than {MOST_RULES} rules; join those that say the same")]
    TooManyRules,
    /// More patterns than are read.
    #[error("there are more than {MOST_PATTERNS} patterns; use prefixes such as 'tcp_*'")]
    TooManyPatterns,
    /// A word that starts no line.
    #[error(
        "'{word}' is not a key{hint} A line starts with rule, chain, match, caller, module, after, layer, category, context, direction or crossing"
    )]
    UnknownKey {
        /// The word.
        word: String,
        /// `; did you mean ...?`, or a full stop.
        hint: String,
    },
    /// A line before any rule.
    #[error("'{0}' stands before any rule; put 'rule NAME' above it")]
    OutsideRule(String),
    /// A rule without a name.
    #[error("the rule has no name; write 'rule NAME', and name it after its subject")]
    NoName,
    /// Two rules of one name.
    #[error("there is a rule '{0}' already; give each a name of its own, since results are listed by it")]
    SameName(String),
    /// A name that is too long to list.
    #[error("the name is longer than 80 characters; shorten it")]
    NameTooLong,
    /// A key without a value.
    #[error("'{0}' has no value; write it behind the key, on the same line")]
    NoValue(&'static str),
    /// A key with more than one value.
    #[error("'{0}' has more than one value; a rule says one thing")]
    TwoValues(&'static str),
    /// A key twice.
    #[error("'{0}' is said twice in this rule; keep one of them")]
    SaidTwice(&'static str),
    /// A key that belongs to the other kind of rule.
    #[error("'{key}' has no meaning in a {kind}; {remedy}")]
    NotHere {
        /// The key.
        key: &'static str,
        /// `rule` or `chain`.
        kind: &'static str,
        /// The remedy.
        remedy: &'static str,
    },
    /// A value that is none of the choices.
    #[error("{0}")]
    UnknownValue(String),
    /// A rule about nothing in particular.
    #[error("rule '{0}' has neither 'match' nor 'module', so it would take in every function; say which it is about")]
    MatchesEverything(String),
    /// A rule that decides nothing.
    #[error("rule '{0}' decides nothing; give it a layer, a category, a context or a direction")]
    DecidesNothing(String),
    /// A prefix that is too short.
    #[error("'{0}' would match too much; put at least {LEAST_LETTERS} letters before the star")]
    MatchesTooMuch(String),
    /// A star that does not end a pattern.
    #[error("'{0}' has a star that is not at its end; a pattern is a name or the beginning of names, such as 'tcp_*'")]
    StarInside(String),
    /// Something that is no name.
    #[error("'{0}' is not the name of a function; names have letters, digits and underscores")]
    NotAName(String),
    /// A name that no kernel has.
    #[error("the pattern is longer than {LONGEST_NAME} characters, the most that a kernel's name has; shorten it")]
    PatternTooLong,
    /// No rules at all.
    #[error("the file has no rule; start one with 'rule NAME'")]
    Empty,
}
