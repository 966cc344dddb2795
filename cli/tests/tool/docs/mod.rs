//! What README.md and docs/ say is so: every command is run, every link leads
//! somewhere, every list is that of the program.

mod book;
mod pages;
mod rows;
mod words;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use model::plan::PRESETS;
use pulldown_cmark::HeadingLevel;

use self::book::{every_page_is_in_the_book, the_book_is_made_of_pages};
use self::pages::{Block, Page, all, root};
use self::rows::{the_readme_shows_a_stored_run, the_tables_of_pages_are_those_of_the_program};
use self::words::{the_text_for_users_has_plain_words, the_words_are_found};
use crate::stored_runs::{copy, data};
use crate::support::tool::{self, Answer, Tool};
use crate::support::{Skip, need_programs};

crate::claims!(
    the_readme_is_short,
    the_commands_of_the_readme_are_run,
    the_commands_of_the_how_tos_are_run,
    the_commands_of_the_other_pages_are_run,
    every_mark_stands_for_a_command,
    every_make_command_has_its_target,
    every_shell_block_is_sound,
    every_plan_can_be_run,
    every_block_has_a_language,
    every_link_leads_somewhere,
    every_page_is_in_the_index,
    the_presets_are_those_of_the_program,
    the_exit_codes_are_those_of_the_program,
    the_tables_of_pages_are_those_of_the_program,
    the_readme_shows_a_stored_run,
    every_page_is_in_the_book,
    the_book_is_made_of_pages,
    the_text_for_users_has_plain_words,
    the_words_are_found,
    every_flag_is_one_of_the_program,
    a_night_is_measured_and_its_history_told,
);

/// Languages of blocks.
const LANGUAGES: [&str; 8] = ["sh", "text", "toml", "json", "sql", "python", "r", "rust"];

/// Commands that do not do here what the page says, each with its exit code, what it answers,
/// and where it is tested instead. All others do it.
const ELSEWHERE: [(&str, i32, &str); 4] = [
    // No part of `papers` is stored here: the claims of `reference` kill some and go on with them.
    ("nettoll papers --resume", 2, "holds no part of `nettoll papers`"),
    // A run goes on only with the build and on the hosts that began it: the claims of `resume` and `stored_runs` do.
    ("nettoll study --resume runs/INTERRUPTED", 1, "go on with that build"),
    // There is no stored run of a fleet here: the claims of `agents::fleet` go on with theirs.
    ("nettoll fleet --resume", 2, "is a run of a study"),
    ("nettoll fleet --resume RUN --yes", 2, "is a run of a study"),
];

/// Stored runs by the names that pages have for them.
const RUNS: [(&str, &str); 12] = [
    ("RUN", "sizes"),
    ("BEFORE", "sizes"),
    ("AFTER", "sizes-later"),
    ("BEFORE1", "sizes"),
    ("BEFORE2", "sizes-later"),
    ("BEFORE3", "sizes"),
    ("AFTER1", "sizes"),
    ("AFTER2", "sizes-later"),
    ("AFTER3", "sizes-later"),
    ("RECEIPT", "receipt"),
    ("RECEIPT2", "receipt"),
    ("INTERRUPTED", "interrupted"),
];

const NETPERF: &str = "THROUGHPUT=800.00\nTHROUGHPUT_UNITS=10^6bits/s\nPROTOCOL=UDP\nDIRECTION=Send\nLOCAL_SEND_SIZE=1024\n";

/// An agent that a test has started; it ends with the test.
struct Agent(Child, String);

