//! A plan before it is run: what it would measure, how long that takes, and
//! how much it can be expected to show.

use analysis::expectation;
use analysis::stopping::Claim;
use analysis::variance::Components;
use linksim::transfer::SenderBuffer;
use model::plan::receipt::ASSUMED_SHARE;
use model::plan::{HOST_NAMES, LEAST_SILENCE, LinkKind, PlanEnd, ReceiptPlan};
use model::{Bytes, Cell, Nanos, Plan, Test};

use crate::like;
use crate::number::percent;
use crate::sinks::terminal::{Page, Style};
use crate::words::plural;

/// Usual scatter between trials of one cell, from a quiet machine to a busy
/// virtual one, as shares of the median.
const NOISE: [f64; 3] = [0.02, 0.05, 0.15];

/// The least of `SO_SNDBUF` that Linux gives, as it is told (`SOCK_MIN_SNDBUF`).
const LEAST_SNDBUF: u64 = 4_608;

/// Describes a plan, in the light of earlier runs where there are some. Ends with a newline.
pub fn render(plan: &Plan, earlier: Option<&Components>, style: Style) -> String {
    let mut page = Page::new(style);
    page.heading(&format!("{}: {}", plan.name, plan.title));
    if !plan.description.is_empty() {
        page.text(&plan.description);
        page.gap();
    }
    page.text(&extent(plan));
    if !plan.hosts.is_empty() {
        page.text(&hosts(plan));
    }
    page.text(&expected_time(plan));
    page.gap();
    page.heading("The interval to expect");
    page.item(&expected(plan, plan.blocks.least));
    if plan.blocks.most > plan.blocks.least {
        page.item(&expected(plan, plan.blocks.most));
    }
    if let Some(earlier) = earlier {
        page.gap();
        page.heading("After the earlier runs");
        like::sentences(plan, earlier).iter().for_each(|text| page.item(text));
    }
    if !plan.arms.is_empty() {
        page.gap();
        page.heading("Arms, side by side in each block");
        for (place, arm) in plan.arms.iter().enumerate() {
            let baseline = if place == 0 { " (the baseline)" } else { "" };
            let nothing = if arm.settings.is_empty() { ": nothing besides" } else { "" };
            page.item(&format!("{arm}{nothing}{baseline}"));
        }
        if plan.host_wide {
            page.text("Settings of this machine may be changed for it, and are set back at the end.");
        }
    }
    page.gap();
    page.heading("Cells");
    for cell in &plan.cells {
        page.item(&cell.to_string());
    }
    page.finish()
}

fn extent(plan: &Plan) -> String {
    let blocks = match (plan.blocks.least, plan.blocks.most) {
        (least, most) if least == most => plural(u64::from(most), "block"),
        (least, most) => format!("{least} to {most} blocks"),
    };
    let trials = plan.trials();
    let arms = if plan.arms.is_empty() { String::new() } else { format!(" in {} arms", plan.arms.len()) };
    let most = if plan.blocks.least == plan.blocks.most { "" } else { "at most " };
    let passes = match plan.shape().passes.len() {
        1 => String::new(),
        passes => format!(" in {passes} passes"),
    };
    format!(
        "{}{arms}{passes} in {blocks}: {most}{}, in an order drawn from seed {}, over {}.",
        plural(plan.cells.len() as u64, "cell"),
        plural(trials, "trial"),
        plan.seed,
        crate::studies::run::links(plan),
    )
}

fn hosts(plan: &Plan) -> String {
    let place = |name: &str| match plan.hosts.get(name) {
        Some(at) => format!("host {name} is the agent at {at}"),
        None => format!("host {name} is this machine"),
    };
    let port = plan.data_port.map_or_else(String::new, |port| format!("; messages come to port {port}"));
    format!("{}, {}{port}. When an agent is lost: {}.", place(HOST_NAMES[0]), place(HOST_NAMES[1]), plan.on_loss)
}

/// Duration of a plan in a sentence.
pub fn expected_time(plan: &Plan) -> String {
    let counts = || plan.cells.iter().filter_map(|cell| cell.count);
    if let (Some(least), Some(most), true) = (counts().min(), counts().max(), plan.cells.iter().all(|cell| cell.count.is_some())) {
        let warmup = if plan.warmup.get() == 0 { "" } else { "a tenth as many messages of warm-up, then " };
        let overhead = plan.overheads();
        return format!("Each trial: {warmup}{least} to {most} messages. All: about {overhead} and what the messages themselves take.");
    }
    match plan.end {
        PlanEnd::Length(length) => {
            let trials = plan.trials();
            let one = plan.warmup + length;
            let all = Nanos::new(one.get().saturating_mul(trials)) + plan.overheads() + sampling(plan, length);
            let waits = silences(plan);
            let more = match waits.get() {
                0 => String::new(),
                _ => format!(", up to {} where datagrams are lost", all + waits),
            };
            format!("Each trial: {} of warm-up, {length} measured. All: about {all}{more}.", plan.warmup)
        }
        PlanEnd::Messages(messages) => {
            format!("Each trial: {} of warm-up, then {messages} messages. How long that takes is not known beforehand.", plan.warmup)
        }
        PlanEnd::Bytes(bytes) => format!("Each trial: {} of warm-up, then {bytes}. {}", plan.warmup, by_rate(plan, bytes)),
    }
}

