//! Progress of a study, on standard error, if that is a terminal. What
//! holds it up is said there in any case.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lab::Event;
use model::Plan;

use crate::output;

/// Drawn between trials only, so that nothing of it runs during one.
pub struct Progress {
    bar: ProgressBar,
    blocks: u32,
    /// Last reason given for why nothing goes on.
    held_up: Option<String>,
}

impl Progress {
    /// For all trials of a plan.
    pub fn new(plan: &Plan) -> Self {
        let trials = plan.trials();
        let bar = ProgressBar::with_draw_target(Some(trials), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} trial {pos}/{len}, {eta} left") {
            bar.set_style(style);
        }
        Self { bar, blocks: plan.blocks.most, held_up: None }
    }

    /// Follows an event.
    pub fn hear(&mut self, event: &Event) {
        match event {
            Event::Opened { control: Some(path), .. } => {
                self.say(&format!("the hosts are {} away; what a trial sent is waited for up to {}", path.rtt, path.silence));
            }
            Event::Opened { .. } | Event::BlockDone { .. } | Event::Progress { .. } => {}
            Event::Resumed { trials, .. } => {
                self.say(&format!("going on after {trials} trials"));
                // What was done before says nothing about how long the rest takes.
                self.bar.set_position(*trials);
                self.bar.reset_eta();
            }
            Event::Waiting { host, place } => {
                let trials = if *place == 1 { "1 trial comes".to_owned() } else { format!("{place} trials come") };
                self.hold_up(format!("host {host} serves somebody else: {trials} before ours"));
            }
            Event::Lost { error, attempt, of, .. } => self.hold_up(format!("{error}; looking for it again, attempt {attempt} of {of}")),
            Event::BlockStarted { block } => self.bar.set_message(format!("block {}/{}", block + 1, self.blocks)),
            Event::Trial(_) => {
                self.held_up = None;
                self.bar.inc(1);
            }
            Event::Closed { .. } => self.bar.finish_and_clear(),
        }
    }

    /// Says why nothing goes on, each reason once.
    fn hold_up(&mut self, reason: String) {
        if self.held_up.as_ref() != Some(&reason) {
            self.say(&reason);
            self.held_up = Some(reason);
        }
    }

    fn say(&self, words: &str) {
        self.bar.suspend(|| output::note(words));
    }
}
