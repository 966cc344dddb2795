//! What `nettoll export` prints of many runs, and whether other programs get nettoll's own
//! figures from it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use model::host::{HostFacts, hardware};

use crate::stored_runs::{copy, data};
use crate::support::python::{Form, python};
use crate::support::tool::Tool;
use crate::support::{Skip, go, need_programs};
use crate::top::recordings;

crate::claims!(
    cells_of_many_runs_stand_below_one_line_of_names,
    medians_over_trials_are_the_figures_of_the_report,
    benchstat_has_a_line_for_each_trial,
    benchstat_filters_and_compares_by_keys,
    every_row_says_where_it_was_measured,
    views_are_of_the_directory_that_is_given,
    a_run_that_cannot_be_read_is_left_out_or_refused,
    duckdb_and_pandas_get_the_figures_of_the_report,
    duckdb_pandas_and_polars_get_the_figures_of_recordings,
    r_gets_the_figures_of_the_report,
    data_table_gets_the_figures_of_the_report,
);

const RUNS: [&str; 3] = ["sizes", "round-trips", "arms"];

fn with_runs() -> Tool {
    let tool = Tool::new();
    RUNS.iter().for_each(|name| copy(&data().join("runs").join(name), &tool.path().join("runs").join(name)));
    tool
}

pub type Row = BTreeMap<String, String>;

pub fn rows(text: &str) -> Vec<Row> {
    let mut table = csv::Reader::from_reader(text.as_bytes());
    let names: Vec<String> = table.headers().unwrap().iter().map(str::to_owned).collect();
    table.records().map(|record| names.iter().cloned().zip(record.unwrap().iter().map(str::to_owned)).collect()).collect()
}

fn cells_of_many_runs_stand_below_one_line_of_names() -> Result<(), Skip> {
    let tool = with_runs();
    let all = tool.run(&["export"]).done().stdout;
    let each: Vec<String> =
        ["round-trips", "arms", "sizes"].iter().map(|run| tool.run(&["report", &format!("runs/{run}"), "--csv"]).stdout).collect();
    let lines = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    let mut expected: Vec<String> = each.iter().flat_map(|text| lines(text)).collect();
    let mut found = lines(&all);
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
    assert_eq!(tool.run(&["export", "sizes", "--csv"]).done().stdout.lines().count(), each[2].lines().count());
    Ok(())
}

fn medians_over_trials_are_the_figures_of_the_report() -> Result<(), Skip> {
    let tool = with_runs();
    let key = |row: &Row| [&row["run"], &row["arm"], &row["cell"]].map(Clone::clone);
    let trials = rows(&tool.run(&["export", "--trials"]).done().stdout);
    let mut compared = 0;
    for cell in rows(&tool.run(&["export"]).done().stdout) {
        // Of trials alone; round trips are merged, and ratios have two sides.
        let Some(metric) = trials[0].get_key_value(&cell["metric"]).map(|(name, _)| name) else { continue };
        let mut values: Vec<f64> =
            trials.iter().filter(|trial| key(trial) == key(&cell)).filter_map(|trial| trial[metric].parse().ok()).collect();
        values.sort_by(f64::total_cmp);
        let Ok(value) = cell["value"].parse::<f64>() else { continue };
        let middle = f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2]);
        assert!((middle - value).abs() <= 1e-12 * value.abs(), "{metric} of {:?}: {middle}, reported {value}", key(&cell));
        compared += 1;
    }
    assert!(compared > 100, "{compared}");
    Ok(())
}

fn benchstat_has_a_line_for_each_trial() -> Result<(), Skip> {
    let tool = with_runs();
    let text = tool.run(&["export", "--benchstat", "sizes"]).done().stdout;
    assert!(text.starts_with("run: 2026-11-22T13-25-20Z-sizes-9641\nstarted: 2026-11-22 13:25:20\n"), "{text}");
    assert!(text.contains("\nstudy: sizes\n"), "{text}");
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("Benchmark")).collect();
    assert_eq!(lines.len(), 48);
    assert!(lines.iter().all(|line| line.contains("/size=")), "{text}");
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        // A name, a count, then pairs of value and unit.
        assert!(words.len().is_multiple_of(2) && words[1] == "1" && words[3] == "ns/op", "{line}");
        assert!(words[2..].chunks(2).all(|pair| pair[0].parse::<f64>().is_ok() && pair[1].parse::<f64>().is_err()), "{line}");
    }
    Ok(())
}

/// Cells that differ by a factor.
const DELAYS: &str = r#"
name = "delays"
trial = { length = "10ms", warmup = "1ms" }
blocks = { least = 3, most = 3 }
[[cells]]
test = "TCP_RR"
size = 64
nodelay = [true, false]
"#;

