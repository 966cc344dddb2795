//! What the hand of an iperf3 user types that means something else here, or nothing.

use std::ffi::OsString;

/// Words by which iperf3 (3.12) knows an option that `nettoll -c` and `nettoll
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
    (&["-Z", "--zerocopy"], "there is one way to hand over messages as yet: send"),
    (&["-S", "--tos", "--dscp"], "type of service cannot be set"),
    (&["-M", "--set-mss"], "the segment size is TCP's; `nettoll study --mtu BYTES` sets the MTU of a link of nettoll's own"),
    (&["-L", "--flowlabel"], "the IPv6 flow label is the kernel's choice"),
    (&["-X", "--xbind", "--sctp", "--nstreams"], "there is no SCTP: TCP (the default) or UDP (-u)"),
    (&["-T", "--title", "--extra-data"], "name a stored run by its directory: --runs DIR"),
    (&["--logfile"], "standard output goes wherever the shell sends it: > FILE"),
    (&["--get-server-output"], "both ends' figures are in the summary and in -J already"),
    (&["--forceflush"], "every line is flushed already"),
    (&["--timestamps"], "-J has the time of the start, and every interval its seconds from there"),
    (&["--length"], "-l SIZE (--size) is the message size, -t TIME (--time) the measured time"),
    (&["--pacing-timer", "--fq-rate", "--no-fq-socket-pacing"], "-b RATE paces in the sender itself; --pacing says how it waits"),
    (&["--connect-timeout", "--rcv-timeout", "--snd-timeout", "--idle-timeout"], "limits of time are built in; the agent has --limit-time"),
    (&["--udp-counters-64bit", "--repeating-payload", "--dont-fragment"], "messages are the same always, with 64-bit numbers"),
    (
        &["--username", "--rsa-public-key-path", "--rsa-private-key-path", "--authorized-users-path"],
        "--secret-file FILE or TLS certificates (--tls-cert) let in",
    ),
    (&["-V"], "--verbose lists every flow; -V is nettoll's version"),
    (&["--server-bitrate-limit", "--server-max-duration"], "the agent has --limit-bytes and --limit-time"),
];

/// What to use in place of an option of iperf3's; `None` of any other word.
pub fn instead(word: &str) -> Option<&'static str> {
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    INSTEAD.iter().find(|(names, _)| names.contains(&name)).map(|(_, instead)| *instead)
}

/// A command line with `-s` as it is for clap: `nettoll agent` and the rest.
/// Unchanged where `-s` is not asked for, or `-c` as well, which clap refuses.
pub fn as_agent(words: Vec<OsString>) -> Vec<OsString> {
    let is = |word: &OsString, names: [&str; 2]| names.iter().any(|name| word == name);
    let options = words.get(1).is_some_and(|word| word.to_str().is_some_and(|word| word.starts_with('-')));
    let asked = words.iter().skip(1).position(|word| is(word, ["-s", "--server"]));
    let client = words.iter().skip(1).any(|word| is(word, ["-c", "--client"]));
    match asked {
        Some(place) if options && !client => {
            let mut all = words;
            all.remove(place + 1);
            all.insert(1, "agent".into());
            all
        }
        _ => words,
    }
}

#[cfg(test)]
mod tests {
    use super::{INSTEAD, as_agent, instead};
    use std::ffi::OsString;

    fn rewritten(line: &str) -> String {
        let words = as_agent(line.split(' ').map(OsString::from).collect());
        words.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_server_is_an_agent() {
        assert_eq!(rewritten("nettoll -s"), "nettoll agent");
        assert_eq!(rewritten("nettoll -s -p 5201"), "nettoll agent -p 5201");
        assert_eq!(rewritten("nettoll --secret-file x -s"), "nettoll agent --secret-file x");
        for other in ["nettoll", "nettoll -c host", "nettoll -c host -s", "nettoll study quick -s", "nettoll --help"] {
            assert_eq!(rewritten(other), other);
        }
    }

    #[test]
    fn each_word_is_listed_once() {
        let all: Vec<&str> = INSTEAD.iter().flat_map(|(names, _)| *names).copied().collect();
        let mut once = all.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(all.len(), once.len());
        assert!(instead("--dscp=8").is_some() && instead("--parallel").is_none());
    }
}
