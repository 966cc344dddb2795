//! The CSV: its columns, its rows, and the programs that read it.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support;
use crate::support::studies::{few_levels, host_load, repetitions};
use analysis::result::{Analysis, ArmResult, StudyResult};
use model::plan::{Factor, Offload};
use model::{Arm, BitRate, Bytes, Mix, Nanos, OfferedRate, Test};

/// The versions that the lines of the page are tried with.
const DUCKDB: &str = "duckdb==1.4.5";
const PANDAS: &str = "pandas==2.3.3";

/// The rows of a table, field by name.
fn rows(analysis: &Analysis) -> Vec<BTreeMap<String, String>> {
    let text = report::csv::render(analysis);
    let mut table = csv::Reader::from_reader(text.as_bytes());
    let names: Vec<String> = table.headers().unwrap().iter().map(str::to_owned).collect();
    let row = |row: csv::StringRecord| names.iter().cloned().zip(row.iter().map(str::to_owned)).collect();
    table.records().map(|record| row(record.unwrap())).collect()
}

/// The sample with every factor off its default in the first cell, and a second arm.
fn crossed() -> Analysis {
    let mut analysis = support::sample();
    let cell = &mut analysis.cells[0].cell;
    cell.test = Test::TcpStream;
    cell.nodelay = true;
    cell.cc = Some("bbr".to_owned());
    cell.sndbuf = Some(Bytes::new(65_536));
    cell.rcvbuf = Some(Bytes::new(131_072));
    cell.flows = 4;
    cell.rate = Some(OfferedRate::Bits(BitRate::new(10_000_000)));
    cell.work = Nanos::new(1_000);
    cell.bidirectional = true;
    cell.count = Some(1_000);
    cell.mix = Some(Mix::new("W1", 1, &[(8, 0.5), (1_000, 0.5)]).unwrap());
    cell.offloads.insert(Offload::Gso, false);
    cell.conditions.link = Some("ethernet 10M".parse().unwrap());
    cell.conditions.load = "sender:2".parse().unwrap();
    cell.conditions.link_load = "3x750K".parse().unwrap();
    cell.conditions.bulk = 1;
    cell.conditions.priority = "receiver:rt:50".parse().unwrap();
    cell.conditions.placement = "same-core".parse().unwrap();
    analysis.run.plan.arms = Arm::parse_all(&["plain".to_owned(), "slow: cc=reno".to_owned()]).unwrap();
    let mut cells = analysis.cells.clone();
    cells[0].cell.cc = Some("reno".to_owned());
    analysis.studies.push(StudyResult::Arms(vec![ArmResult { name: "slow".to_owned(), cells, models: Vec::new() }]));
    analysis
}

#[test]
fn every_factor_has_a_column_of_plain_values() {
    let rows = rows(&crossed());
    for factor in Factor::ALL {
        assert!(rows[0].contains_key(&factor.name().replace('.', "_")), "{factor}");
    }
    let text = |row: &BTreeMap<String, String>, names: &str| names.split(' ').map(|name| row[name].clone()).collect::<Vec<_>>().join("|");
    let tuned = &rows[0];
    assert_eq!(text(tuned, "format cell test family api arm metric unit"), "1|0|TCP_STREAM|ipv4|send|plain|messages_per_s|1/s");
    assert_eq!(text(tuned, "nodelay cc sndbuf rcvbuf flows rate rate_unit pacing"), "true|bbr|65536|131072|4|10000000|bit/s|sleep");
    assert_eq!(text(tuned, "waiting work bidirectional stamp count mix"), "block|1000|true|false|1000|W1");
    assert_eq!(text(tuned, "link load load_sender load_receiver bulk"), "ethernet 10M|sender:2|2|0|1");
    assert_eq!(text(tuned, "link_load link_load_pairs link_load_rate"), "3x750K|3|750000");
    assert_eq!(text(tuned, "priority placement offload_gso offload_tso offload_tx"), "receiver:rt:50|same-core|false|true|");
    // What a cell leaves to the plan, the machine or another protocol.
    let plain = rows.iter().find(|row| row["test"] == "UDP_STREAM").unwrap();
    assert_eq!(text(plain, "nodelay cc sndbuf rate rate_unit pacing count mix link_load_rate"), "||||||||");
    assert_eq!(text(plain, "flows work link load link_load priority placement"), "1|0|veth|0|0|usual|usual");
    let arms = |arm: &str| rows.iter().filter(|row| row["arm"] == arm).count();
    assert_eq!((arms("plain"), arms("plain") * 2), (arms("slow"), rows.len()));
    assert!(rows.iter().any(|row| row["arm"] == "slow" && row["cell"] == "0" && row["cc"] == "reno"));
}

#[test]
fn a_spreadsheet_finds_no_formula() {
    let mut analysis = support::sample();
    for (cell, name) in analysis.cells.iter_mut().zip(["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx"]) {
        cell.cell.cc = Some(name.to_owned());
        cell.metrics.values_mut().for_each(|estimate| estimate.value = -estimate.value);
    }
    let rows = rows(&analysis);
    for name in ["'=1+1", "'+1", "'-1", "'@SUM(A1)", "'\tx", "'\rx"] {
        let row = rows.iter().find(|row| row["cc"] == name).expect(name);
        assert!(row["value"].starts_with('-'), "a number stays one");
    }
}