fn benchstat_filters_and_compares_by_keys() -> Result<(), Skip> {
    let benchstat = go::program("benchstat", "golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da")?;
    let tool = with_runs();
    tool.script(&[], "$NETTOLL export --benchstat sizes > sizes.txt; $NETTOLL export --benchstat arms > arms.txt").done();
    let run = |words: &[&str]| {
        let output = Command::new(&benchstat).args(words).current_dir(tool.path()).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let filtered = run(&["-filter", "/size:4096 .unit:sec/op", "sizes.txt"]);
    assert!(filtered.contains("TCP_STREAM/size=4096") && !filtered.contains("size=64"), "{filtered}");
    // Its arms have other settings, and are compared all the same.
    let compared = run(&["-col", "/arm", "-filter", ".unit:sec/op", "arms.txt"]);
    assert!(compared.contains("vs base") && compared.contains("TCP_RR/size=1024 "), "{compared}");
    tool.study(DELAYS, &["--arm", "v-1", "--arm", "v-2", "--runs", "delays"]).judged();
    tool.script(&[], "$NETTOLL export --benchstat --runs delays > delays.txt").done();
    // Numbers at the end of arms are a part of their names.
    for (key, columns) in [("/nodelay", ["false", "true"]), ("/arm", ["v-1", "v-2"])] {
        let compared = run(&["-col", key, "-filter", ".unit:sec/op", "delays.txt"]);
        assert!(columns.iter().all(|column| compared.contains(column)) && compared.contains("vs base"), "{key}: {compared}");
    }
    Ok(())
}

/// Every form of a run's rows has its name, its time and what it was measured with: those that are stored.
fn every_row_says_where_it_was_measured() -> Result<(), Skip> {
    let tool = Tool::new();
    let asked = ["study", "size", "--test", "UDP_RR", "--size", "64", "--arm", "a", "--arm", "b", "--woven", "--blocks", "3"];
    tool.run(&asked).judged();
    let stored = tool.stored();
    let run = stored.run();
    let hosts: Vec<HostFacts> = ["a", "b"].iter().map(|name| serde_json::from_value(stored.host(name)).unwrap()).collect();
    let started = format!("{} {}", &run.id[..10], run.id[11..19].replace('-', ":"));
    let facts = [
        ("run", run.id.clone()),
        ("started", started),
        ("nettoll", run.tool.clone()),
        ("kernel", hosts[0].kernel.clone()),
        ("cpu", hosts[0].cpu_model.clone()),
        ("machine", hardware(&hosts)),
        ("link", "veth".to_owned()),
    ];
    assert!(facts.iter().all(|(_, fact)| !fact.is_empty()), "{facts:?}");
    let expected: Row = facts.into_iter().map(|(name, fact)| (name.to_owned(), fact)).collect();
    let check = |form: &str, row: &Row| {
        for (name, fact) in &expected {
            assert_eq!(row.get(name), Some(fact), "{name} of {form}: {row:?}");
        }
    };
    for (form, least) in [("--csv", 20), ("--trials", 2), ("--slices", 20)] {
        let rows = rows(&tool.run(&["export", form]).done().stdout);
        assert!(rows.len() >= least, "{form}: {}", rows.len());
        rows.iter().for_each(|row| check(form, row));
    }
    let (mut keys, mut lines) = (Row::new(), 0);
    for line in tool.run(&["export", "--benchstat"]).done().stdout.lines() {
        match line.split_once(": ") {
            _ if line.starts_with("Benchmark") => {
                check("--benchstat", &keys);
                lines += 1;
            }
            Some((key, value)) => _ = keys.insert(key.to_owned(), value.to_owned()),
            None => panic!("neither a key nor a trial: {line}"),
        }
    }
    assert!(lines >= 2, "{lines}");
    Ok(())
}

fn views_are_of_the_directory_that_is_given() -> Result<(), Skip> {
    let tool = with_runs();
    let sql = |words: &[&str]| tool.run(&[&["export", "--sql"], words].concat()).done().stdout;
    let read = |text: &str| text.lines().find(|line| line.contains("trials.jsonl'")).unwrap().trim().to_owned();
    let views = sql(&[]);
    assert_eq!(read(&views), "'runs/*/trials.jsonl',");
    for (directory, pattern) in [("kept/", "'kept/*/trials.jsonl',"), ("it's [kept]?", "'it''s [[]kept][?]/*/trials.jsonl',")] {
        let other = sql(&["--runs", directory]);
        assert_eq!(other, views.replace("'runs/*/trials.jsonl',", pattern));
    }
    Ok(())
}

fn a_run_that_cannot_be_read_is_left_out_or_refused() -> Result<(), Skip> {
    let tool = with_runs();
    let run = fs::read_to_string(tool.path().join("runs/arms/run.json")).unwrap();
    fs::write(
        tool.path().join("runs/arms/run.json"),
        run.replacen("\"format\":1", "\"format\":99", 1).replacen("\"format\": 1", "\"format\": 99", 1),
    )
    .unwrap();
    let answer = tool.run(&["export"]).done();
    assert!(answer.stderr.contains("left out: ") && answer.stderr.contains("99"), "{}", answer.stderr);
    tool.run(&["export", "arms"]).refused(1, &["99"]);
    tool.run(&["export", "--csv", "--trials"]).refused(2, &["cannot be used with"]);
    Ok(())
}

/// Blocks of a language on the page that read what is exported.
fn shown(language: &str) -> Vec<String> {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/analysis.md")).unwrap();
    let start = format!("```{language}\n");
    let blocks = page.split(&start).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned());
    blocks.filter(|block| block.contains("trials")).collect()
}

