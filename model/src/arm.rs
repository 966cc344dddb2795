//! Arms: named sets of settings that are compared with each other.

mod setting;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::cell::{Cell, Factor, Level, LevelError};

pub use setting::{HostSettings, Setting, SettingError};

/// The most arms of a study.
const MOST: usize = 16;

/// Congestion controls of Linux (net/ipv4/Kconfig), by which people name arms.
const CONGESTION_CONTROLS: [&str; 17] = [
    "bbr",
    "bic",
    "cdg",
    "cubic",
    "dctcp",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "reno",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
];

/// Factors whose levels are words that could be taken for the name of an arm.
const BY_WORD: [Factor; 6] = [Factor::Api, Factor::Receive, Factor::Family, Factor::Waiting, Factor::Pacing, Factor::Arrivals];

/// A named set of settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arm {
    /// Its name: 1 to 40 letters, digits, `-`, `_`, `.`.
    pub name: String,
    /// Settings, in the order in which they were written; nothing twice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<Setting>,
}

/// Arms that cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArmError {
    /// A text that is no arm.
    #[error("'{text}' is no arm: {reason}; write NAME, or NAME: SETTING=VALUE, SETTING=VALUE, such as 'bbr: cc=bbr'")]
    Text {
        /// Text as written.
        text: String,
        /// Reason.
        reason: String,
    },
    /// A setting that is none.
    #[error("arm '{arm}': {error}")]
    Setting {
        /// The arm.
        arm: String,
        /// Reason.
        error: SettingError,
    },
    /// A setting that stands there twice.
    #[error("arm '{arm}' sets {setting} twice: give one value")]
    Twice {
        /// The arm.
        arm: String,
        /// Its name.
        setting: String,
    },
    /// A name that is a level, of an arm that sets nothing.
    #[error(
        "arm '{arm}' sets nothing, yet {arm} is a level of {factor}: did you mean '{arm}: {factor}={arm}'? \
         An arm that is to set nothing takes another name, such as base"
    )]
    Level {
        /// The arm.
        arm: String,
        /// The factor.
        factor: Factor,
    },
    /// A level that one of the cells cannot take.
    #[error("arm '{arm}' over the cell {cell}: {error}")]
    Over {
        /// The arm.
        arm: String,
        /// The cell.
        cell: String,
        /// Reason.
        error: LevelError,
    },
    /// One arm, or too many.
    #[error("{0} arm{plural}: a comparison takes 2 to 16", plural = if *.0 == 1 { "" } else { "s" })]
    Number(usize),
}

impl Arm {
    /// Reads arms as they are written: `NAME`, or `NAME: SETTING=VALUE, ...`. Two
    /// of the same name get a number behind it: `--arm a --arm a` is a machine's
    /// comparison with itself.
    ///
    /// # Errors
    /// See [`ArmError`].
    pub fn parse_all(texts: &[String]) -> Result<Vec<Self>, ArmError> {
        if texts.len() == 1 || texts.len() > MOST {
            return Err(ArmError::Number(texts.len()));
        }
        let mut arms: Vec<Self> = texts.iter().map(|text| Self::parse(text)).collect::<Result<_, _>>()?;
        for place in 0..arms.len() {
            let (before, rest) = arms.split_at_mut(place);
            let Some(arm) = rest.first_mut() else { break };
            let (bare, mut number) = (arm.name.clone(), 1);
            while before.iter().any(|other| other.name == arm.name) {
                number += 1;
                arm.name = format!("{bare}#{number}");
            }
        }
        Ok(arms)
    }

    fn parse(text: &str) -> Result<Self, ArmError> {
        let refused = |reason: &str| ArmError::Text { text: text.chars().take(200).collect(), reason: reason.to_owned() };
        let (name, settings) = text.split_once(':').unwrap_or((text, ""));
        let name = name.trim();
        let safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if !(1..=40).contains(&name.len()) || !name.bytes().all(safe) {
            return Err(refused("a name has 1 to 40 letters, digits, '-', '_' and '.'"));
        }
        let mut arm = Self { name: name.to_owned(), settings: Vec::new() };
        for words in split(settings) {
            let (key, value) = words.split_once('=').ok_or_else(|| refused("each setting is written SETTING=VALUE"))?;
            let (key, value) = (key.trim(), value.trim());
            if key.is_empty() || value.is_empty() {
                return Err(refused("a setting has a name and a value"));
            }
            let setting = Setting::parse(key, value).map_err(|error| ArmError::Setting { arm: arm.name.clone(), error })?;
            if arm.settings.iter().any(|other| other.name() == setting.name()) {
                return Err(ArmError::Twice { arm: arm.name, setting: setting.name() });
            }
            arm.settings.push(setting);
        }
        match factor_of(&arm.name).filter(|_| arm.settings.is_empty()) {
            Some(factor) => Err(ArmError::Level { arm: arm.name, factor }),
            None => Ok(arm),
        }
    }

