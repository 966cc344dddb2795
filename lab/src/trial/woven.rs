//! One instance of a woven trial: the trials of all arms begun, led through rounds of slices, and ended.

mod baton;

use std::io;
use std::time::Instant;

use engine::woven::Board;
use model::woven::{SAMPLED, Slice, SliceTimes};

use super::observe::switch_samplers;
use super::{Begun, Both, Done, Trial, TrialSpec, draw_cookie, longest};
use crate::error::TrialError;
use crate::event::Quiet;
use crate::remote::{HostError, RemoteHost};
use crate::session::{Session, turn};

use baton::{Baton, WovenCell};

/// An arm of an instance: its hosts, and its trial.
pub(crate) struct WovenArm<'a> {
    /// Its hosts.
    pub session: &'a mut Session,
    /// Its trial; [`TrialSpec::woven`] is set here.
    pub spec: TrialSpec<'a>,
}

/// An instance that was carried out.
#[derive(Debug)]
pub(crate) struct Woven {
    /// The trial of each arm over its whole time.
    pub arms: Vec<Done>,
    /// All slices, in the order of time.
    pub slices: Vec<Slice>,
    /// The system's answer where the controller may not come before the ends.
    pub not_first: Option<io::Error>,
}

/// What came of an instance that failed.
#[derive(Debug)]
pub(crate) struct Torn {
    /// The arm that it failed by, by its place; `None` where that is not known.
    pub arm: Option<usize>,
    /// The reason.
    pub error: TrialError,
    /// Slices by then.
    pub slices: Vec<Slice>,
}

/// Carries out an instance. `order` gives the order of arms in each round. An arm whose pass samples is alone, and takes
/// the turns of as many arms as [`SAMPLED`] has states: the samplers of its ends are switched between slices.
///
/// # Errors
/// What kept it from being carried out to its end. No endpoint is left, unless a host is lost.
pub(crate) fn run(
    board: &Board,
    arms: Vec<WovenArm>,
    times: SliceTimes,
    order: impl FnMut(u32) -> Vec<usize> + Send,
) -> Result<Woven, Box<Torn>> {
    let mut slices = Vec::new();
    let mut quiet: Vec<Quiet> = arms.iter().map(|_| Quiet).collect();
    let (mut sessions, specs): (Vec<&mut Session>, Vec<TrialSpec>) = arms.into_iter().map(|arm| (arm.session, arm.spec)).unzip();
    let came = carry_out(board, &mut sessions, &specs, &mut quiet, times, order, &mut slices);
    came.map_err(|Failure { arm, error }| {
        let error = stop_all(&mut sessions, error);
        Box::new(Torn { arm, error, slices: std::mem::take(&mut slices) })
    })
    .map(|woven| Woven { slices, ..woven })
}

/// An instance that failed.
struct Failure {
    arm: Option<usize>,
    error: TrialError,
}

impl From<TrialError> for Failure {
    fn from(error: TrialError) -> Self {
        Self { arm: None, error }
    }
}

impl From<HostError> for Failure {
    fn from(error: HostError) -> Self {
        TrialError::from(error).into()
    }
}

/// The failure of an arm.
const fn by_arm(arm: usize) -> impl Fn(TrialError) -> Failure {
    move |error| Failure { arm: Some(arm), error }
}

