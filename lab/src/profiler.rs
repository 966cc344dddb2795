//! A host's view of its endpoint in a pass that is not clean: what is switched
//! on before the messages flow, and what it saw when they are over.
//!
//! While messages flow nothing of it runs in this process: the kernel samples
//! and counts into memory that is read afterwards.

use model::control::Observe;
use model::end::Window;
use model::profile::{Observation, Waits};
use model::{Nanos, Pass, Refusal};
use profile::Who;
use profile::counts::{CallCounter, FUNCTIONS, TRACEPOINTS};
use profile::kernel_names::KernelNames;
use profile::sampler::Target;
use profile::symbols::Symbols;
use profile::waits::WaitRecorder;
use profile::watch::{self, Subject};

/// Longest time that memory is set aside for. A longer trial's end loses samples,
/// and says so.
pub const LONGEST: Nanos = Nanos::from_millis(20_000);

/// Instrument that is switched on.
enum Watch {
    /// Of a process.
    Time(watch::Watch, u32),
    Wait(Box<WaitRecorder>),
    Count(CallCounter),
}

/// Watches the endpoints of one host, one trial at a time.
#[derive(Default)]
pub struct EndpointProfiler {
    watch: Option<Watch>,
    refused: Vec<Refusal>,
    names: Option<KernelNames>,
}

impl EndpointProfiler {
    /// Watches the process `pid`, whose traffic threads are still to start; `working` is called
    /// whenever a step of many is done.
    ///
    /// # Errors
    /// When nothing of what the pass is made for is available on this host.
    pub fn start(&mut self, pid: u32, observe: &Observe, working: &mut dyn FnMut()) -> Result<(), Refusal> {
        self.stop(working);
        let who = Who::Workers(pid);
        let watch = match observe.pass {
            Pass::Clean => return Ok(()),
            Pass::Time | Pass::TimeReceiver => self.sample(pid, observe),
            Pass::Wait => WaitRecorder::open(who, observe.longest.min(LONGEST)).map(|recorder| Watch::Wait(Box::new(recorder))),
            Pass::Count => CallCounter::open(who, TRACEPOINTS, FUNCTIONS, working).map(Watch::Count),
        };
        self.watch = Some(watch?);
        Ok(())
    }

    /// Switches the samplers of the pass on or off.
    ///
    /// # Errors
    /// When there are none, or the kernel refuses.
    pub fn switch(&self, on: bool) -> Result<(), Refusal> {
        match &self.watch {
            Some(Watch::Time(watch, _)) => watch.switch(on),
            _ => Err(Refusal::new("switch a sampler on or off", "the endpoint has none", "a fault of the controller")),
        }
    }

    /// Ends what is switched on, unread.
    pub fn stop(&mut self, working: &mut dyn FnMut()) {
        if let Some(Watch::Count(counter)) = self.watch.take() {
            counter.close(working);
        }
        self.refused.clear();
    }

    /// Returns what was seen, of which the window is the measured part. The endpoint may be gone.
    pub fn finish(&mut self, window: Window, threads: &[u32], working: &mut dyn FnMut()) -> Observation {
        let mut seen = Observation { refused: std::mem::take(&mut self.refused), ..Observation::default() };
        let outcome = match self.watch.take() {
            None => Ok(()),
            Some(Watch::Time(watch, process)) => {
                let sampled = self.symbols(&mut seen.refused).and_then(|symbols| watch.finish(&[process], symbols, window, None));
                sampled.map(|sampled| {
                    (seen.profile, seen.counters, seen.ksoftirqd) = (Some(sampled.profile), sampled.counters, sampled.kernel_threads);
                })
            }
            Some(Watch::Wait(recorder)) => followed(*recorder, window, threads, &mut seen),
            Some(Watch::Count(counter)) => {
                seen.counts = Some(counter.counts());
                seen.refused.extend(counter.notes().iter().cloned());
                counter.close(working);
                Ok(())
            }
        };
        if let Err(refusal) = outcome {
            seen.refused.push(refusal);
        }
        seen
    }

    fn sample(&mut self, process: u32, observe: &Observe) -> Result<Watch, Refusal> {
        // Addresses without names are no receipt: better to know now.
        match &mut self.names {
            Some(names) => names.refresh()?,
            None => self.names = Some(KernelNames::read()?),
        }
        let subject = Subject {
            process,
            cpus: observe.cpus.iter().map(|place| place.cpu).collect(),
            tasks: vec![Target::Process(process)],
            kernel_threads: observe.cpus.iter().filter_map(|place| place.ksoftirqd).collect(),
            period: observe.period.get(),
            longest: observe.longest.min(LONGEST),
        };
        Ok(Watch::Time(watch::Watch::start(&subject, &mut self.refused)?, process))
    }

    fn symbols(&mut self, notes: &mut Vec<Refusal>) -> Result<&Symbols, Refusal> {
        let names = match self.names.take() {
            Some(names) => names,
            None => KernelNames::read()?,
        };
        self.names.insert(names).up_to_date(notes)
    }
}

/// The waits of all traffic threads: with their CPU time they add up to the time of each thread.
fn followed(recorder: WaitRecorder, window: Window, threads: &[u32], seen: &mut Observation) -> Result<(), Refusal> {
    let log = recorder.finish()?;
    let waits = threads.iter().map(|thread| log.waits(*thread, window)).collect::<Result<Vec<Waits>, Refusal>>()?;
    seen.waits = waits.into_iter().reduce(Waits::and);
    Ok(())
}