/// Readers of tables.
const READERS: [&str; 3] = ["duckdb==1.4.5", "pandas==2.3.3", "polars==2.1.0"];

fn run_python(python: &Path, tool: &Tool, script: &str) {
    let output = Command::new(python).args(["-c", script]).current_dir(tool.path()).output().unwrap();
    assert!(output.status.success(), "{script}\n{}", String::from_utf8_lossy(&output.stderr));
}

fn duckdb_and_pandas_get_the_figures_of_the_report() -> Result<(), Skip> {
    let python = python("export", Form::Wheel, &READERS)?;
    let tool = with_runs();
    tool.script(&[], "$NETTOLL export --sql > trials.sql; $NETTOLL export --trials > trials.csv; $NETTOLL export --csv > cells.csv").done();
    let run = |script: &str| run_python(&python, &tool, script);
    // Views of the stored lines, tables of the trials, and nettoll's own table of cells.
    run("
import duckdb, pandas
duckdb.sql(open('trials.sql').read())
for metric in ['time_per_message_ns', 'goodput_bit_per_s']:
    own = duckdb.sql(f\"SELECT run, test, size, value FROM 'cells.csv' WHERE metric = '{metric}' AND arm IS NULL AND test LIKE '%STREAM' ORDER BY ALL\").fetchall()
    views = duckdb.sql(f\"SELECT run_name, test, size, median({metric}) FROM (SELECT *, (SELECT max(run) FROM 'cells.csv' c WHERE contains(c.run, '-' || trials.run || '-')) AS run_name FROM trials WHERE measured AND arm IS NULL AND test LIKE '%STREAM') GROUP BY ALL ORDER BY ALL\").fetchall()
    table = pandas.read_csv('trials.csv')
    medians = table[table['arm'].isna()].groupby(['run', 'test', 'size'])[metric].median()
    assert len(own) == len(views) == 6, (own, views)
    for (run, test, size, value), view in zip(own, views):
        assert view[:3] == (run, test, size) and abs(view[3] / value - 1) < 1e-12, (view, value)
        assert abs(medians[(run, test, size)] / value - 1) < 1e-12
");
    // Views are of the runs in the directory that is given.
    copy(&data().join("runs/sizes"), &tool.path().join("it's [kept]/sizes"));
    tool.script(&[], "$NETTOLL export --sql --runs \"it's [kept]\" > kept.sql").done();
    run("
import duckdb
duckdb.sql(open('kept.sql').read())
assert duckdb.sql('SELECT DISTINCT run FROM trials').fetchall() == [('sizes',)]
");
    // Tables join by what they have in common.
    run("
import duckdb
joined = duckdb.sql(\"SELECT count(*) FROM 'cells.csv' c JOIN 'trials.csv' t USING (run, started, nettoll, kernel, cpu, machine, link, cell) WHERE c.metric = 'time_per_message_ns'\").fetchone()
assert joined[0] > 100, joined
assert duckdb.sql(\"SELECT count(*) FROM 'cells.csv' WHERE kernel IS NULL OR cpu IS NULL OR machine IS NULL OR nettoll IS NULL\").fetchone() == (0,)
");
    let (sql, python_blocks) = (shown("sql"), shown("python"));
    assert!(sql.len() >= 3 && python_blocks.len() >= 2, "the page shows how");
    for statement in sql {
        run(&format!("import duckdb\nduckdb.sql(open('trials.sql').read())\nassert duckdb.execute('''{statement}''').fetchall()"));
    }
    for block in python_blocks {
        run(&format!("{block}\nassert len(trials) > 90"));
    }
    assert!(tool.path().join("trials.parquet").is_file());
    Ok(())
}

fn duckdb_pandas_and_polars_get_the_figures_of_recordings() -> Result<(), Skip> {
    let python = python("export", Form::Wheel, &READERS)?;
    let tool = with_runs();
    tool.script(&[], "$NETTOLL export --csv > cells.csv").done();
    let [before, after] = [1, 2].map(|factor| recordings::record(&tool, factor));
    tool.write("windows.csv", &tool.run(&["export", &before, &after]).done().stdout);
    tool.write("before.json", &tool.run(&["report", &before, "-J"]).done().stdout);
    run_python(
        &python,
        &tool,
        "
import duckdb, json, pandas, polars
names = lambda file: [column[0] for column in duckdb.sql(f\"DESCRIBE SELECT * FROM '{file}'\").fetchall()]
facts = ['format', 'run', 'started', 'nettoll', 'kernel', 'cpu', 'machine']
assert names('windows.csv')[:7] == names('cells.csv')[:7] == facts
report = json.load(open('before.json'))
run = report['run']
expected = (run['id'], run['tool'], run['kernel'], run['cpu_model'], run['machine'])
assert all(expected), expected
found = duckdb.sql(\"SELECT DISTINCT run, nettoll, kernel, cpu, machine, epoch(started) FROM 'windows.csv' ORDER BY run\").fetchall()
assert len(found) == 2 and expected + (run['started_ms'] // 1000,) in found, (found, expected)
pandas_table, polars_table = pandas.read_csv('windows.csv'), polars.read_csv('windows.csv')
assert len(pandas_table) == len(polars_table) == 360 and not pandas_table.isna().any(axis=None)
for unit in report['units']:
    one = {'run': run['id'], 'unit': unit['name']}
    duck = duckdb.execute(\"SELECT avg(cpus), sum(messages) / sum(elapsed_ns) * 1e9 FROM 'windows.csv' WHERE run = $run AND unit = $unit\", one).fetchone()
    rows = pandas_table[(pandas_table['run'] == one['run']) & (pandas_table['unit'] == one['unit'])]
    mean = polars_table.filter(run=one['run'], unit=one['unit'])['cpus'].mean()
    for value, own in [(duck[0], unit['cpus']), (duck[1], unit['messages']), (rows['cpus'].mean(), unit['cpus']), (mean, unit['cpus'])]:
        assert abs(value / own - 1) < 1e-9, (unit, value)
",
    );
    Ok(())
}

/// Runs a script of R on the tables of stored runs.
fn run_r(script: &str) -> Result<(), Skip> {
    need_programs(&["Rscript"])?;
    let tool = with_runs();
    tool.script(&[], "$NETTOLL export --trials > trials.csv; $NETTOLL export --csv > cells.csv; cp cells.csv run.csv").done();
    let output = Command::new("Rscript").args(["--vanilla", "-e", script]).current_dir(tool.path()).output().unwrap();
    assert!(output.status.success(), "{script}\n{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

fn r_gets_the_figures_of_the_report() -> Result<(), Skip> {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/analysis.md")).unwrap();
    let shown = page.split("```r\n").nth(1).unwrap().split("```").next().unwrap();
    run_r(&format!(
        "{shown}
own <- subset(figures, metric == 'time_per_message_ns' & arm == '' & grepl('STREAM', test))
trials <- subset(read.csv('trials.csv'), arm == '' & grepl('STREAM', test))
medians <- aggregate(time_per_message_ns ~ run + cell, trials, median)
both <- merge(own, medians)
stopifnot(nrow(goodput) > 0, nrow(both) == 6, abs(both$time_per_message_ns / both$value - 1) < 1e-12)"
    ))
}

fn data_table_gets_the_figures_of_the_report() -> Result<(), Skip> {
    need_programs(&["Rscript"])?;
    let asked = Command::new("Rscript").args(["--vanilla", "-e", "library(data.table)"]).output().unwrap();
    if !asked.status.success() {
        return Err(Skip("no data.table for R: install r-cran-data.table".to_owned()));
    }
    run_r(
        "library(data.table)
cells <- fread('cells.csv')[metric == 'time_per_message_ns' & arm == '' & grepl('STREAM', test)]
trials <- fread('trials.csv')[arm == '' & grepl('STREAM', test), .(median = median(time_per_message_ns)), by = .(run, started, machine, cell)]
both <- cells[trials, on = .(run, started, machine, cell)]
stopifnot(nrow(both) == 6, abs(both$median / both$value - 1) < 1e-12)",
    )
}
