//! Carries a plan out: each step in turn, with a line for each to the driver.

use crate::network::{self, Network};
use crate::plan::Step;
use crate::sys::{self, Answer, Errno};
use crate::traffic::{self, Pair};
use crate::{marker, nft, program, say};

/// Files that say what moves the figures, each a line of the log.
const FACTS: [&str; 4] = ["/proc/version", "/proc/cmdline", "/sys/kernel/security/lsm", "/proc/modules"];

/// Carries every step of a plan out. A step that fails is told, and the rest goes on.
pub fn carry_out(plan: &str) {
    let _ = sys::mount("securityfs", "/sys/kernel/security");
    let mut network = Network::new();
    for step in Step::all(plan) {
        let done = match step.verb {
            "module" => sys::load_module(step.rest),
            "sysctl" => set(step.rest),
            "up" => network::bring_up(step.rest),
            "veth" => network.make_veth(),
            "cards" => network.part_cards(step.rest),
            "beyond" => begin_beyond(&step, &network),
            "netem" => network.impair(&step),
            "checksums" => network.checksums(step.rest != "off"),
            "nft" => nft::make(&step),
            "program" => count_program(&step),
            "mount" => mount(step.rest),
            "spawn" => spawn(&step),
            "settle" => {
                sys::sleep(step.number("s", 0) as u64);
                Ok(0)
            }
            "facts" => tell_facts(),
            "symbols" => tell("symbols", "/proc/kallsyms"),
            "calibrate" => calibrate(),
            "run" => run(&step, &network),
            _ => Err(Errno::INVALID),
        };
        if let Err(Errno(number)) = done {
            say::line(format_args!("failed {number} {} {}", step.verb, step.rest));
        }
    }
}

/// Writes a sysctl: `net/ipv4/tcp_sack 0`.
fn set(rest: &str) -> Answer {
    let (name, value) = rest.split_once(' ').ok_or(Errno::INVALID)?;
    let mut path = [0; 256];
    let fd = sys::open(join("/proc/sys/", name, &mut path)?, 1)?;
    let answer = sys::write(fd, value.as_bytes());
    sys::close(fd);
    answer
}

/// Mounts a file system: `tmpfs /tmp`.
fn mount(rest: &str) -> Answer {
    let (kind, place) = rest.split_once(' ').ok_or(Errno::INVALID)?;
    sys::mount(kind, place)
}

/// Runs a program, and tells what it wrote and how it ended: `spawn name=NAME /PROGRAM
/// WORDS`. The file's name is `/o/NAME`.
fn spawn(step: &Step) -> Answer {
    let name = step.value("name").ok_or(Errno::INVALID)?;
    let (_, command) = step.rest.split_once(' ').ok_or(Errno::INVALID)?;
    let mut place = [0; 64];
    let place = join("/o/", name, &mut place)?;
    let code = program::run(command, place)?;
    tell("file", place)?;
    say::line(format_args!("exit {code} {name}"));
    Ok(0)
}

/// Starts a program in the second namespace, which runs on: `beyond name=NAME /PROGRAM WORDS`.
fn begin_beyond(step: &Step, network: &Network) -> Answer {
    let name = step.value("name").ok_or(Errno::INVALID)?;
    let (_, command) = step.rest.split_once(' ').ok_or(Errno::INVALID)?;
    let mut place = [0; 64];
    let place = join("/o/", name, &mut place)?;
    network.within(1, || program::begin(command, place).map(|_| 0))
}

/// Runs a program of the user's, which begins and ends a region itself, by markers.
fn count_program(step: &Step) -> Answer {
    // Said before, so that the line is in order whatever happens within.
    say::line(format_args!("region {}", step.value("name").unwrap_or("?")));
    spawn(step)
}

/// A path of two parts.
fn join<'b>(folder: &str, name: &str, buffer: &'b mut [u8]) -> Result<&'b str, Errno> {
    let length = folder.len() + name.len();
    let room = buffer.get_mut(..length).ok_or(Errno::INVALID)?;
    room[..folder.len()].copy_from_slice(folder.as_bytes());
    room[folder.len()..].copy_from_slice(name.as_bytes());
    core::str::from_utf8(room).map_err(|_| Errno::INVALID)
}

fn tell_facts() -> Answer {
    for path in FACTS {
        // A kernel without the file does not tell.
        let _ = tell("file", path);
    }
    Ok(0)
}

/// Sends a file between two lines.
fn tell(word: &str, path: &str) -> Answer {
    let fd = sys::open(path, 0)?;
    say::line(format_args!("begin {word} {path}"));
    let mut buffer = [0; 16_384];
    loop {
        match sys::read(fd, &mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(count) => say::bytes(&buffer[..count]),
        }
    }
    sys::close(fd);
    say::line(format_args!("end {word}"));
    Ok(0)
}

fn calibrate() -> Answer {
    let mut buffer = [0; 4096];
    say::line(format_args!("region calibrate"));
    marker::calibrate(&mut buffer);
    Ok(0)
}

/// Shape of a message's way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// There, received by the same process.
    OneWay,
    /// There and back, in one process.
    Round,
    /// There and back; another process answers.
    Asked,
}

/// Runs one region: warms up, then sends messages between markers.
fn run(step: &Step, network: &Network) -> Answer {
    static mut BUFFERS: [[u8; traffic::MOST]; 2] = [[0; traffic::MOST]; 2];
    // SAFETY: regions run one after the other, on the only thread.
    let buffers = unsafe { (&raw mut BUFFERS).as_mut() };
    let [bytes, buffer] = buffers.ok_or(Errno::INVALID)?;
    let size = step.number("size", 1).min(traffic::MOST);
    let (bytes, buffer) = (&bytes[..size], &mut buffer[..size]);
    let pair = Pair::open(step, network)?;
    let (shape, child) = match (step.says("shape", "round"), step.says("processes", "2")) {
        (_, true) => (Shape::Asked, sys::fork()?),
        (true, false) => (Shape::Round, 0),
        (false, false) => (Shape::OneWay, 0),
    };
    if shape == Shape::Asked && child == 0 {
        loop {
            // It ends when its parent kills it; what fails here fails there as well.
            if pair.answer(buffer).is_err() {
                sys::sleep(1);
            }
        }
    }
    let mut message = || match shape {
        Shape::OneWay => pair.message(bytes, buffer),
        Shape::Round => pair.round(bytes, buffer),
        Shape::Asked => pair.ask(bytes, buffer),
    };
    let done = messages(step, &mut message);
    if child != 0 {
        sys::end_child(child);
    }
    pair.close();
    done
}

/// Sends the messages of a region, those before its start first.
#[inline(always)]
fn messages(step: &Step, message: &mut impl FnMut() -> Answer) -> Answer {
    for _ in 0..step.number("warm", 64) {
        message()?;
    }
    // Said before, so that the line is in order whatever happens within.
    say::line(format_args!("region {}", step.value("name").unwrap_or("?")));
    let count = step.number("n", 200);
    let mut done = Ok(count);
    marker::begin();
    for _ in 0..count {
        if let Err(error) = message() {
            done = Err(error);
            break;
        }
        marker::message();
    }
    marker::end();
    done
}
