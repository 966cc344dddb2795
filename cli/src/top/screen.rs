//! The terminal of `nettoll top`: taken, drawn on, and given back however the program ends.

use std::env;
use std::io::{self, BufWriter, IsTerminal, Stdout, stdin, stdout};
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::sync::{Arc, Once};
use std::time::Duration;

use analysis::top::Snapshot;
use anyhow::Context;
use ratatui_core::backend::Backend;
use ratatui_core::layout::Rect;
use ratatui_core::terminal::{Terminal, TerminalOptions, Viewport};
use ratatui_crossterm::CrosstermBackend;
use ratatui_crossterm::crossterm::cursor::{Hide, Show};
use ratatui_crossterm::crossterm::event::{poll, read};
use ratatui_crossterm::crossterm::execute;
use ratatui_crossterm::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use report::top::{Action, Looks, Target, View, draw};
use signal_hook::SigId;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP};
use signal_hook::flag;
use signal_hook::low_level::{emulate_default_handler, unregister};

use super::host;
use super::keys::{Input, input};
use crate::output;

/// Longest time after which a new snapshot or a signal is seen; a key is seen at once.
const WAIT: Duration = Duration::from_millis(200);
/// Shown before the first window has ended.
const STARTING: &str = "nettoll top: measuring the first window; q quits";

/// Reason for which the screen ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// The user asked for it.
    Quit,
    /// SIGTERM, SIGINT or SIGHUP came.
    Interrupted,
    /// The user wants `nettoll attach` to run.
    Attach(Target),
    /// No snapshot comes any more: the other end of the channel is closed, and knows why.
    Closed,
}

/// Returns whether there is a terminal to draw on and to read keys from; a page of text is printed else.
pub fn can_show() -> bool {
    let is_dumb = env::var_os("TERM").is_none_or(|name| name.is_empty() || name == "dumb");
    stdin().is_terminal() && stdout().is_terminal() && !is_dumb
}

/// Shows snapshots as they come, until a key, a signal or the end of the channel; the terminal is as it was before
/// when this returns, and when any thread panics meanwhile.
///
/// Signals that ask for an end are its own until then: call [`crate::signals::listen`] afterwards only.
///
/// # Errors
/// An answer of the terminal.
pub fn show(snapshots: &Receiver<Snapshot>) -> anyhow::Result<Ending> {
    let signals = Signals::new()?;
    let mut screen = Screen::open()?;
    let style = output::style();
    let mut view = View::new(host());
    let looks = Looks { colour: style.colour, ascii: style.ascii };
    loop {
        let next = || -> io::Result<Option<Input>> { if poll(WAIT)? { Ok(input(&read()?)) } else { Ok(None) } };
        let turn = follow(&mut screen.terminal, &mut screen.shown, &mut view, looks, snapshots, next, &signals)?;
        match turn {
            Turn::End(ending) => return Ok(ending),
            Turn::Stop => {
                give_back();
                signals.stop.store(false, Ordering::Relaxed);
                emulate_default_handler(SIGTSTP).context("stop, as Ctrl-Z asks for")?;
                signals.continued.store(false, Ordering::Relaxed);
                screen.take()?;
            }
            Turn::Again => screen.take()?,
        }
    }
}

/// The part of a screen that stays while the terminal is given back for a while.
#[derive(Default)]
struct Snapshots {
    /// The snapshot on the screen.
    now: Option<Snapshot>,
    /// A newer one, which comes when the screen is not frozen any more.
    next: Option<Snapshot>,
}

/// Why drawing is interrupted.
#[derive(Debug, PartialEq, Eq)]
enum Turn {
    End(Ending),
    Stop,
    /// All is drawn again: the size is another, Ctrl-L was pressed, or a shell used the terminal after a SIGSTOP,
    /// which no program sees.
    Again,
}

