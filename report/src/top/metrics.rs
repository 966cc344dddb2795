//! The counters of `nettoll top` for monitoring systems: OpenMetrics 1.0, and the text format that was before it.

use analysis::top::{Counters, UnitCounters, WorkContext};

/// Form of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricsForm {
    /// OpenMetrics 1.0, for a scraper that asks over HTTP.
    OpenMetrics,
    /// Prometheus' text format 0.0.4, for a file that node_exporter reads.
    Prometheus,
}

/// The type of an answer in OpenMetrics.
pub const OPEN_METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Kind of a family of figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Counter,
    Gauge,
    Info,
}

impl Kind {
    /// What stands behind the family's name in the name of its figures.
    const fn suffix(self) -> &'static str {
        match self {
            Self::Counter => "_total",
            Self::Gauge => "",
            Self::Info => "_info",
        }
    }

    /// Its word; the older format has no `info`.
    const fn word(self, form: MetricsForm) -> &'static str {
        match (self, form) {
            (Self::Counter, _) => "counter",
            (Self::Info, MetricsForm::OpenMetrics) => "info",
            _ => "gauge",
        }
    }
}

/// A family of figures.
struct Family {
    name: &'static str,
    kind: Kind,
    /// Its base unit, which ends its name.
    unit: Option<&'static str>,
    help: &'static str,
}

const NETWORK: Family = Family {
    name: "nettoll_network_cpu_seconds",
    kind: Kind::Counter,
    unit: Some("seconds"),
    help: "CPU time of the network stack on this machine, by samples: it rises in steps of nettoll_sample_interval_seconds.",
};
const UNIT: Family = Family {
    name: "nettoll_unit_network_cpu_seconds",
    kind: Kind::Counter,
    unit: Some("seconds"),
    help: "CPU time of the network stack for a unit (cgroup), by samples, softirqs for its sockets included; other holds units \
           without a series of their own. Rates of all series sum to that of nettoll_network_cpu_seconds.",
};
const MESSAGES: Family = Family {
    name: "nettoll_unit_messages",
    kind: Kind::Counter,
    unit: None,
    help: "Messages that the socket calls of a unit moved, scaled up where a part of the time is counted.",
};
const BYTES: Family =
    Family { name: "nettoll_unit_message_bytes", kind: Kind::Counter, unit: Some("bytes"), help: "Bytes of these messages, likewise." };
const RUN_DELAY: Family = Family {
    name: "nettoll_unit_run_delay_seconds",
    kind: Kind::Counter,
    unit: Some("seconds"),
    help: "Time for which processes of a unit that were met in samples waited for a CPU.",
};
const SAMPLES: Family = Family {
    name: "nettoll_samples",
    kind: Kind::Counter,
    unit: None,
    help: "Samples of all CPUs that were due: of work (busy), of idle CPUs, without room (lost), and not made (missing). Half a \
           95 % interval of n samples is 1.96 times their root.",
};
const OWN: Family = Family {
    name: "nettoll_own_cpu_seconds",
    kind: Kind::Counter,
    unit: Some("seconds"),
    help: "CPU time that nettoll takes: its process (reader), its samples and its programs at socket calls (hooks).",
};
const INTERVAL: Family =
    Family { name: "nettoll_sample_interval_seconds", kind: Kind::Gauge, unit: Some("seconds"), help: "Distance of two samples of a CPU." };
const BUILD: Family = Family { name: "nettoll_build", kind: Kind::Info, unit: None, help: "The nettoll that counts." };

