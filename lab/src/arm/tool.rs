//! Another nettoll, whose endpoints run the trials of an arm.

use std::io;
use std::process::{Command, Stdio};

/// First word that every nettoll says of itself.
const NAME: &str = "nettoll ";

/// A program that is no nettoll that could be used.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// It cannot be run.
    #[error("running `{path} -V`: {answer}; tool= takes the path of a nettoll, as seen from where this one was started")]
    Run {
        /// Its path.
        path: String,
        /// Answer of the system.
        answer: io::Error,
    },
    /// It is something else.
    #[error("{path} is no nettoll: asked for its version it ended with {status} and said '{said}'")]
    NotNettoll {
        /// Its path.
        path: String,
        /// Its end.
        status: String,
        /// The first of what it said.
        said: String,
    },
}

/// The version that a program says it is, such as `0.1.0 (0123456789ab)`.
///
/// # Errors
/// See [`ToolError`].
pub fn version(path: &str) -> Result<String, ToolError> {
    let asked = Command::new(path).arg("-V").stdin(Stdio::null()).stderr(Stdio::null()).output();
    let output = asked.map_err(|answer| ToolError::Run { path: path.to_owned(), answer })?;
    let said = String::from_utf8_lossy(&output.stdout);
    let line: String = said.lines().next().unwrap_or_default().chars().take(120).collect();
    match line.strip_prefix(NAME) {
        Some(version) if output.status.success() => Ok(version.to_owned()),
        _ => Err(ToolError::NotNettoll { path: path.to_owned(), status: output.status.to_string(), said: line }),
    }
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn what_is_no_nettoll_is_said() {
        let error = version("/bin/true").unwrap_err().to_string();
        assert!(error.starts_with("/bin/true is no nettoll"), "{error}");
        assert!(version("/none/nettoll").unwrap_err().to_string().contains("No such file"));
    }
}
