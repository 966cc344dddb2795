//! Options of iperf3 that mean something else here, or nothing.

use std::ffi::OsString;

use clap::{Arg, Command, CommandFactory};

use super::Arguments;

/// Words by which iperf3 (3.12 to 3.21) knows an option that `nettoll -c` and `nettoll
/// -s` do not have, and what to use instead. Not the options that both have.
const INSTEAD: &[(&[&str], &str)] = &[
    (&["-D", "--daemon"], "run the agent as a service (nettoll-agent.service), or leave it in the foreground"),
    (&["-1", "--one-off"], "the agent serves until it is ended; end it with Ctrl-C"),
    (&["-I", "--pidfile"], "a service manager knows the agent's process (nettoll-agent.service)"),
    (&["-d", "--debug"], "nothing of the kind; -J has every count"),
    (&["-f", "--format"], "figures carry the unit that keeps them short; -J has plain numbers"),
    (&["-F", "--file"], "messages hold no file: only their size matters to the stack"),
    (&["-B", "--bind"], "name the address that messages go to: -c HOST,data=ADDRESS; the agent listens on --listen ADDRESS"),
    (&["--bind-dev"], "the route to HOST decides the device; the header names it"),
    (&["--cport"], "--data-port PORT is the port that messages come to; the other is the kernel's choice"),
    (&["--skip-rx-copy"], "nettoll -c HOST --receive trunc"),
    (&["--gsro"], "nettoll -c HOST -u --api gso"),
    (&["-M", "--set-mss"], "the segment size is TCP's; `nettoll study --mtu BYTES` sets the MTU of a link of nettoll's own"),
    (&["-L", "--flowlabel"], "the IPv6 flow label is the kernel's choice"),
    (&["-T", "--title", "--extra-data"], "name a stored run by its directory: --runs DIR"),
    (&["--logfile"], "standard output goes wherever the shell sends it: > FILE"),
    (&["--get-server-output"], "both ends' figures are in the summary and in -J already"),
    (&["--forceflush"], "every line is flushed already"),
    (&["-v"], "nettoll -V prints the version; with -c, --version"),
    (&["--timestamps"], "-J has the time of the start, and every interval its seconds from there"),
    (&["--length"], "-l SIZE (--size) is the message size, -t TIME (--time) the measured time"),
    (&["--pacing-timer", "--fq-rate", "--no-fq-socket-pacing"], "-b RATE paces in the sender itself; --pacing says how it waits"),
    (
        &["--connect-timeout", "--rcv-timeout", "--snd-timeout", "--idle-timeout", "--cntl-ka"],
        "limits of time are built in, and an end that is lost is noticed; the agent has --limit-time",
    ),
    (&["--udp-counters-64bit", "--repeating-payload", "--dont-fragment"], "messages are the same always, with 64-bit numbers"),
    (
        &[
            "--username",
            "--rsa-public-key-path",
            "--rsa-private-key-path",
            "--authorized-users-path",
            "--time-skew-threshold",
            "--use-pkcs1-padding",
        ],
        "--secret-file FILE or TLS certificates (--tls-cert) let in",
    ),
    (&["--server-bitrate-limit", "--server-max-duration"], "the agent has --limit-bytes and --limit-time"),
];

/// The same of options that iperf3's server has as well, and `nettoll -c`, but
/// `nettoll -s` does not; all others of `nettoll -c` are [`OF_CLIENT`].
const INSTEAD_OF_AGENT: &[(&[&str], &str)] = &[
    (&["-i", "--interval"], "the lines are the client's: nettoll -c HOST -i TIME"),
    (
        &["-J", "--json", "--json-stream", "--json-stream-full-output"],
        "the figures of both ends are the client's: nettoll -c HOST -J; the agent's log is on standard error",
    ),
    (&["-4", "--version4"], "--listen 0.0.0.0 serves IPv4 alone"),
    (&["-6", "--version6"], "--listen :: serves IPv6"),
    (&["-A", "--affinity"], "the client says it for both ends: nettoll -c HOST -A CPU,CPU"),
    (&["--verbose"], "the agent's log on standard error names every controller"),
];

