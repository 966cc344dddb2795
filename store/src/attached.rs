//! Attached runs: the directory of a program that was observed.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};

use model::attach::{ATTACH_FORMAT, Attachment, WindowRecord};
use model::json::{self, Layout};

use crate::directory::{make_unique, pretty, unwritable, write_line};
use crate::error::StoreError;
use crate::file;
use crate::layout;
use crate::line::{self, BadLine, Cut, LONGEST_LINE};
use crate::reader::read_head;

/// Word in the name of every attached run.
const NAME: &str = "attach";

/// Bytes of the windows that are read at once.
const BUFFER: usize = 64 << 10;

/// The directory of an attached run that is being written.
#[derive(Debug)]
pub struct AttachedDirectory {
    path: PathBuf,
    id: String,
    windows: File,
}

impl AttachedDirectory {
    /// Makes one below `root`, which is made too where it is not there. `started_ms` counts from
    /// 1970 (UTC).
    ///
    /// # Errors
    /// When the system refuses.
    pub fn create(root: &Path, started_ms: u64) -> Result<Self, StoreError> {
        fs::create_dir_all(root).map_err(StoreError::refused("make the directory", root))?;
        let (path, id) = make_unique(root, NAME, started_ms)?;
        let place = path.join(layout::WINDOWS);
        let windows =
            OpenOptions::new().append(true).create_new(true).open(&place).map_err(StoreError::refused("make the file", &place))?;
        Ok(Self { path, id, windows })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name of the run.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Writes `attach.json`, in one step.
    ///
    /// # Errors
    /// When the system refuses; an earlier one stays.
    pub fn write_head(&self, run: &Attachment) -> Result<(), StoreError> {
        file::replace(&self.path.join(layout::ATTACHED), &pretty("attach.json", run)?)
    }

    /// Stores one window: one `write` of one whole line.
    ///
    /// # Errors
    /// When the disk refuses; the windows before are intact.
    pub fn append(&mut self, window: &WindowRecord) -> Result<(), StoreError> {
        let mut bytes = json::write(window, Layout::COMPACT).map_err(unwritable("a window"))?;
        bytes.push(b'\n');
        if bytes.len() > LONGEST_LINE {
            return Err(StoreError::TooLong { length: bytes.len() });
        }
        write_line(&mut self.windows, &bytes).map_err(StoreError::refused("write a window to", &self.path.join(layout::WINDOWS)))
    }
}

/// Keeps what is advised to the program, and returns its place.
///
/// # Errors
/// When the system refuses.
pub fn write_advice(path: &Path, text: &str) -> Result<PathBuf, StoreError> {
    let place = path.join(layout::ADVICE);
    file::replace(&place, text.as_bytes())?;
    Ok(place)
}

/// Reads an attached run: its head, its windows, and the lines that are damaged.
///
/// # Errors
/// When it is none, or another version wrote it.
pub fn read_attached(path: &Path) -> Result<(Attachment, Vec<WindowRecord>, Vec<BadLine>), StoreError> {
    let run = read_head(path)?;
    let place = path.join(layout::WINDOWS);
    let mut input = file::open_lines(&place, BUFFER)?;
    let (mut windows, mut bad, mut text) = (Vec::new(), Vec::new(), Vec::new());
    for number in 1.. {
        let read = match line::cut(&mut input, &mut text) {
            Ok(Cut::End) => break,
            Ok(Cut::Line { .. }) => parse_window(&text),
            Ok(Cut::TooLong) => Err(format!("longer than {} MiB", LONGEST_LINE >> 20)),
            Err(error) => {
                bad.push(BadLine { line: number, reason: error.to_string() });
                break;
            }
        };
        match read {
            Ok(window) => windows.push(window),
            Err(reason) => bad.push(BadLine { line: number, reason }),
        }
    }
    Ok((run, windows, bad))
}

/// The window that a line holds.
///
/// # Errors
/// Why it holds none.
pub fn parse_window(line: &[u8]) -> Result<WindowRecord, String> {
    let window: WindowRecord = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    if window.format != ATTACH_FORMAT {
        return Err(format!("format version {}, but this build of nettoll reads version {ATTACH_FORMAT}", window.format));
    }
    if window.window.end < window.window.start {
        return Err("a window that ends before it starts".to_owned());
    }
    Ok(window)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::{AttachedDirectory, read_attached};
    use crate::is_attached;
    use model::Nanos;
    use model::attach::{ATTACH_FORMAT, Attachment, Clocks, Look, WindowRecord};
    use model::end::Window;
    use model::run::Status;

    fn head(id: &str) -> Attachment {
        Attachment {
            format: ATTACH_FORMAT,
            id: id.to_owned(),
            started_ms: 1,
            tool: "0".to_owned(),
            status: Status::Running,
            target: "pid 1".to_owned(),
            program: "x".to_owned(),
            arguments: None,
            requests: "sends".to_owned(),
            window: Nanos::new(1),
            period: 1,
            sample_cost: None,
            wakeups: None,
            seed: 1,
            kernel: String::new(),
            cpus: 1,
            irq_time_subtracted: None,
            affinity: Vec::new(),
            peer_affinity: Vec::new(),
            arms: Vec::new(),
            refused: Vec::new(),
        }
    }

    #[test]
    fn windows_are_read_again_and_damage_costs_only_itself() {
        let root = tempfile::tempdir().unwrap();
        let mut directory = AttachedDirectory::create(root.path(), 1).unwrap();
        directory.write_head(&head(directory.id())).unwrap();
        let window = WindowRecord::new(0, Look::Clean, Window::default(), Clocks::default());
        directory.append(&window).unwrap();
        std::fs::OpenOptions::new().append(true).open(directory.path().join("windows.jsonl")).unwrap().write_all(b"{\"torn\n").unwrap();
        directory.append(&window).unwrap();
        let (run, windows, bad) = read_attached(directory.path()).unwrap();
        assert_eq!((run.id.as_str(), windows.len(), bad.len(), bad[0].line), (directory.id(), 2, 1, 2));
        assert!(is_attached(directory.path()) && !is_attached(root.path()));
        assert_eq!(crate::find(root.path(), std::path::Path::new("latest")).unwrap(), directory.path());
        assert_eq!(crate::paths(root.path()).unwrap(), [directory.path()]);
        assert!(crate::list(root.path()).unwrap().is_empty(), "it is no run of a study");
    }

    #[test]
    fn another_version_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let directory = AttachedDirectory::create(root.path(), 1).unwrap();
        directory.write_head(&Attachment { format: 9, ..head("x") }).unwrap();
        assert!(read_attached(directory.path()).unwrap_err().to_string().contains("version 9"));
    }
}