/// Duration of trials of a number of bytes over links whose rate is known.
fn by_rate(plan: &Plan, bytes: Bytes) -> String {
    let time = |cell: &Cell| Some(bytes.get() as f64 / goodput(cell, &plan.link_of(cell).kind)?);
    let times: Option<Vec<f64>> = plan.cells.iter().map(time).collect();
    let Some(times) = times else { return "How long that takes is not known beforehand.".to_owned() };
    let warmup = if plan.warmup.get() > 0 { 1.1 } else { 1.0 };
    let blocks = f64::from(plan.blocks.most) * plan.arms.len().max(1) as f64;
    let flowing = times.iter().sum::<f64>() * warmup * blocks;
    format!("All: about {}.", Nanos::new(((flowing * 1e9) as u64).saturating_add(plan.overheads().get())))
}

/// Bytes a second to be expected of a TCP stream: what the link carries, or what
/// buffers let through in a round trip. `None` of a link without a rate.
fn goodput(cell: &Cell, link: &LinkKind) -> Option<f64> {
    let wire = link.rate()?.get() as f64 / 8.0;
    let (segment, frame, acknowledgement) = (1_460.0, 1_538.0, 84.0);
    let waits = match link {
        LinkKind::Relay(wire) => wire.hosts.iter().fold(wire.delay, |sum, host| sum + host.time).as_secs_f64() * 2.0,
        _ => 0.0,
    };
    let round_trip = waits + (frame + acknowledgement) / wire;
    let sender = cell.sndbuf.map(|asked| u32::try_from(2 * asked.get().max(LEAST_SNDBUF / 2)).unwrap_or(u32::MAX));
    let sender = sender.map(|sndbuf| f64::from(SenderBuffer::from_sockopt(sndbuf, segment as u32).segments));
    // Of what is asked for, some 1,090 bytes are a segment, but for the first 2,000.
    let receiver = cell.rcvbuf.map(|asked| ((asked.get() as f64 - 2_000.0) / 1_090.0).max(1.0));
    let window = sender.into_iter().chain(receiver).fold(f64::INFINITY, f64::min) * segment;
    Some((wire * segment / frame).min(window / round_trip))
}

/// Time by which the time passes of all blocks exceed clean trials, of
/// ends that use their CPUs as expected.
fn sampling(plan: &Plan, length: Nanos) -> Nanos {
    let Some(receipt) = plan.receipt else { return Nanos::default() };
    let pass = ReceiptPlan::pass(receipt.samples, plan.blocks.least, receipt.most_per_second(None) * ASSUMED_SHARE);
    let shape = plan.shape();
    let passes = (shape.cells * shape.arms) as u64 * u64::from(plan.blocks.least);
    Nanos::new(pass.since(length).get().saturating_mul(passes))
}

/// Time that receivers between machines wait for lost datagrams.
fn silences(plan: &Plan) -> Nanos {
    let streams = plan.cells.iter().filter(|cell| cell.test == Test::UdpStream).count() as u64;
    let trials = if plan.hosts.is_empty() { 0 } else { streams * u64::from(plan.blocks.most) };
    Nanos::new(LEAST_SILENCE.get().saturating_mul(trials))
}

fn expected(plan: &Plan, blocks: u32) -> String {
    let confidence = percent(plan.blocks.confidence);
    // Looking more than once costs width.
    let found_at = Claim::new(&plan.blocks).found_at();
    let widths: Vec<String> = NOISE
        .iter()
        .filter_map(|&noise| Some((noise, expectation::half_width(blocks, found_at, noise)?)))
        .map(|(noise, width)| format!("±{} where trials scatter by {}", percent(width), percent(noise)))
        .collect();
    match widths.is_empty() {
        true => format!("{}: too few for any {confidence} interval.", plural(u64::from(blocks), "block")),
        false => format!("{} give each median a {confidence} interval of about {}.", plural(u64::from(blocks), "block"), widths.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::render;
    use crate::sinks::terminal::Style;
    use model::plan::{RawPlan, preset, resolve};

    #[test]
    fn a_dry_run_says_what_how_long_and_how_well() {
        let raw = RawPlan::parse(preset("quick").unwrap()).unwrap();
        let text = render(&resolve(&raw, &[], 7).unwrap(), None, Style::PLAIN);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn between_machines_lost_datagrams_are_waited_for() {
        let text = "name = \"x\"\nhosts = { b = \"db1\" }\ntrial = { length = \"100ms\", warmup = \"5ms\" }\nblocks = { least = 5, most = 5 }\n\
                    [[cells]]\ntest = [\"UDP_STREAM\", \"TCP_STREAM\"]\nsize = 64";
        let text = render(&resolve(&RawPlan::parse(text).unwrap(), &[], 7).unwrap(), None, Style::PLAIN);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("All: about 1.4 s, up to 2.4 s where datagrams are lost."), "{text}");
    }
}