/// The hint to an option of the other end.
const OF_CLIENT: &str = "give it to the client: nettoll -c HOST";

/// Replacement of an option of iperf3's; `None` for any other word.
pub fn instead(word: &str, agent: bool) -> Option<&'static str> {
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    let own: &[_] = if agent { INSTEAD_OF_AGENT } else { &[] };
    let listed = own.iter().chain(INSTEAD).find(|(names, _)| names.contains(&name)).map(|(_, instead)| *instead);
    listed.or_else(|| (agent && options(&Arguments::command()).iter().any(|option| option == name)).then_some(OF_CLIENT))
}

/// The options of a command, in every spelling that it takes.
fn options(command: &Command) -> Vec<String> {
    let long = command.get_arguments().flat_map(|arg| arg.get_long().into_iter().chain(arg.get_all_aliases().unwrap_or_default()));
    let short = command.get_arguments().filter_map(Arg::get_short).map(|letter| format!("-{letter}"));
    long.map(|name| format!("--{name}")).chain(short).collect()
}

/// A command line as it is for clap: of one with `-s`, `nettoll agent` and the
/// rest; of one with `-c`, iperf3's `-V` as what it means there. Unchanged where
/// it begins with a command, or asks for both, which clap refuses.
pub fn understood(mut words: Vec<OsString>) -> Vec<OsString> {
    if is_agent(&words) {
        if let Some((place, rest)) = words.iter().enumerate().skip(1).find_map(|(place, word)| Some((place, server(word)?))) {
            words.remove(place);
            if !rest.is_empty() {
                words.insert(place, format!("-{rest}").into());
            }
        }
        words.insert(1, "agent".into());
    } else if begins_with_option(&words) && words.iter().skip(1).any(is_client) {
        words.iter_mut().skip(1).filter(|word| *word == "-V").for_each(|word| *word = "--verbose".into());
    }
    words
}

/// Whether a command line asks for an agent by iperf3's letter.
pub fn is_agent(words: &[OsString]) -> bool {
    begins_with_option(words) && words.iter().skip(1).any(|word| server(word).is_some()) && !words.iter().skip(1).any(is_client)
}

fn begins_with_option(words: &[OsString]) -> bool {
    words.get(1).and_then(|word| word.to_str()).is_some_and(|word| word.starts_with('-'))
}

fn is_client(word: &OsString) -> bool {
    word.to_str().is_some_and(|word| word == "--client" || word.starts_with("--client=") || word.starts_with("-c"))
}

