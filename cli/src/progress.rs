//! Progress of a study, on standard error, if that is a terminal. What
//! holds it up is said there in any case.

use std::net::IpAddr;

use analysis::stopping::Observer;
use analysis::stopping::WovenObserver;
use analysis::verdict::Gate;
use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lab::Event;
use model::printable::{Keep, printable};
use model::schedule::{self, Block};
use model::{Plan, TrialRecord};

use crate::output;

/// Draws a second: more than there are trials, so that none is left out.
const DRAWS: u8 = 60;

/// Drawn between trials only: nothing runs for it during one.
pub struct Progress {
    bar: ProgressBar,
    plan: Plan,
    /// Trials so far; tells how well the cells are known.
    seen: Observer,
    /// The block that runs.
    block: Option<Block>,
    /// Slices so far, of woven arms.
    woven: Option<WovenObserver>,
    /// Cells within the precision asked for, after the last block, and all that can be known.
    within: Option<(usize, usize)>,
    waits: Waits,
}

/// Reasons for which nothing goes on, each once.
#[derive(Debug, Default)]
pub struct Waits(Option<String>);

impl Waits {
    /// The reason that an event gives, where it is another than the last.
    pub fn reason(&mut self, event: &Event) -> Option<String> {
        let reason = match event {
            Event::Waiting { host, place } => {
                let trials = if *place == 1 { "1 trial comes".to_owned() } else { format!("{place} trials come") };
                format!("host {host} is busy with another controller: {trials} before ours")
            }
            Event::Lost { error, attempt, of, .. } => format!("{error}; looking for it again, attempt {attempt} of {of}"),
            Event::Trial(_) => {
                self.0 = None;
                return None;
            }
            _ => return None,
        };
        (self.0.as_ref() != Some(&reason)).then(|| self.0.insert(reason).clone())
    }
}

/// Says which addresses nettoll found for the messages of two hosts.
pub fn found([a, b]: [IpAddr; 2]) -> String {
    format!("messages go between {a} (host a) and {b} (host b); data=ADDRESS behind a host's place names another")
}

impl Progress {
    /// For all trials of a plan; `seen` has those that were measured before.
    pub fn new(plan: &Plan, seen: Observer) -> Self {
        let bar = ProgressBar::with_draw_target(Some(plan.trials()), ProgressDrawTarget::term(Term::stderr(), DRAWS));
        if let Ok(style) = ProgressStyle::with_template("{prefix} trial {pos}/{len}, {eta} left  {wide_msg}") {
            bar.set_style(style);
        }
        let (within, woven) = (seen.within(), plan.woven.then(|| WovenObserver::new(plan, &Gate::default())));
        Self { bar, plan: plan.clone(), seen, woven, block: None, within, waits: Waits::default() }
    }

    /// Follows an event.
    pub fn hear(&mut self, event: &Event) {
        if let Some(reason) = self.waits.reason(event) {
            self.say(&reason);
        }
        match event {
            Event::Opened { control: Some(path), between, .. } => {
                between.iter().for_each(|pair| self.say(&found(*pair)));
                self.say(&format!("the hosts are {} away; what a trial sent is waited for up to {}", path.rtt, path.silence));
            }
            Event::Opened { .. } | Event::Connected { .. } | Event::Progress { .. } | Event::Tick => {}
            Event::Reaching { done, of } => self.bar.set_message(format!("{done} of {of} hosts have answered")),
            Event::Slices { group, instance, slices } => {
                if let Some(woven) = self.woven.as_mut().filter(|_| !self.bar.is_hidden()) {
                    woven.push_slices(*group, *instance, slices);
                }
            }
            Event::BlockDone { .. } => self.within = self.seen.within(),
            Event::Resumed { trials, .. } => {
                self.say(&format!("going on after {trials} trials"));
                // What was done before says nothing about how long the rest takes.
                self.bar.set_position(*trials);
                self.bar.reset_eta();
            }
            Event::Waiting { .. } | Event::Lost { .. } | Event::Look(_) => {}
            Event::BlockStarted { block } if self.plan.fleet.is_some() => {
                self.bar.set_prefix(format!("round {}/{}", block + 1, self.plan.blocks.most));
                self.bar.set_message("");
            }
            Event::BlockStarted { block } if self.plan.woven => {
                self.bar.set_prefix(format!("instance {}/{}", block + 1, self.plan.blocks.most));
                let widest = self.woven.as_ref().and_then(WovenObserver::widest);
                self.bar.set_message(widest.map_or_else(String::new, |widest| format!("changes within ±{:.1} %", 100.0 * widest)));
            }
            Event::BlockStarted { block } => {
                self.block = Some(schedule::block(self.plan.seed, *block, self.plan.shape()));
                self.draw(0);
            }
            Event::Trial(record) => {
                self.take_note(record);
                self.bar.inc(1);
                self.draw(record.position as usize + 1);
            }
            Event::Closed { .. } => self.bar.finish_and_clear(),
        }
    }

    /// Notes a trial; what the terminal shows of a machine that nobody watches costs nothing.
    fn take_note(&mut self, record: &TrialRecord) {
        if !self.bar.is_hidden() {
            self.seen.push(record);
        }
    }

    /// Shows the trial that comes next: nothing is drawn before it ends.
    fn draw(&self, next: usize) {
        if self.bar.is_hidden() {
            return;
        }
        let Some(block) = &self.block else { return };
        self.bar.set_prefix(format!("block {}/{}", block.index + 1, self.plan.blocks.most));
        let within = self.within.map(|(met, all)| {
            let wanted = (self.plan.blocks.interval * 1e4).round() / 100.0;
            format!("{met} of {all} cells within ±{wanted} %; ")
        });
        let cell = block.order.get(next).map(|slot| {
            let arm = self.plan.arms.get(slot.arm).map_or_else(String::new, |arm| format!(" in {}", arm.name));
            format!("now {}{arm}", self.plan.cells[slot.cell])
        });
        let text = format!("{}{}", within.unwrap_or_default(), cell.unwrap_or_default());
        self.bar.set_message(printable(&text, Keep::Nothing).into_owned());
    }

    fn say(&self, words: &str) {
        self.bar.suspend(|| output::note(words));
    }
}