/// The blocks of code of one language in the page that shows how to read a table; those on
/// trials are run where runs are exported (`cli/tests/tool/export.rs`).
fn shown(language: &str) -> Vec<String> {
    let page = include_str!("../../../docs/analysis.md");
    let start = format!("```{language}\n");
    let blocks = page.split(&start).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned());
    blocks.filter(|block| !block.contains("trials")).collect()
}

/// A folder with the tables that the page reads.
fn tables(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let others = folder.join("tables");
    std::fs::create_dir_all(&others).unwrap();
    std::fs::write(folder.join("run.csv"), report::csv::render(&crossed())).unwrap();
    for (name, analysis) in [("levels", host_load(&few_levels(), &[1, 1_024], &[1])), ("counts", repetitions()), ("run", crossed())] {
        std::fs::write(others.join(format!("{name}.csv")), report::csv::render(&analysis)).unwrap();
    }
    folder
}

/// Says past the runner, which keeps what a passing test prints, why a test was skipped.
fn skip(reason: &str) {
    let _ = writeln!(std::io::stdout(), "SKIPPED: {reason}");
}

/// Runs a program to its end; what it printed, or why it failed.
fn run(program: impl AsRef<std::ffi::OsStr>, arguments: &[&str], folder: &Path) -> Result<String, String> {
    let output = Command::new(program).args(arguments).current_dir(folder).output().map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

/// A Python with a package, installed below the target directory once.
fn python_with(package: &str, folder: &Path) -> Result<PathBuf, String> {
    let home = folder.join(package);
    let python = home.join("bin/python");
    let name = package.split('=').next().unwrap_or_default();
    if run(&python, &["-c", &format!("import {name}")], folder).is_err() {
        run("python3", &["-m", "venv", &home.to_string_lossy()], folder)?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:", "--retries=1", package];
        run(&python, &pip, folder)?;
    }
    Ok(python)
}

/// Why there is no such package, as the last line of what pip said.
fn without(package: &str, answer: &str) -> String {
    format!("no {package} for Python: {}", answer.trim().lines().last().unwrap_or_default())
}

/// Every line of SQL of the page gives rows, and columns have the types that it states.
#[test]
fn duckdb_reads_it() {
    let folder = tables("duckdb");
    let python = match python_with(DUCKDB, &folder) {
        Ok(python) => python,
        Err(answer) => return skip(&format!("duckdb_reads_it: {}", without(DUCKDB, &answer))),
    };
    let types = "
import duckdb
types = {name: kind for name, kind, *_ in duckdb.sql(\"DESCRIBE FROM 'run.csv'\").fetchall()}
for kind, names in {
    'BIGINT': 'format cell size read_size sndbuf rcvbuf flows rate work count load_sender load_receiver link_load_pairs link_load_rate bulk n',
    'BOOLEAN': 'nodelay bidirectional stamp offload_gso offload_tso',
    'DOUBLE': 'value low high confidence',
    'VARCHAR': 'run series test family api cc rate_unit pacing waiting link load link_load priority placement mix arm metric unit method',
}.items():
    for name in names.split():
        assert types[name] == kind, (name, types[name], kind)
assert duckdb.sql(\"SELECT count(*) FROM 'run.csv' WHERE value IS NULL OR metric IS NULL OR n IS NULL\").fetchone() == (0,)
assert duckdb.sql(\"SELECT DISTINCT size FROM 'run.csv' WHERE cc = 'bbr'\").fetchall() == [(SIZE,)]
";
    let size = crossed().cells[0].cell.size.get().to_string();
    run(&python, &["-c", &types.replace("SIZE", &size)], &folder).unwrap_or_else(|error| panic!("{error}"));
    let statements = shown("sql");
    assert!(statements.len() > 3, "the page shows how");
    for statement in statements {
        let script = format!("import duckdb\nassert duckdb.sql('''{statement}''').fetchall()");
        run(&python, &["-c", &script], &folder).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
}

#[test]
fn pandas_reads_it() {
    let folder = tables("pandas");
    let python = match python_with(PANDAS, &folder) {
        Ok(python) => python,
        Err(answer) => return skip(&format!("pandas_reads_it: {}", without(PANDAS, &answer))),
    };
    for block in shown("python") {
        let script =
            format!("{block}\nassert len(figures) > 100 and figures['size'].dtype == 'int64' and figures['value'].dtype == 'float64'");
        run(&python, &["-c", &script], &folder).unwrap_or_else(|error| panic!("{block}: {error}"));
    }
}

#[test]
fn r_reads_it() {
    let folder = tables("r");
    if run("Rscript", &["--version"], &folder).is_err() {
        return skip("r_reads_it: no Rscript (apt-get install r-base-core)");
    }
    for block in shown("r") {
        let script = format!(
            "{block}\nstopifnot(nrow(figures) > 100, is.numeric(figures$size), is.numeric(figures$value), all(figures$nodelay %in% c(\"true\", \"false\", \"\")))"
        );
        run("Rscript", &["-e", &script], &folder).unwrap_or_else(|error| panic!("{block}: {error}"));
    }
}
