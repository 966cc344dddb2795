//! How far a study has come, on standard error, if that is a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lab::Event;
use model::Plan;

/// Drawn between trials only, so that nothing of it runs during one.
pub struct Progress {
    bar: ProgressBar,
    blocks: u32,
}

impl Progress {
    /// For all trials of a plan.
    pub fn new(plan: &Plan) -> Self {
        let trials = plan.cells.len() as u64 * u64::from(plan.blocks.most);
        let bar = ProgressBar::with_draw_target(Some(trials), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} trial {pos}/{len}, {eta} left") {
            bar.set_style(style);
        }
        Self { bar, blocks: plan.blocks.most }
    }

    /// Follows an event.
    pub fn hear(&self, event: &Event) {
        match event {
            Event::Opened { .. } | Event::BlockDone { .. } => {}
            Event::BlockStarted { block } => self.bar.set_message(format!("block {}/{}", block + 1, self.blocks)),
            Event::Trial(_) => self.bar.inc(1),
            Event::Closed { .. } => self.bar.finish_and_clear(),
        }
    }
}