    /// A cell with the arm's levels in place of its own.
    ///
    /// # Errors
    /// A level that the cell cannot take.
    pub fn apply(&self, cell: &Cell) -> Result<Cell, ArmError> {
        // A level that follows from others stands over them wherever it is written.
        let (derived, plain): (Vec<_>, Vec<_>) = self.settings.iter().filter_map(Setting::level).partition(|level| level.is_derived());
        cell.with(plain.into_iter().chain(derived)).map_err(|error| ArmError::Over {
            arm: self.name.clone(),
            cell: cell.to_string(),
            error,
        })
    }

    /// Returns what it sets other than the cell.
    pub fn host_settings(&self) -> HostSettings {
        HostSettings::new(&self.settings)
    }
}

/// The factor that a word is a level of, if it is one of those by which people name arms.
fn factor_of(word: &str) -> Option<Factor> {
    match CONGESTION_CONTROLS.contains(&word) {
        true => Some(Factor::Cc),
        false => BY_WORD.into_iter().find(|factor| Level::parse(*factor, word).is_ok()),
    }
}

/// The settings of an arm, which commas separate. A comma within a value is
/// written `\,`; what follows one and is a number or a range, as in
/// `cpus.a=0,2-3`, an agent's other address, or the other end's way of `api`, belongs to the
/// value before.
fn split(settings: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let goes_on = |part: &str| {
        let part = part.trim();
        ["data=", "sender:", "receiver:"].iter().any(|word| part.starts_with(word))
            || !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
    };
    let mut kept = false;
    for part in settings.split(',') {
        let (words, keeps) = part.strip_suffix('\\').map_or((part, false), |words| (words, true));
        match parts.last_mut() {
            Some(last) if kept || goes_on(part) => *last = format!("{last},{words}"),
            _ => parts.push(words.to_owned()),
        }
        kept = keeps;
    }
    parts.retain(|part| !part.trim().is_empty());
    parts
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.name)?;
        for (place, setting) in self.settings.iter().enumerate() {
            write!(f, "{} {setting}", if place == 0 { ":" } else { "," })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Arm, Setting};
    use crate::cell::Level;
    use crate::quantity::Bytes;
    use crate::{Api, Cell, Receive, Test};
    use proptest::prelude::proptest;

    fn arms(texts: &[&str]) -> Result<Vec<Arm>, String> {
        Arm::parse_all(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>()).map_err(|error| error.to_string())
    }

    #[test]
    fn arms_are_read_and_equal_names_numbered() {
        let read = arms(&["a", "a", "bbr: cc = bbr, sysctl.net.ipv4.tcp_wmem=4096 16384 65536"]).unwrap();
        assert_eq!(read.iter().map(|arm| arm.name.as_str()).collect::<Vec<_>>(), ["a", "a#2", "bbr"]);
        assert_eq!(read[2].settings[0].level(), Some(&Level::Cc("bbr".to_owned())));
        assert_eq!(read[2].to_string(), "bbr: cc=bbr, sysctl.net.ipv4.tcp_wmem=4096 16384 65536");
        assert!(arms(&[]).unwrap().is_empty());
    }

    #[test]
    fn a_value_may_hold_commas() {
        let read = arms(&["a", "b: cpus.a=0,2-3, before=printf 'x\\,y', nodelay=true"]).unwrap();
        let [Setting::Cpus { host, cpus }, Setting::Before(command), nodelay] = &read[1].settings[..] else { panic!("{read:?}") };
        assert_eq!((host.as_str(), cpus.as_slice(), command.as_str()), ("a", [0, 2, 3].as_slice(), "printf 'x,y'"));
        assert_eq!(nodelay.to_string(), "nodelay=true");
    }

    #[test]
    fn what_is_no_arm_is_refused() {
        assert!(arms(&["a"]).unwrap_err().contains("1 arm: a comparison takes 2 to 16"));
        assert!(arms(&["a", "b: cc"]).unwrap_err().contains("SETTING=VALUE"));
        assert!(arms(&["a", "b: cc="]).unwrap_err().contains("a name and a value"));
        assert!(arms(&["a", "b c"]).unwrap_err().contains("'b c' is no arm"));
        assert!(arms(&["a", "b: cc=reno, cc=cubic"]).unwrap_err().contains("arm 'b' sets cc twice"));
        assert!(arms(&["a", "b: nodeley=true"]).unwrap_err().contains("did you mean 'nodelay'?"));
    }

    #[test]
    fn a_name_that_is_a_level_is_asked_about() {
        for (name, setting) in [("cubic", "cc=cubic"), ("sendmmsg", "api=sendmmsg"), ("gro", "receive=gro"), ("ipv6", "family=ipv6")] {
            let error = arms(&["base", name]).unwrap_err();
            assert!(error.contains(&format!("did you mean '{name}: {setting}'?")) && error.contains("sets nothing"), "{error}");
            assert!(arms(&["base", &format!("{name}: {setting}")]).is_ok());
        }
        assert!(arms(&["base", "a", "old", "usual", "2", "local"]).is_ok());
    }

    #[test]
    fn the_way_of_receiving_is_a_setting() {
        let read = arms(&["a: api=exec:./ep.py, receive=recv", "b: receive=gro"]).unwrap();
        let cell = Cell::plain(Test::UdpStream, Bytes::new(64));
        let program = read[0].apply(&cell).unwrap();
        assert_eq!((program.api.program().map(|program| program.name()), program.receive()), (Some("exec:./ep.py"), Receive::Recv));
        assert_eq!(read[1].apply(&cell).unwrap().receive(), Receive::Gro);
        // A comma that would become part of the command.
        let error = arms(&["a: api=exec:./ep.py\\, receive=recv", "b"]).unwrap_err();
        assert!(error.contains("'receive=recv' would be an argument of the command"), "{error}");
    }

    #[test]
    fn an_arm_stands_over_the_cell() {
        let read = arms(&["a", "b: nodelay=true, sndbuf=64K, offload.gro=off", "c: stamp=true"]).unwrap();
        let cell = Cell::plain(Test::TcpStream, Bytes::new(64));
        assert_eq!(read[0].apply(&cell).unwrap(), cell);
        let set = read[1].apply(&cell).unwrap();
        assert_eq!(set.to_string(), "TCP_STREAM (nodelay, sndbuf=64K, gro off) 64 B");
        let error = read[2].apply(&cell).unwrap_err().to_string();
        assert!(error.starts_with("arm 'c' over the cell TCP_STREAM (nagle) 64 B: factor 'stamp'"), "{error}");
        // What means nothing to a cell leaves it as it was.
        let datagram = Cell::plain(Test::UdpStream, Bytes::new(64));
        assert_eq!(arms(&["a", "b: cc=reno"]).unwrap()[1].apply(&datagram).unwrap(), datagram);
    }

    #[test]
    fn a_batch_stands_wherever_it_is_written() {
        let ends = arms(&["a: api=sender:gso,receiver:recv, batch=8", "b"]).unwrap();
        let sent = ends[0].apply(&Cell::plain(Test::UdpStream, Bytes::new(64))).unwrap();
        assert_eq!((sent.api, sent.receive, sent.batch), (Api::Gso, Some(Receive::Recv), 8));
        let read = arms(&["a: batch=1, api=sendmmsg", "b: api=sendmmsg, batch=1"]).unwrap();
        let cell = Cell::plain(Test::UdpStream, Bytes::new(64));
        let [first, second] = [&read[0], &read[1]].map(|arm| arm.apply(&cell).unwrap());
        assert_eq!((first.batch, &first), (1, &second));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(texts in proptest::collection::vec("[a-c:=,# .0-9\\\\]{0,12}", 0..6)) {
            let _ = Arm::parse_all(&texts);
        }
    }
}
