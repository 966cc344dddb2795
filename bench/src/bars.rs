//! Measured figures, next to the bars they have to clear.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde_json::Value;
use stats::estimate::Estimate;

/// One figure and its bar.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// The quantity.
    pub what: String,
    /// The figure.
    pub value: f64,
    /// Its interval, where it has one.
    pub interval: Option<(f64, f64)>,
    /// Its unit; `x` for a ratio.
    pub unit: &'static str,
    /// Pairs, trials or runs behind it.
    pub n: usize,
    /// The bar in words; empty when the figure is only printed.
    pub bar: String,
    /// True where it clears the bar.
    pub clears: Option<bool>,
}

/// All figures of one run.
#[derive(Debug, Serialize)]
pub struct Results {
    machine: Machine,
    rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Machine {
    cpu: String,
    cpus: usize,
    kernel: String,
    unix_time: u64,
    tool: &'static str,
}

impl Row {
    /// A figure that is only printed.
    pub fn printed(what: impl Into<String>, value: f64, unit: &'static str, n: usize) -> Self {
        Self { what: what.into(), value, interval: None, unit, n, bar: String::new(), clears: None }
    }

    /// An estimate that is only printed.
    pub fn estimated(what: impl Into<String>, unit: &'static str, estimate: &Estimate) -> Self {
        let interval = estimate.interval.map(|interval| (interval.low, interval.high));
        Self { interval, ..Self::printed(what, estimate.value, unit, estimate.n) }
    }

    /// An estimate in the JSON of nettoll that is only printed.
    pub fn read(what: impl Into<String>, unit: &'static str, estimate: &Value) -> Self {
        let row = Self::printed(what, number(&estimate["value"]), unit, estimate["n"].as_u64().unwrap_or_default() as usize);
        let ends = &estimate["interval"];
        if ends.is_object() { row.within(number(&ends["low"]), number(&ends["high"])) } else { row }
    }

    /// With an interval.
    pub fn within(mut self, low: f64, high: f64) -> Self {
        self.interval = Some((low, high));
        self
    }

    /// With a bar.
    pub fn against(mut self, bar: impl Into<String>, clears: bool) -> Self {
        (self.bar, self.clears) = (bar.into(), Some(clears));
        self
    }

    /// With a bar that the row itself is looked at for.
    pub fn judged(self, bar: impl Into<String>, clears: impl FnOnce(&Self) -> bool) -> Self {
        let clears = clears(&self);
        self.against(bar, clears)
    }

    /// With the bar of a ratio of costs: it is not shown to be above `most`, by an interval that is narrow enough to show it.
    pub fn no_dearer(self, most: f64, half_width: f64) -> Self {
        let bar = format!("lower end <= {most}, half-width <= {half_width}");
        self.judged(bar, |row| row.ends().0 <= most && row.half_width() <= half_width)
    }

    /// Both ends of its interval: no numbers without one.
    pub fn ends(&self) -> (f64, f64) {
        self.interval.unwrap_or((f64::NAN, f64::NAN))
    }

    /// Half of its interval, as a share of the figure.
    pub fn half_width(&self) -> f64 {
        (self.ends().1 - self.ends().0) / 2.0 / self.value
    }

    /// With a bar, where there are enough runs for it.
    pub fn against_if(self, enough: bool, bar: impl Into<String>, clears: bool) -> Self {
        if enough { self.against(bar, clears) } else { self }
    }
}

impl Results {
    /// None yet.
    pub fn of_this_machine() -> Self {
        let file = |path| fs::read_to_string(path).unwrap_or_default();
        let cpuinfo = file("/proc/cpuinfo");
        let cpu = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
        let unix_time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let machine = Machine {
            cpu: cpu.trim_start_matches(['\t', ' ', ':']).to_owned(),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            // What a distribution adds behind the version says nothing here.
            kernel: file("/proc/sys/kernel/osrelease").trim().split('-').next().unwrap_or_default().to_owned(),
            unix_time,
            tool: env!("CARGO_PKG_VERSION"),
        };
        Self { machine, rows: Vec::new() }
    }

    /// Adds figures, and shows them at once.
    pub fn extend(&mut self, rows: Vec<Row>) {
        for row in &rows {
            println!("{}", line(row));
        }
        self.rows.extend(rows);
    }

    /// Prints the table, keeps it in `directory` where `whole`, and fails where a
    /// bar is missed.
    ///
    /// # Errors
    /// Missed bars, and what writing the files answered.
    pub fn finish(&self, whole: bool, directory: &Path) -> anyhow::Result<()> {
        println!("{}", self.table());
        if whole {
            println!("kept in {}", self.keep(directory)?.display());
        }
        match self.missed() {
            0 => Ok(()),
            missed => anyhow::bail!("{missed} bars missed"),
        }
    }

    fn missed(&self) -> usize {
        self.rows.iter().filter(|row| row.clears == Some(false)).count()
    }

    /// All figures as a Markdown table.
    fn table(&self) -> String {
        let Machine { cpu, cpus, kernel, tool, .. } = &self.machine;
        let mut text = format!(
            "\nnettoll {tool} on {cpu}, {cpus} CPUs, Linux {kernel}\n\n| what | measured | interval | n | bar | |\n|---|---|---|---|---|---|\n"
        );
        for row in &self.rows {
            let interval = row.interval.map_or(String::new(), ends);
            let clears = row.clears.map_or("", |clears| if clears { "clears" } else { "MISSED" });
            text += &format!("| {} | {} | {interval} | {} | {} | {clears} |\n", row.what, figure(row), row.n, row.bar);
        }
        text
    }

    /// Keeps them as JSON and as a table.
    fn keep(&self, directory: &Path) -> anyhow::Result<PathBuf> {
        fs::create_dir_all(directory)?;
        let base = directory.join(format!("{}-linux-{}-{}cpu", self.machine.unix_time, self.machine.kernel, self.machine.cpus));
        fs::write(base.with_extension("json"), serde_json::to_string_pretty(self)?)?;
        fs::write(base.with_extension("md"), self.table())?;
        Ok(base.with_extension("md"))
    }
}

/// A number of the JSON of nettoll.
pub fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

/// The figure with its unit; what was not measured has none.
fn figure(row: &Row) -> String {
    if row.value.is_finite() { format!("{:.3} {}", row.value, row.unit) } else { "no figure".to_owned() }
}

/// Both ends of an interval, which too few pairs do not have.
fn ends((low, high): (f64, f64)) -> String {
    if low.is_finite() && high.is_finite() { format!("{low:.3} to {high:.3}") } else { "too few pairs".to_owned() }
}

fn line(row: &Row) -> String {
    let interval = row.interval.map_or(String::new(), |interval| format!(" ({})", ends(interval)));
    let bar = row.clears.map_or(String::new(), |clears| format!(", bar {}: {}", row.bar, if clears { "clears" } else { "MISSED" }));
    format!("{}: {}{interval}, n = {}{bar}", row.what, figure(row), row.n)
}
