//! Names of the running kernel, while modules and programs come and go.

use std::fs;
use std::os::fd::{AsFd, OwnedFd};

use crate::perf::{self, Attributes};
use crate::sampler::Layout;
use crate::sampler::record::{Record, Records};
use crate::sampler::ring::Ring;
use crate::symbols::{Change, MODULES, Symbols};
use model::Refusal;
use sys::cpu::online;
use sys::{errno_name, refused_call};

const MECHANISM: &str = "names of kernel programs that come and go";
const REMEDY: &str = "Programs that were loaded later have no name";

/// Room for some 200 programs on each CPU, between two looks.
const RING: usize = 16 << 10;

/// The kernel's names, and what tells of changes.
#[derive(Debug)]
pub struct KernelNames {
    modules: Vec<u8>,
    symbols: Symbols,
    news: Option<News>,
    refused: Option<Refusal>,
}

impl KernelNames {
    /// Reads the names. Takes some 30 ms.
    ///
    /// # Errors
    /// As [`Symbols::of_kernel`].
    pub fn read() -> Result<Self, Refusal> {
        // Before the list: no change falls between the two.
        let (news, refused) = News::open().map_or_else(|refusal| (None, Some(refusal)), |news| (Some(news), None));
        Ok(Self { modules: modules(), symbols: Symbols::of_kernel()?, news, refused })
    }

    /// Reads them again if any has changed: what comes from now on is a change of these. Before samples are taken.
    ///
    /// # Errors
    /// As [`Symbols::of_kernel`].
    pub fn refresh(&mut self) -> Result<(), Refusal> {
        let news = self.news.as_mut().map(News::take);
        let modules = modules();
        let changed = self.modules != modules || self.changes() > 0 || news.is_some_and(|news| news != Ok(Vec::new()));
        if changed {
            (self.modules, self.symbols) = (modules, Symbols::of_kernel()?);
        }
        Ok(())
    }

    /// Changes since the names were read.
    pub fn changes(&self) -> usize {
        self.symbols.moment(u64::MAX)
    }

    /// The names with every change since the last [`Self::refresh`], after samples were taken; `notes` gets why
    /// changes are missing, once.
    ///
    /// # Errors
    /// As [`Symbols::of_kernel`], where modules changed.
    pub fn up_to_date(&mut self, notes: &mut Vec<Refusal>) -> Result<&Symbols, Refusal> {
        let modules = modules();
        if self.modules != modules {
            (self.modules, self.symbols) = (modules, Symbols::of_kernel()?);
        }
        match self.news.as_mut().map(News::take) {
            Some(Ok(changes)) => self.symbols.take_changes(changes),
            Some(Err(refusal)) => notes.push(refusal),
            None => {}
        }
        notes.extend(self.refused.take());
        Ok(&self.symbols)
    }
}

/// Without the list no change shows; then it is read once.
fn modules() -> Vec<u8> {
    fs::read(MODULES).unwrap_or_default()
}

/// Records of code that the kernel makes and gives up, wherever that happens.
#[derive(Debug)]
struct News {
    places: Vec<(OwnedFd, Ring)>,
}

impl News {
    fn open() -> Result<Self, Refusal> {
        let cpus = online().map_err(|error| Refusal::new(MECHANISM, errno_name(&error), REMEDY))?;
        let open = |cpu: u32| {
            let event = perf::open(Attributes::of_records(perf::KERNEL_SYMBOLS), None, Some(cpu), None)?;
            let ring = Ring::map(event.as_fd(), RING)?;
            Ok((event, ring))
        };
        let places = cpus.into_iter().map(open).collect::<Result<_, _>>();
        let places = places.map_err(|error| refused_call(MECHANISM, "perf_event_open(DUMMY, ksymbol)", &error, REMEDY))?;
        Ok(Self { places })
    }

    /// Changes since the last call.
    fn take(&mut self) -> Result<Vec<Change>, Refusal> {
        let mut changes = Vec::new();
        let mut lost = false;
        for (_, ring) in &mut self.places {
            let bytes = ring.take().map_err(|error| refused_call(MECHANISM, "the ring of names", &error, REMEDY))?;
            for record in Records::new(&bytes, &Layout::default()) {
                match record {
                    Ok(Record::Symbol(symbol)) => changes.push(Change::from(symbol)),
                    Ok(Record::Lost(_)) | Err(_) => lost = true,
                    Ok(_) => {}
                }
            }
        }
        if lost { Err(Refusal::new(MECHANISM, "the ring had no room", "Repeat the trial")) } else { Ok(changes) }
    }
}
