//! Arms: named sets of settings that are compared with each other.

use serde::{Deserialize, Serialize};

/// The most arms of a study.
const MOST: usize = 16;

/// A named set of settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arm {
    /// Its name: 1 to 40 letters, digits, `-`, `_`, `.`.
    pub name: String,
    /// What is set in it, in the order in which it was written: name and value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<(String, String)>,
}

/// Arms that cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArmError {
    /// A text that is no arm.
    #[error("'{text}' is no arm: {reason}; write NAME, or NAME: SETTING=VALUE, SETTING=VALUE, such as 'bbr: cc=bbr'")]
    Text {
        /// What was written.
        text: String,
        /// What is wrong with it.
        reason: String,
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
        let pair = |setting: &str| {
            let (key, value) = setting.split_once('=').ok_or_else(|| refused("each setting is written SETTING=VALUE"))?;
            let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
            if key.is_empty() || value.is_empty() { Err(refused("a setting has a name and a value")) } else { Ok((key, value)) }
        };
        let settings = settings.split(',').map(str::trim).filter(|setting| !setting.is_empty()).map(pair).collect::<Result<_, _>>()?;
        Ok(Self { name: name.to_owned(), settings })
    }
}

#[cfg(test)]
mod tests {
    use super::Arm;
    use proptest::prelude::proptest;

    fn arms(texts: &[&str]) -> Result<Vec<Arm>, String> {
        Arm::parse_all(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>()).map_err(|error| error.to_string())
    }

    #[test]
    fn arms_are_read_and_equal_names_numbered() {
        let read = arms(&["a", "a", "bbr: cc = bbr, sysctl.net.ipv4.tcp_wmem=4096 16384 65536"]).unwrap();
        assert_eq!(read.iter().map(|arm| arm.name.as_str()).collect::<Vec<_>>(), ["a", "a#2", "bbr"]);
        assert_eq!(read[2].settings[1], ("sysctl.net.ipv4.tcp_wmem".to_owned(), "4096 16384 65536".to_owned()));
        assert!(arms(&[]).unwrap().is_empty());
    }

    #[test]
    fn what_is_no_arm_is_refused() {
        assert!(arms(&["a"]).unwrap_err().contains("1 arm: a comparison takes 2 to 16"));
        assert!(arms(&["a", "b: cc"]).unwrap_err().contains("SETTING=VALUE"));
        assert!(arms(&["a", "b: cc="]).unwrap_err().contains("a name and a value"));
        assert!(arms(&["a", "b c"]).unwrap_err().contains("'b c' is no arm"));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(texts in proptest::collection::vec("[a-c:=,# .]{0,12}", 0..6)) {
            let _ = Arm::parse_all(&texts);
        }
    }
}