/// The letters that stand behind `-s` in one word with it, if it is one.
fn server(word: &OsString) -> Option<String> {
    match word.to_str()? {
        "--server" => Some(String::new()),
        word => word.strip_prefix("-s").map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::{INSTEAD, INSTEAD_OF_AGENT, OF_CLIENT, instead, options, understood};
    use crate::args::Arguments;
    use clap::{CommandFactory, Parser};
    use std::ffi::OsString;

    fn rewritten(line: &str) -> String {
        let words = understood(line.split(' ').map(OsString::from).collect());
        words.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_server_is_an_agent() {
        assert_eq!(rewritten("nettoll -s"), "nettoll agent");
        assert_eq!(rewritten("nettoll -s -p 5201"), "nettoll agent -p 5201");
        assert_eq!(rewritten("nettoll --secret-file x -s"), "nettoll agent --secret-file x");
        assert_eq!(rewritten("nettoll -sp 5201"), "nettoll agent -p 5201");
        assert_eq!(rewritten("nettoll -p 5201 -sD"), "nettoll agent -p 5201 -D");
        let others = [
            "nettoll",
            "nettoll -c host",
            "nettoll -c host -s",
            "nettoll study quick -s",
            "nettoll --help",
            "nettoll -V",
            "nettoll study -V",
        ];
        for other in others {
            assert_eq!(rewritten(other), other);
        }
    }

    #[test]
    fn a_client_is_verbose() {
        assert_eq!(rewritten("nettoll -c host -V"), "nettoll -c host --verbose");
        assert_eq!(rewritten("nettoll -V -chost -t 1"), "nettoll --verbose -chost -t 1");
    }

    /// Every option of iperf3 3.12 to 3.21, as `longopts` and the letters of its
    /// src/iperf_api.c have them.
    const ALL: &[&str] = &[
        "--affinity",
        "-A",
        "--authorized-users-path",
        "--bandwidth",
        "--bidir",
        "--bind",
        "-B",
        "--bind-dev",
        "--bitrate",
        "-b",
        "--blockcount",
        "-k",
        "--bytes",
        "-n",
        "--client",
        "-c",
        "--cntl-ka",
        "--congestion",
        "-C",
        "--connect-timeout",
        "--cport",
        "--daemon",
        "-D",
        "--debug",
        "-d",
        "--dont-fragment",
        "--dscp",
        "--extra-data",
        "--file",
        "-F",
        "--flowlabel",
        "-L",
        "--forceflush",
        "--format",
        "-f",
        "--fq-rate",
        "--get-server-output",
        "--gsro",
        "--help",
        "-h",
        "--idle-timeout",
        "--interval",
        "-i",
        "--json",
        "-J",
        "--json-stream",
        "--json-stream-full-output",
        "--length",
        "-l",
        "--linux-congestion",
        "--logfile",
        "--mptcp",
        "-m",
        "--no-delay",
        "-N",
        "--no-fq-socket-pacing",
        "--nstreams",
        "--omit",
        "-O",
        "--one-off",
        "-1",
        "--pacing-timer",
        "--parallel",
        "-P",
        "--pidfile",
        "-I",
        "--port",
        "-p",
        "--rcv-timeout",
        "--repeating-payload",
        "--reverse",
        "-R",
        "--rsa-private-key-path",
        "--rsa-public-key-path",
        "--sctp",
        "--server",
        "-s",
        "--server-bitrate-limit",
        "--server-max-duration",
        "--set-mss",
        "-M",
        "--skip-rx-copy",
        "--snd-timeout",
        "--time",
        "-t",
        "--time-skew-threshold",
        "--timestamps",
        "--title",
        "-T",
        "--tos",
        "-S",
        "--udp",
        "-u",
        "--udp-counters-64bit",
        "--use-pkcs1-padding",
        "--username",
        "--verbose",
        "-V",
        "--version",
        "-v",
        "--version4",
        "-4",
        "--version6",
        "-6",
        "--window",
        "-w",
        "--xbind",
        "-X",
        "--zerocopy",
        "-Z",
    ];

    #[test]
    fn every_option_of_iperf3_is_taken_or_has_its_hint() {
        let mut client = Arguments::command();
        client.build();
        let agent = client.find_subcommand("agent").unwrap().clone();
        for (command, is_agent) in [(client, false), (agent, true)] {
            // `-s` and `-c` are read before; whose help and version is asked for is clap's.
            let own = [options(&command), ["-s", "--server", "-c", "--client", "-V", "--version"].map(str::to_owned).to_vec()].concat();
            for option in ALL {
                let taken = own.iter().any(|name| name == option);
                let hint = instead(option, is_agent);
                assert!(taken || hint.is_some(), "{option} has no hint (agent: {is_agent})");
                // An option that is listed is none of ours: its hint would never be seen.
                let listed = hint.is_some_and(|hint| hint != OF_CLIENT);
                assert!(!taken || !listed || *option == "--verbose", "{option} is taken and has a hint (agent: {is_agent})");
            }
        }
    }

    #[test]
    fn the_trials_of_hints_can_be_asked_for() {
        let lines: Vec<&str> = INSTEAD.iter().map(|(_, hint)| *hint).filter(|hint| hint.starts_with("nettoll -c HOST -")).collect();
        for line in &lines {
            assert!(Arguments::try_parse_from(line.split(' ')).is_ok(), "{line}");
        }
        assert!(lines.len() >= 2);
    }

    #[test]
    fn each_word_is_listed_once() {
        let all: Vec<&str> = INSTEAD.iter().chain(INSTEAD_OF_AGENT).flat_map(|(names, _)| *names).copied().collect();
        let mut once = all.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(all.len(), once.len());
        assert!(instead("--cport=8", false).is_some() && instead("--parallel", false).is_none());
        assert!(instead("-i", true).is_some() && instead("-i", false).is_none());
    }
}
