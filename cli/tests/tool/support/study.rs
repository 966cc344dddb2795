//! A study that was run once, for many claims.

use super::stored::Stored;
use super::tool::Tool;

/// What is left of a study.
pub struct Study {
    /// Its directory, for further commands.
    pub tool: Tool,
    /// The run that it stored.
    pub stored: Stored,
    /// What it printed.
    pub text: String,
}

impl Study {
    /// Runs a plan, given as text.
    pub fn of(plan: &str) -> Self {
        let tool = Tool::new();
        let text = tool.study(plan, &[]).done().stdout;
        let stored = tool.stored();
        Self { tool, stored, text }
    }
}