/// Counters as text; ends with a newline. What all units rise by is what the total rises by, digit by digit.
pub fn metrics(counters: &Counters, version: &str, form: MetricsForm) -> String {
    let mut out = Writer { text: String::new(), form };
    if counters.interval.get() > 0 {
        out.family(&NETWORK);
        for ((context, layer, category), time) in &counters.network {
            let labels = [("context", context.name()), ("layer", layer.name()), ("category", category.name())];
            out.figure(&NETWORK, &labels, &seconds(*time));
        }
        out.family(&UNIT);
        for (unit, one) in units(counters) {
            for context in [WorkContext::Call, WorkContext::Softirq] {
                out.figure(&UNIT, &[("unit", unit), ("context", context.name())], &seconds(one.cpu(context)));
            }
        }
    }
    if counters.counts_messages {
        for (family, of) in [(&MESSAGES, (|one| one.messages) as fn(&UnitCounters) -> [f64; 2]), (&BYTES, |one| one.bytes)] {
            out.family(family);
            for (unit, one) in units(counters) {
                for (direction, sum) in ["transmit", "receive"].into_iter().zip(of(one)) {
                    out.figure(family, &[("unit", unit), ("direction", direction)], &format!("{sum:.0}"));
                }
            }
        }
    }
    if counters.interval.get() > 0 {
        out.family(&RUN_DELAY);
        for (unit, one) in units(counters) {
            out.figure(&RUN_DELAY, &[("unit", unit)], &seconds(one.run_delay));
        }
        out.family(&SAMPLES);
        let samples = &counters.samples;
        let results = [("busy", samples.busy), ("idle", samples.idle), ("lost", samples.lost), ("missing", samples.missing)];
        for (result, count) in results {
            out.figure(&SAMPLES, &[("result", result)], &count.to_string());
        }
        out.family(&INTERVAL);
        out.figure(&INTERVAL, &[], &seconds(counters.interval.get()));
    }
    out.family(&OWN);
    for (part, time) in ["reader", "samples", "hooks"].into_iter().zip(counters.own) {
        out.figure(&OWN, &[("part", part)], &seconds(time));
    }
    out.family(&BUILD);
    out.figure(&BUILD, &[("version", version)], "1");
    if form == MetricsForm::OpenMetrics {
        out.text.push_str("# EOF\n");
    }
    out.text
}

/// The units, with `other` behind them.
fn units(counters: &Counters) -> impl Iterator<Item = (&str, &UnitCounters)> {
    let listed = counters.units.iter().map(|(name, one)| (name.as_str(), one));
    listed.chain(counters.other.has_work().then_some(("other", &counters.other)))
}

/// A time in ns as seconds, with all its digits.
fn seconds(time: u64) -> String {
    let text = format!("{}.{:09}", time / 1_000_000_000, time % 1_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The text, family by family.
struct Writer {
    text: String,
    form: MetricsForm,
}

impl Writer {
    /// The lines before a family's figures.
    fn family(&mut self, family: &Family) {
        let Family { name, kind, unit, help } = family;
        // In the older format the name of a family is that of its figures.
        let suffix = if self.form == MetricsForm::OpenMetrics { "" } else { kind.suffix() };
        self.text += &format!("# HELP {name}{suffix} {help}\n# TYPE {name}{suffix} {}\n", kind.word(self.form));
        if let (MetricsForm::OpenMetrics, Some(unit)) = (self.form, unit) {
            self.text += &format!("# UNIT {name} {unit}\n");
        }
    }

    fn figure(&mut self, family: &Family, labels: &[(&str, &str)], value: &str) {
        self.text += family.name;
        self.text += family.kind.suffix();
        for (place, (name, label)) in labels.iter().enumerate() {
            self.text.push(if place == 0 { '{' } else { ',' });
            self.text += name;
            self.text += "=\"";
            self.label(label);
            self.text.push('"');
        }
        if !labels.is_empty() {
            self.text.push('}');
        }
        self.text.push(' ');
        self.text += value;
        self.text.push('\n');
    }

    /// The value of a label: others' text.
    fn label(&mut self, text: &str) {
        for letter in text.chars() {
            match letter {
                '\\' => self.text += "\\\\",
                '"' => self.text += "\\\"",
                '\n' => self.text += "\\n",
                letter => self.text.push(letter),
            }
        }
    }
}

#[cfg(test)]
mod tests;