impl Agent {
    fn start(tool: &Tool, options: &[&str]) -> Self {
        let mut child = tool.command(&[&["agent", "--port", "0", "--listen", "127.0.0.1"], options].concat()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.split_whitespace().find(|word| word.starts_with("127.0.0.1:")).unwrap_or_else(|| panic!("{line}"));
        let address = address.to_owned();
        Self(child, address)
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The text of a page.
pub fn page(path: &str) -> String {
    Page::read(path).text
}

/// A directory with everything that the commands of a page name.
struct Reader {
    tool: Tool,
    open: Agent,
    closed: Agent,
}

impl Reader {
    fn new(page: &Page) -> Self {
        let tool = Tool::new();
        for (name, kind) in RUNS {
            copy(&data().join("runs").join(kind), &tool.path().join("runs").join(name));
        }
        tool.write("nettoll.secret", "a secret of thirty-two letters..");
        fs::set_permissions(tool.path().join("nettoll.secret"), fs::Permissions::from_mode(0o600)).unwrap();
        for name in ["mine.csv", "work.toml"] {
            fs::copy(data().join(name), tool.path().join(name)).unwrap();
        }
        fs::copy(root().join("reference/bidulock2007/udp_loopback.csv"), tool.path().join("table.csv")).unwrap();
        fs::copy(root().join("report/tests/data/iperf3/udp.json"), tool.path().join("1448.json")).unwrap();
        tool.write("1024.txt", NETPERF);
        for (place, block) in page.blocks().iter().filter(|block| block.language == "toml").enumerate() {
            let name = block.text.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
            tool.write(&format!("{}.toml", name.map_or(place.to_string(), str::to_owned)), &block.text);
        }
        fs::create_dir(tool.path().join("bin")).unwrap();
        fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tool/docs/nettoll.sh"), tool.path().join("bin/nettoll")).unwrap();
        let (open, closed) =
            (Agent::start(&tool, &[]), Agent::start(&tool, &["--secret-file", "nettoll.secret", "--trust-loopback", "--at-once", "3"]));
        Self { tool, open, closed }
    }

    /// Carries a line out as a shell does.
    fn run(&self, line: &str) -> Answer {
        let path = format!("{}:{}", self.tool.path().join("bin").display(), std::env::var("PATH").unwrap());
        // A command that a page leaves running ends here, with 124.
        let mut shell = self.tool.other(Path::new("timeout"));
        shell
            .args(["300", "bash", "-uo", "pipefail", "-c", line])
            .env("PATH", path)
            .env("OPEN", &self.open.1)
            .env("CLOSED", &self.closed.1);
        shell.output().unwrap().into()
    }
}

/// Lines of a block, those that end with a backslash joined.
fn lines(block: &Block) -> Vec<String> {
    block.text.replace("\\\n", " ").lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
}

/// The line without a remark at its end, which is how pages explain a command.
fn bare(line: &str) -> &str {
    line.split("  #").next().unwrap().trim_end()
}

fn runs_nettoll(line: &str) -> bool {
    bare(line).split_whitespace().any(|word| word.trim_start_matches(['$', '(', '<']) == "nettoll")
}

fn shell_lines(page: &Page) -> Vec<(String, usize)> {
    let blocks = page.blocks();
    let shell = blocks.iter().filter(|block| block.language == "sh");
    shell.flat_map(|block| lines(block).into_iter().map(|line| (line, block.line))).collect()
}

/// Runs every nettoll command of pages, in order, each page in a directory of its own.
fn run_all(pages: &[Page]) -> Result<(), Skip> {
    need_programs(&["bash"])?;
    for page in pages {
        let commands: Vec<(String, usize)> = shell_lines(page).into_iter().filter(|(line, _)| runs_nettoll(line)).collect();
        if commands.is_empty() {
            continue;
        }
        let reader = Reader::new(page);
        for (line, at) in &commands {
            let answer = reader.run(line);
            let judges = ["nettoll compare", "nettoll report", "nettoll history"].iter().any(|command| line.contains(command));
            let said = format!("{}:{at}: {line}\n{answer:#?}", page.path);
            match ELSEWHERE.iter().find(|(command, ..)| bare(line) == *command) {
                Some((_, code, words)) => assert!(answer.code == Some(*code) && answer.stderr.contains(words), "{said}"),
                None => assert!(answer.code == Some(0) || judges && matches!(answer.code, Some(3 | 4)), "{said}"),
            }
        }
        tool::note(&format!("{}: {} commands run", page.path, commands.len()));
    }
    Ok(())
}

fn is_how_to(page: &Page) -> bool {
    page.path.starts_with("docs/howto/")
}

fn the_commands_of_the_readme_are_run() -> Result<(), Skip> {
    run_all(&[Page::read("README.md"), Page::read("docs/tutorial.md")])
}

fn the_commands_of_the_how_tos_are_run() -> Result<(), Skip> {
    run_all(&all().into_iter().filter(is_how_to).collect::<Vec<_>>())
}

fn the_commands_of_the_other_pages_are_run() -> Result<(), Skip> {
    let read = ["README.md", "docs/tutorial.md"];
    run_all(&all().into_iter().filter(|page| !is_how_to(page) && !read.contains(&page.path.as_str())).collect::<Vec<_>>())
}

fn every_mark_stands_for_a_command() -> Result<(), Skip> {
    let lines: Vec<String> = all().iter().flat_map(shell_lines).map(|(line, _)| bare(&line).to_owned()).collect();
    for (command, ..) in ELSEWHERE {
        assert!(lines.iter().any(|line| line == command), "no page has: {command}");
    }
    let run = lines.iter().filter(|line| runs_nettoll(line)).count();
    tool::note(&format!("{run} commands of nettoll in README.md and docs/, {} of them tested elsewhere", ELSEWHERE.len()));
    assert!(run > 80, "{run}");
    Ok(())
}

fn the_readme_is_short() -> Result<(), Skip> {
    let lines = Page::read("README.md").text.lines().count();
    assert!(lines <= 90, "README.md has {lines} lines");
    Ok(())
}

fn every_make_command_has_its_target() -> Result<(), Skip> {
    let makefile = fs::read_to_string(root().join("Makefile")).unwrap();
    let mut found = 0;
    for page in all() {
        let typed = shell_lines(&page).into_iter().map(|(line, at)| (bare(&line).to_owned(), at));
        for (line, at) in typed.chain(page.spans()).filter(|(line, _)| line.starts_with("make ")) {
            let target = line.split(' ').nth(1).unwrap();
            assert!(makefile.lines().any(|line| line.starts_with(&format!("{target}:"))), "{}:{at}: {line}", page.path);
            found += 1;
        }
    }
    assert!(found > 10, "{found}");
    Ok(())
}

fn every_shell_block_is_sound() -> Result<(), Skip> {
    need_programs(&["bash"])?;
    let tool = Tool::new();
    for page in all() {
        for block in page.blocks().iter().filter(|block| block.language == "sh") {
            sound(&tool, &block.text, &format!("{}:{}", page.path, block.line));
        }
    }
    Ok(())
}

#[track_caller]
fn sound(tool: &Tool, script: &str, place: &str) {
    tool.write("block.sh", script);
    let read = Command::new("bash").args(["-n", "block.sh"]).current_dir(tool.path()).stderr(Stdio::piped()).output().unwrap();
    assert!(read.status.success(), "{place}: {}", String::from_utf8_lossy(&read.stderr));
}

fn every_plan_can_be_run() -> Result<(), Skip> {
    let tool = Tool::new();
    let mut plans = 0;
    for page in all() {
        for block in page.blocks().iter().filter(|block| block.language == "toml") {
            tool.study(&block.text, &["--dry-run"]).done();
            plans += 1;
        }
    }
    assert!(plans >= 2, "{plans}");
    Ok(())
}

fn every_block_has_a_language() -> Result<(), Skip> {
    for page in all() {
        for block in page.blocks() {
            let place = format!("{}:{}", page.path, block.line);
            assert!(LANGUAGES.contains(&block.language.as_str()), "{place}: '{}' is none of {LANGUAGES:?}", block.language);
            let hidden =
                block.language == "text" && lines(&block).iter().any(|line| line.starts_with("$ nettoll") || line.starts_with("$ make"));
            assert!(!hidden, "{place}: a command that no claim runs: put it into a block of its own");
            if block.language == "json" {
                serde_json::from_str::<serde_json::Value>(&block.text).unwrap_or_else(|error| panic!("{place}: {error}"));
            }
        }
    }
    Ok(())
}

fn every_link_leads_somewhere() -> Result<(), Skip> {
    let mut links = 0;
    for page in all() {
        for (target, at) in page.links().into_iter().filter(|(target, _)| !target.contains("://")) {
            let (file, anchor) = target.split_once('#').map_or((target.as_str(), None), |(file, anchor)| (file, Some(anchor)));
            let folder = Path::new(&page.path).parent().unwrap();
            let path = if file.is_empty() { page.path.clone() } else { folder.join(file).to_str().unwrap().to_owned() };
            assert!(root().join(&path).exists(), "{}:{at}: there is no {target}", page.path);
            if let Some(anchor) = anchor {
                let headings = Page::read(&path).headings();
                assert!(headings.iter().any(|heading| heading.anchor == anchor), "{}:{at}: there is no heading {target}", page.path);
            }
            links += 1;
        }
    }
    assert!(links > 100, "{links}");
    Ok(())
}

fn every_page_is_in_the_index() -> Result<(), Skip> {
    let index: BTreeSet<String> = Page::read("docs/README.md").links().into_iter().map(|(target, _)| format!("docs/{target}")).collect();
    for page in all().iter().filter(|page| !page.path.ends_with("README.md") && page.path != book::SUMMARY) {
        assert!(index.contains(&page.path), "docs/README.md does not list {}", page.path);
    }
    Ok(())
}

fn the_presets_are_those_of_the_program() -> Result<(), Skip> {
    // "quick", "buffers, after Jacobson (1988)"; sentences are no names.
    let headings = Page::read("docs/studies.md").headings();
    let names =
        headings.iter().filter(|heading| heading.level == HeadingLevel::H3).filter_map(|heading| heading.text.split(", after").next());
    let told: BTreeSet<&str> = names.filter(|name| !name.contains(' ')).collect();
    // What `nettoll workload` runs is told among them.
    let known = PRESETS.iter().map(|(name, _)| *name).chain(["workload"]).collect();
    assert_eq!(told, known);
    Ok(())
}

/// The codes that the help names.
fn codes() -> BTreeSet<String> {
    let help = Tool::new().run(&["--help"]).done().stdout;
    let codes = help.split("Exit codes: ").nth(1).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    codes.split(", ").map(|code| code.split(' ').next().unwrap().to_owned()).collect()
}

fn the_exit_codes_are_those_of_the_program() -> Result<(), Skip> {
    let codes = codes();
    let mut complete = 0;
    for page in all() {
        for table in page.tables() {
            let told: BTreeSet<String> = table.firsts.iter().cloned().collect();
            match table.heads.first().map(String::as_str) {
                Some("code") => assert_eq!(told, codes, "{}", page.path),
                Some("exit code") => assert!(told.is_subset(&codes), "{}: {told:?}", page.path),
                _ => continue,
            }
            complete += usize::from(told == codes);
        }
        for said in
            page.text.split("(exit ").skip(1).chain(page.text.split("exit code ").skip(1)).chain(page.text.split("Exit code ").skip(1))
        {
            let number: String = said.chars().take_while(char::is_ascii_digit).collect();
            assert!(number.is_empty() || codes.contains(&number), "{}: exit code {number}", page.path);
        }
    }
    assert_eq!(complete, 2, "format.md and howto/ci.md have all codes");
    Ok(())
}

/// Flags that pages mention and the help does not: of cargo, of nettoll-bench, of Slurm.
const FOREIGN: [&str; 11] = [
    "--release",
    "--package",
    "--features",
    "--nocapture",
    "--only",
    "--overlap",
    "--exclusive",
    "--no-kill",
    "--bandwidth",
    "--linux-congestion",
    "--json-stream",
];

/// The commands that the help lists.
fn commands(tool: &Tool) -> Vec<String> {
    let help = tool.run(&["help", "client"]).done().stdout;
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = list.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn every_flag_is_one_of_the_program() -> Result<(), Skip> {
    let tool = Tool::new();
    let help = tool.run(&["help", "client"]).done().stdout;
    let parts = ["check", "run"].map(|part| tool.run(&["endpoint", part, "--help"]).done().stdout);
    let helps: Vec<String> =
        commands(&tool).iter().map(|command| tool.run(&["help", command]).done().stdout).chain([help]).chain(parts).collect();
    let letters = |text: &str| text.chars().take_while(|letter| letter.is_ascii_alphanumeric() || *letter == '-').collect::<String>();
    let known: BTreeSet<String> =
        helps.iter().flat_map(|help| help.split("--").skip(1)).map(|rest| format!("--{}", letters(rest))).collect();
    let mut unknown = Vec::new();
    for page in all() {
        for (span, at) in page.spans() {
            for word in span.split([' ', '(', '`']).filter(|word| word.starts_with("--") && word.len() > 2) {
                let flag = format!("--{}", letters(word.trim_start_matches('-')));
                // `--tls-*`: all that begin so.
                let known = known.contains(&flag) || flag.ends_with('-') && known.iter().any(|other| other.starts_with(&flag));
                if !known && !FOREIGN.contains(&flag.as_str()) {
                    unknown.push(format!("{}:{at}: {flag}", page.path));
                }
            }
        }
    }
    assert!(unknown.is_empty(), "flags that no command has: {unknown:#?}");
    Ok(())
}

fn a_night_is_measured_and_its_history_told() -> Result<(), Skip> {
    need_programs(&["bash"])?;
    let tool = Tool::new();
    fs::create_dir(tool.path().join("bin")).unwrap();
    std::os::unix::fs::symlink(tool::program(), tool.path().join("bin/nettoll")).unwrap();
    let path = format!("{}:{}", tool.path().join("bin").display(), std::env::var("PATH").unwrap());
    let night = |study: &[&str]| {
        let mut night = tool.other(&root().join("packaging/ci/nightly.sh"));
        Answer::from(night.args(study).env("PATH", &path).env("METRICS", "time,sender-cpu").output().unwrap())
    };
    let quick = ["nights", "size", "--test", "UDP_RR", "--size", "1", "--blocks", "2", "-t", "5ms", "-O", "1ms"];
    for _ in 0..10 {
        assert!(matches!(night(&quick).code, Some(0 | 3)));
    }
    let last = night(&quick);
    assert!(matches!(last.code, Some(0 | 3)), "{last:#?}");
    assert!(
        ["ime per message", "ender CPU per message"].iter().all(|metric| last.stdout.contains(metric))
            && last.stdout.matches("over 11 runs").count() >= 2,
        "{last:#?}"
    );
    night(&["nights"]).refused(2, &["usage: nightly.sh RUNS STUDY"]);
    Ok(())
}
