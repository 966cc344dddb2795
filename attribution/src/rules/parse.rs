//! Reads a rule file: a line at a time, a key and its values.

use std::collections::BTreeSet;
use std::str::FromStr;

use model::suggestion;

use super::error::{MOST_BYTES, MOST_PATTERNS, MOST_RULES, Problem, RuleError};
use super::pattern::Pattern;
use super::{Rule, Setting};
use crate::attributes::Direction;

/// The longest name of a rule, in characters.
const LONGEST_RULE_NAME: usize = 80;

/// Every key, for "did you mean".
const KEYS: [&str; 11] = ["rule", "chain", "match", "caller", "module", "after", "layer", "category", "context", "direction", "crossing"];

/// The rules of a text, in its order.
pub fn parse(text: &str) -> Result<(Vec<Rule>, Vec<Rule>), RuleError> {
    if text.len() > MOST_BYTES {
        return Err(RuleError { line: 1, problem: Problem::TooLong });
    }
    let mut reader = Reader::default();
    let mut last = 1;
    for (place, line) in text.lines().enumerate() {
        last = place + 1;
        let said = line.split('#').next().unwrap_or_default().trim();
        if !said.is_empty() {
            reader.line(last, said)?;
        }
    }
    reader.close()?;
    if reader.rules.is_empty() {
        return Err(RuleError { line: last, problem: Problem::Empty });
    }
    Ok((reader.rules, reader.chains))
}

#[derive(Default)]
struct Reader {
    rules: Vec<Rule>,
    chains: Vec<Rule>,
    names: BTreeSet<String>,
    patterns: usize,
    open: Option<Open>,
}

/// The rule whose lines are being read, and where it starts.
struct Open {
    line: usize,
    /// True of one about every function of a chain.
    chain: bool,
    rule: Rule,
    said: BTreeSet<&'static str>,
}

impl Reader {
    fn line(&mut self, line: usize, said: &str) -> Result<(), RuleError> {
        let (key, rest) = said.split_once(char::is_whitespace).unwrap_or((said, ""));
        if matches!(key, "rule" | "chain") {
            // What the rule before lacks is said at the line where that starts.
            self.close()?;
        }
        self.take(line, key, rest.trim()).map_err(|problem| RuleError { line, problem })
    }

    fn take(&mut self, line: usize, key: &str, rest: &str) -> Result<(), Problem> {
        let Some(key) = KEYS.iter().copied().find(|known| *known == key) else {
            let hint = suggestion(key, KEYS.iter().copied());
            return Err(Problem::UnknownKey { word: shortened(key), hint });
        };
        if matches!(key, "rule" | "chain") {
            return self.start(line, key, rest);
        }
        if rest.is_empty() {
            return Err(Problem::NoValue(key));
        }
        let Some(open) = &mut self.open else { return Err(Problem::OutsideRule(key.to_owned())) };
        if !matches!(key, "match" | "caller" | "module") && !open.said.insert(key) {
            return Err(Problem::SaidTwice(key));
        }
        let patterns = open.value(key, rest)?;
        self.patterns += patterns;
        if self.patterns > MOST_PATTERNS { Err(Problem::TooManyPatterns) } else { Ok(()) }
    }

    fn start(&mut self, line: usize, key: &str, name: &str) -> Result<(), Problem> {
        if name.is_empty() {
            return Err(Problem::NoName);
        }
        if name.chars().count() > LONGEST_RULE_NAME {
            return Err(Problem::NameTooLong);
        }
        if !self.names.insert(name.to_owned()) {
            return Err(Problem::SameName(name.to_owned()));
        }
        if self.names.len() > MOST_RULES {
            return Err(Problem::TooManyRules);
        }
        let rule = Rule { name: name.to_owned(), ..Rule::default() };
        self.open = Some(Open { line, chain: key == "chain", rule, said: BTreeSet::new() });
        Ok(())
    }

    /// Takes the open rule in, if it is whole.
    fn close(&mut self) -> Result<(), RuleError> {
        let Some(Open { line, chain, rule, .. }) = self.open.take() else { return Ok(()) };
        if rule.matches.is_empty() && rule.modules.is_empty() {
            return Err(RuleError { line, problem: Problem::MatchesEverything(rule.name) });
        }
        if rule.decides_nothing() {
            return Err(RuleError { line, problem: Problem::DecidesNothing(rule.name) });
        }
        if chain { &mut self.chains } else { &mut self.rules }.push(rule);
        Ok(())
    }
}

impl Open {
    /// Takes in a key's values, and says how many of them are patterns.
    fn value(&mut self, key: &'static str, text: &str) -> Result<usize, Problem> {
        let (rule, chain) = (&mut self.rule, self.chain);
        match key {
            "match" => add(&mut rule.matches, text),
            "caller" => add(&mut rule.callers, text),
            "context" => set(&mut rule.context, one(key, text)?),
            "direction" => set(&mut rule.direction, one(key, text)?),
            "after" if chain => set(&mut rule.after, directions(text)?),
            "module" if !chain => add(&mut rule.modules, text),
            "layer" if !chain => set(&mut rule.layer, one_or_caller(key, text)?),
            "category" if !chain => set(&mut rule.category, one_or_caller(key, text)?),
            "crossing" if !chain => set(&mut rule.crossing, one(key, text)?),
            _ if chain => {
                Err(Problem::NotHere { key, kind: "chain", remedy: "say it in a 'rule', which is about the function that was sampled" })
            }
            _ => Err(Problem::NotHere { key, kind: "rule", remedy: "only the direction of a chain depends on the one before" }),
        }
    }
}

fn add(patterns: &mut Vec<Pattern>, text: &str) -> Result<usize, Problem> {
    let before = patterns.len();
    for word in text.split_whitespace() {
        patterns.push(Pattern::parse(word)?);
    }
    Ok(patterns.len() - before)
}

fn set<T>(place: &mut Option<T>, value: T) -> Result<usize, Problem> {
    *place = Some(value);
    Ok(0)
}

fn one<T: FromStr<Err = model::UnknownChoice>>(key: &'static str, text: &str) -> Result<T, Problem> {
    if text.split_whitespace().count() > 1 {
        return Err(Problem::TwoValues(key));
    }
    shortened(text).parse().map_err(|error: model::UnknownChoice| Problem::UnknownValue(error.to_string()))
}

fn one_or_caller<T: FromStr<Err = model::UnknownChoice>>(key: &'static str, text: &str) -> Result<Setting<T>, Problem> {
    if text == "caller" { Ok(Setting::Caller) } else { one(key, text).map(Setting::Said) }
}

fn directions(text: &str) -> Result<Vec<Option<Direction>>, Problem> {
    text.split_whitespace().map(|word| if word == "none" { Ok(None) } else { one("after", word).map(Some) }).collect()
}

/// A foreign word as an error shows it.
fn shortened(word: &str) -> String {
    word.chars().take(60).collect()
}
