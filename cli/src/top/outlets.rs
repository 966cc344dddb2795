//! Where the figures of `nettoll top` go while it runs: counters to an address that is scraped and to a file that another
//! program reads, windows to a recording.

use std::path::PathBuf;

use ::report::top::{MetricsForm, OPEN_METRICS_TYPE, metrics};
use analysis::top::{Counters, Machine, STRETCHES};
use lab::top::MetricsServer;
use store::RecordingDirectory;

use super::recording;
use super::screen::can_show;
use crate::args::TopArgs;
use crate::exit::Failure;
use crate::{output, version};

/// The outlets of one `nettoll top`.
#[derive(Debug)]
pub struct Outlets {
    counters: Counters,
    server: Option<MetricsServer>,
    textfile: Option<Textfile>,
    recording: Option<Windows>,
}

/// A recording.
#[derive(Debug)]
struct Windows {
    directory: RecordingDirectory,
    /// Stretches since the last window.
    stretches: usize,
    /// True where the last window was not stored: it is said once.
    has_failed: bool,
}

/// A file of counters.
#[derive(Debug)]
struct Textfile {
    path: PathBuf,
    /// Stretches since it was written.
    stretches: usize,
    /// True once it was written: from then on a failure is a note.
    is_written: bool,
    /// True where the last attempt failed: it is said once.
    has_failed: bool,
}

impl Outlets {
    /// Opens those that the user wants, and says where they are.
    ///
    /// # Errors
    /// An address that other machines reach, without leave; an answer of the system.
    pub fn open(top: &TopArgs) -> Result<Self, Failure> {
        let args = &top.counters;
        let counters = Counters::default();
        let server = args.listen.map(|address| -> Result<MetricsServer, Failure> {
            if !(address.ip().is_loopback() || args.expose) {
                let words = format!("--listen {address}: other machines reach this address, and would read the names of units");
                return Err(Failure::misuse(format!("{words}; take 127.0.0.1, or add --expose")));
            }
            let page = metrics(&counters, version::SHORT, MetricsForm::OpenMetrics);
            let server = MetricsServer::open(address, OPEN_METRICS_TYPE, &page).map_err(anyhow::Error::from)?;
            output::note(&format!("counters are at http://{}/metrics", server.address()));
            if args.expose && !address.ip().is_loopback() {
                output::note("every machine that reaches this address reads the names of units; a firewall keeps strangers out");
            }
            Ok(server)
        });
        let textfile = args.textfile.clone().map(|path| Textfile { path, stretches: STRETCHES, is_written: false, has_failed: false });
        let server = server.transpose()?;
        let recording = top.record.record.then(|| recording::create(&top.record)).transpose()?;
        let recording = recording.map(|directory| Windows { directory, stretches: 0, has_failed: false });
        Ok(Self { counters, server, textfile, recording })
    }

    /// Returns whether there is any.
    pub const fn are_open(&self) -> bool {
        self.server.is_some() || self.textfile.is_some() || self.recording.is_some()
    }

    /// Counts the last stretch of a machine, and offers the sums.
    ///
    /// # Errors
    /// A file that cannot be written the first time.
    pub fn add(&mut self, machine: &Machine<'_>) -> anyhow::Result<()> {
        if !self.are_open() {
            return Ok(());
        }
        machine.count(&mut self.counters);
        if let Some(server) = &self.server {
            server.publish(&metrics(&self.counters, version::SHORT, MetricsForm::OpenMetrics));
        }
        if let Some(file) = &mut self.textfile {
            file.add(&self.counters)?;
        }
        if let Some(windows) = &mut self.recording {
            windows.stretches += 1;
            if windows.stretches == STRETCHES {
                windows.stretches = 0;
                let failed = recording::append(&mut windows.directory, machine).err();
                if let Some(error) = failed.as_ref().filter(|_| !(windows.has_failed || can_show())) {
                    output::note(&format!("{error}; the next window is tried again"));
                }
                windows.has_failed = failed.is_some();
            }
        }
        Ok(())
    }
}

impl Textfile {
    /// Writes the file where its last version is as old as a window.
    fn add(&mut self, counters: &Counters) -> anyhow::Result<()> {
        self.stretches += 1;
        if self.stretches < STRETCHES {
            return Ok(());
        }
        self.stretches = 0;
        let written = store::write_counters(&self.path, &metrics(counters, version::SHORT, MetricsForm::Prometheus));
        match written {
            Ok(()) => (self.is_written, self.has_failed) = (true, false),
            Err(error) if !self.is_written => return Err(error.into()),
            Err(error) if !self.has_failed => {
                self.has_failed = true;
                // A screen has no room for it; the file's age says it.
                if !can_show() {
                    output::note(&format!("{error}; it is tried again every {STRETCHES} s"));
                }
            }
            Err(_) => {}
        }
        Ok(())
    }
}