fn carry_out(
    board: &Board,
    sessions: &mut [&mut Session],
    specs: &[TrialSpec],
    quiet: &mut [Quiet],
    times: SliceTimes,
    order: impl FnMut(u32) -> Vec<usize> + Send,
    slices: &mut Vec<Slice>,
) -> Result<Woven, Failure> {
    let mut trials = Vec::new();
    let mut cells = Vec::new();
    // The first seat that no thread has.
    let mut free = 0;
    for ((session, spec), quiet) in sessions.iter_mut().zip(specs).zip(quiet) {
        let threads = spec.cell.threads();
        let first = Both { sender: free, receiver: free + threads };
        free = first.receiver + threads;
        let woven = board.seat(first.sender).zip(board.seat(first.receiver)).map(|(sender, receiver)| Both { sender, receiver });
        let (spec, limit) = (TrialSpec { woven, ..*spec }, longest(spec));
        let cell = WovenCell::new(spec.cell, first);
        for flow in &cell.flows {
            let orders = flow.first_orders();
            board.clear(flow.seats.sender, orders.sender);
            board.clear(flow.seats.receiver, orders.receiver);
        }
        let turns = if spec.pass.samples() { SAMPLED.len() } else { 1 };
        cells.extend(std::iter::repeat_n(cell, turns));
        trials.push(Trial { session, spec, cookie: draw_cookie()?, listener: quiet, limit, end: Instant::now() + limit, together: None });
    }
    // The processes of all arms start at once.
    for trial in &mut trials {
        let first = trial.first_commands()?;
        for (host, commands) in trial.session.hosts().iter_mut().zip(&first) {
            host.tell_ahead(commands)?;
        }
    }
    let begin = |(arm, trial): (usize, &mut Trial)| trial.begin().map_err(by_arm(arm));
    let mut begun = trials.iter_mut().enumerate().map(begin).collect::<Result<Vec<Begun>, Failure>>()?;
    let end = |(trial, begun): (&Trial, &Begun)| match trial.spec.end {
        model::plan::TrialEnd::Length(length) => begun.opens + length,
        model::plan::TrialEnd::Messages(_) => begun.opens,
    };
    let until = trials.iter().zip(&begun).map(end).min().unwrap_or_default();
    let mut order = order;
    let is_sampled = trials.first().is_some_and(|trial| trial.spec.pass.samples());
    // The session alone: no listener goes to another thread.
    let mut switched = trials.first_mut().filter(|_| is_sampled).map(|trial| (&mut *trial.session, trial.spec.swapped));
    let mut switch = |on| switched.as_mut().map_or(Ok(()), |(session, swapped)| switch_samplers(session, *swapped, on));
    let mut before = |arm: usize| switch(SAMPLED.get(arm).copied().flatten()).map_err(TrialError::from);
    // On a thread of its own: its priority goes with it.
    let (woven, not_first) = std::thread::scope(|scope| {
        let led = scope.spawn(|| {
            let not_first = baton::come_first().err();
            let baton = Baton::new(board, &cells, times, not_first.is_some());
            (baton.weave(until, &mut order, &mut before, slices), not_first)
        });
        led.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    if let Err((arm, error)) = woven {
        // The states of sampled slices have one trial.
        let arm = if is_sampled { 0 } else { arm };
        // An end that failed says why, and its silence does not.
        let error = trials[arm].failure_of_end().unwrap_or(error);
        return Err(Failure { arm: Some(arm), error });
    }
    // Samplers of whole CPUs would sample the next trial.
    switch(None)?;
    // The receivers of all arms wait at once for what may still come.
    for (arm, (trial, begun)) in trials.iter_mut().zip(&mut begun).enumerate() {
        trial.announce_end(begun).map_err(by_arm(arm))?;
    }
    let mut done = Vec::new();
    for (arm, (trial, begun)) in trials.into_iter().zip(begun).enumerate() {
        let (measured, warnings) = trial.finish(begun).map_err(by_arm(arm))?;
        done.push(Done { measured, warnings });
    }
    Ok(Woven { arms: done, slices: Vec::new(), not_first })
}

/// Ends the endpoints of all arms; returns the loss of a host where one comes of it.
fn stop_all(sessions: &mut [&mut Session], error: TrialError) -> TrialError {
    let mut error = error;
    for session in sessions {
        let hosts = session.hosts();
        let stopped = hosts.iter_mut().try_for_each(RemoteHost::stop_endpoint);
        let stopped = stopped.and_then(|()| hosts.iter_mut().try_for_each(RemoteHost::stopped));
        if let (Err(lost), false) = (stopped, error.is_loss_of_host()) {
            error = lost.into();
        }
        turn::give_back(session);
    }
    error
}
