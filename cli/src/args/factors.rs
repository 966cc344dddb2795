//! Flags that vary a factor, for every command that has a plan: one for each row
//! of the table of factors.

use clap::error::Error;
use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Args, Command, FromArgMatches, Id};
use model::plan::{Factor, LevelError, Override};
use model::{Family, ways};

const HEADING: &str = "Factors (lists are separated by commas)";

/// The versions of IP: a letter each, in place of a list.
const FAMILIES: [(Family, &str, char, &str); 2] = [(Family::V4, "ipv4", '4', "IPv4 only"), (Family::V6, "ipv6", '6', "IPv6 only")];

/// Flags that replace the levels of a factor.
#[derive(Debug)]
pub struct FactorArgs {
    words: Vec<(Factor, Vec<String>)>,
}

impl FactorArgs {
    /// Returns whether the flag of a factor was given.
    pub fn names(&self, factor: Factor) -> bool {
        self.words.iter().any(|(named, _)| *named == factor)
    }

    /// The factors named, with their levels.
    ///
    /// # Errors
    /// A word that is no level of its factor.
    pub fn overrides(&self) -> Result<Vec<Override>, LevelError> {
        self.words.iter().map(|(factor, words)| Ok((*factor, factor.parse(words)?))).collect()
    }
}

/// Factors of one trial that iperf3 has no letter for, and the type of service.
const OF_ONE_TRIAL: [Factor; 8] =
    [Factor::Tos, Factor::Api, Factor::Receive, Factor::Waiting, Factor::Batch, Factor::Work, Factor::Nstreams, Factor::Xbind];

/// Flags that set a level of a factor for one trial.
#[derive(Debug)]
pub struct TrialFactorArgs(FactorArgs);

impl TrialFactorArgs {
    /// The factors named, with their levels.
    ///
    /// # Errors
    /// A word that is no level of its factor.
    pub fn overrides(&self) -> Result<Vec<Override>, LevelError> {
        self.0.overrides()
    }
}

fn flag(factor: Factor) -> Option<Arg> {
    let (flag, help) = (factor.flag()?, factor.help()?);
    let mut arg = Arg::new(factor.name())
        .long(flag.long.unwrap_or(factor.name()))
        .help(help)
        .help_heading(HEADING)
        .value_name(flag.value_name)
        .value_delimiter(',')
        .action(ArgAction::Append)
        .allow_hyphen_values(flag.is_number);
    if let Some(letter) = flag.short {
        arg = arg.short(letter);
    }
    if flag.is_switch {
        arg = arg.num_args(0..=1).require_equals(true).default_missing_value("true");
    }
    Some(arg)
}

fn flags() -> Vec<Arg> {
    let families = FAMILIES.map(|(_, name, letter, help)| {
        let others = FAMILIES.iter().map(|family| family.1).filter(|other| *other != name);
        Arg::new(name).short(letter).help(help).help_heading(HEADING).action(ArgAction::SetTrue).conflicts_with_all(others)
    });
    Factor::in_help_order().into_iter().filter_map(flag).chain(families).collect()
}

impl FactorArgs {
    /// The first factor given that is not this one.
    pub fn other_than(&self, factor: Factor) -> Option<Factor> {
        self.words.iter().map(|(given, _)| *given).find(|given| *given != factor)
    }
}

impl Args for FactorArgs {
    fn group_id() -> Option<Id> {
        Some(Id::from("FactorArgs"))
    }

    fn augment_args(command: Command) -> Command {
        let flags = flags();
        let group = ArgGroup::new("FactorArgs").multiple(true).args(flags.iter().map(Arg::get_id));
        command.args(&flags).group(group)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// The words of the flags of these factors.
fn words(matches: &ArgMatches, factors: &[Factor]) -> Vec<(Factor, Vec<String>)> {
    let words = |factor: &Factor| {
        let words = matches.get_many::<String>(factor.flag().map(|_| factor.name())?)?;
        let words: Vec<String> = words.cloned().collect();
        Some((*factor, if *factor == Factor::Api { ways::joined(words) } else { words }))
    };
    factors.iter().filter_map(words).collect()
}

impl Args for TrialFactorArgs {
    fn augment_args(command: Command) -> Command {
        let one = |flag: Arg| flag.help_heading("Factors of one trial (a level each)").value_name("LEVEL");
        command.args(OF_ONE_TRIAL.into_iter().filter_map(flag).map(one))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for TrialFactorArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let one = |(factor, words): (Factor, Vec<String>)| match factor {
            // iperf3 takes one address at a time, as often as there are.
            Factor::Xbind => (factor, vec![words.join("+")]),
            _ => (factor, words),
        };
        Ok(Self(FactorArgs { words: words(matches, &OF_ONE_TRIAL).into_iter().map(one).collect() }))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl FromArgMatches for FactorArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut words = words(matches, Factor::ALL);
        let family = FAMILIES.iter().find(|family| matches.get_flag(family.1));
        words.extend(family.map(|family| (Factor::Family, vec![family.0.to_string()])));
        Ok(Self { words })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
