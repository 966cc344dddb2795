// SPDX-License-Identifier: GPL-2.0-or-later
//! The options of the plugin: `-plugin FILE,symbols=FILE,out=FILE[,lines=on]...`

use std::ffi::{CStr, c_char};
use std::path::PathBuf;

/// What to count, and where files are.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The kernel's functions.
    pub symbols: PathBuf,
    /// What is written.
    pub out: PathBuf,
    /// Count by callbacks instead of inline code: slower, and another way of counting.
    pub executions_by_callback: bool,
    /// Count loads and stores by callbacks: right where QEMU's filter of them is not.
    pub accesses_by_callback: bool,
    /// Count cache lines.
    pub lines: bool,
}

impl Options {
    /// Reads what QEMU was started with.
    ///
    /// # Safety
    /// `arguments` has `count` C strings.
    pub unsafe fn read(count: i32, arguments: *const *const c_char) -> Result<Self, String> {
        let mut options = Self::default();
        for place in 0..usize::try_from(count).unwrap_or(0) {
            // SAFETY: as promised.
            let text = unsafe { CStr::from_ptr(*arguments.add(place)) }.to_string_lossy().into_owned();
            let (key, value) = text.split_once('=').ok_or_else(|| format!("'{text}' is no option"))?;
            match (key, value) {
                ("symbols", path) => options.symbols = path.into(),
                ("out", path) => options.out = path.into(),
                ("executions", "callback") => options.executions_by_callback = true,
                ("accesses", "callback") => options.accesses_by_callback = true,
                ("lines", "on") => options.lines = true,
                _ => return Err(format!("'{text}' is no option")),
            }
        }
        Ok(options)
    }
}