/// Draws until something else is to be done with the terminal. `next` waits for a key for some time.
fn follow<B: Backend>(
    terminal: &mut Terminal<B>,
    shown: &mut Snapshots,
    view: &mut View,
    looks: Looks,
    snapshots: &Receiver<Snapshot>,
    mut next: impl FnMut() -> io::Result<Option<Input>>,
    signals: &Signals,
) -> anyhow::Result<Turn>
where
    B::Error: std::error::Error + Send + Sync + 'static,
{
    let mut is_old = true;
    loop {
        let mut is_closed = false;
        loop {
            match snapshots.try_recv() {
                Ok(snapshot) => shown.next = Some(snapshot),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    is_closed = true;
                    break;
                }
            }
        }
        if !view.frozen
            && let Some(snapshot) = shown.next.take()
        {
            shown.now = Some(snapshot);
            is_old = true;
        }
        if is_closed {
            return Ok(Turn::End(Ending::Closed));
        }
        if signals.end.load(Ordering::Relaxed) {
            return Ok(Turn::End(Ending::Interrupted));
        }
        if signals.stop.load(Ordering::Relaxed) {
            return Ok(Turn::Stop);
        }
        if signals.continued.swap(false, Ordering::Relaxed) {
            return Ok(Turn::Again);
        }
        if is_old {
            terminal
                .draw(|frame| match &shown.now {
                    Some(snapshot) => draw(snapshot, view, looks, frame.area(), frame.buffer_mut()),
                    None => {
                        let width = frame.area().width.into();
                        frame.buffer_mut().set_stringn(0, 0, STARTING, width, ratatui_core::style::Style::new());
                    }
                })
                .context("draw on the terminal; is it still there?")?;
            is_old = false;
        }
        let action = match next().context("read keys from the terminal; is it still there?")? {
            None => Action::None,
            Some(Input::End) => Action::Quit,
            Some(Input::Stop) => return Ok(Turn::Stop),
            Some(Input::Redraw) => return Ok(Turn::Again),
            Some(Input::Key(key)) => match &shown.now {
                Some(snapshot) => view.press(key, snapshot),
                // Keys without a meaning yet but for those that end it.
                None => View::default().press(key, &Snapshot::default()),
            },
        };
        match action {
            Action::None => {}
            Action::Redraw => is_old = true,
            Action::Quit => return Ok(Turn::End(Ending::Quit)),
            Action::Attach(target) => return Ok(Turn::End(Ending::Attach(target))),
        }
    }
}

/// True while the terminal is ours.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The terminal, until this is dropped.
struct Screen {
    terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
    shown: Snapshots,
}

impl Screen {
    fn open() -> anyhow::Result<Self> {
        static HOOK: Once = Once::new();
        // A message of a panic is to be read on the usual screen, in lines.
        HOOK.call_once(|| {
            let usual = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                give_back();
                usual(info);
            }));
        });
        let mut screen = Self { terminal: whole()?, shown: Snapshots::default() };
        screen.take()?;
        Ok(screen)
    }

    /// Takes the terminal, and forgets what was on it.
    fn take(&mut self) -> anyhow::Result<()> {
        TAKEN.store(true, Ordering::SeqCst);
        enable_raw_mode().context("read the terminal key by key")?;
        execute!(stdout(), EnterAlternateScreen, Hide, Clear(ClearType::All)).context("draw on the terminal")?;
        self.terminal = whole()?;
        Ok(())
    }
}

/// The whole terminal, thought empty. Its area is fixed: one that follows the size asks the terminal for its cursor
/// each time, and not every terminal answers.
fn whole() -> anyhow::Result<Terminal<CrosstermBackend<BufWriter<Stdout>>>> {
    const TRIED: &str = "find the size of the terminal; `stty size` says whether it has one";
    let backend = CrosstermBackend::new(BufWriter::new(stdout()));
    let size = backend.size().context(TRIED)?;
    let viewport = Viewport::Fixed(Rect::new(0, 0, size.width, size.height));
    Terminal::with_options(backend, TerminalOptions { viewport }).context(TRIED)
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives the terminal back as it was, once.
fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        // A terminal that is gone needs no repair.
        let _ = execute!(stdout(), Show, LeaveAlternateScreen);
        let _ = disable_raw_mode();
    }
}

/// Signals that came.
struct Signals {
    end: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
    continued: Arc<AtomicBool>,
    registered: Vec<SigId>,
}

impl Signals {
    fn new() -> anyhow::Result<Self> {
        Self::of([SIGTERM, SIGINT, SIGHUP, SIGTSTP, SIGCONT])
    }

    fn of<const N: usize>(signals: [i32; N]) -> anyhow::Result<Self> {
        let mut came = Self { end: Arc::default(), stop: Arc::default(), continued: Arc::default(), registered: Vec::new() };
        for signal in signals {
            let flag = match signal {
                SIGTSTP => &came.stop,
                SIGCONT => &came.continued,
                _ => &came.end,
            };
            let id = flag::register(signal, Arc::clone(flag)).context("listen for signals; does a sandbox refuse it?")?;
            came.registered.push(id);
        }
        Ok(came)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for id in self.registered.drain(..) {
            unregister(id);
        }
    }
}

#[cfg(test)]
mod tests;
