//! Places of the hosts of a study that nettoll does not make itself: at an agent, or
//! behind a command that starts something there.
//!
//! A command is a list of words that is carried out as it stands, never by a shell of
//! this machine. It ends in a shell of the host, to which nettoll speaks over the
//! command's standard input and output.

use std::fmt;
use std::str::FromStr;

use crate::agent_address::{HostAddress, HostAddressError, is_name, split_port};
use crate::choice::stored_as_text;

/// The longest command, in bytes.
const LONGEST_COMMAND: usize = 4_096;

/// Place of a host: `ADDRESS` of an agent, or `ssh:HOST`, `slurm:NODE`, `kubectl:POD` or
/// `cmd:COMMAND`, each with `,data=ADDRESS` behind it where messages are to take
/// another address than nettoll finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostPlace {
    /// An agent listens there.
    Agent(HostAddress),
    /// A command starts the host.
    Command(CommandHost),
}

/// A host that a command starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandHost {
    /// The way there.
    pub transport: Transport,
    /// The address that messages take; `None`: nettoll finds it.
    pub data: Option<String>,
}

/// Way to a host by a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    /// `ssh:[USER@]HOST[:PORT]`; HOST may be an alias of ssh's own configuration.
    Ssh {
        /// User and host, as ssh takes them. Does not begin with `-`.
        destination: String,
        /// The port; `None`: ssh's own choice.
        port: Option<u16>,
    },
    /// `slurm:NODE`, a node of the allocation that nettoll runs in.
    Slurm {
        /// Name of the node. Does not begin with `-`.
        node: String,
    },
    /// `kubectl:[NAMESPACE/]POD[:CONTAINER]`.
    Kubectl {
        /// The namespace; `None`: that of kubectl's context.
        namespace: Option<String>,
        /// The pod. Does not begin with `-`.
        pod: String,
        /// The container; `None`: the pod's first.
        container: Option<String>,
    },
    /// `cmd:COMMAND`: any command that ends in a shell there, or in `nettoll __serve`.
    Command {
        /// It as it was written.
        text: String,
        /// Its words; at least one.
        words: Vec<String>,
    },
}

/// A text that is no place of a host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostPlaceError {
    /// No address of an agent.
    #[error(transparent)]
    Address(#[from] HostAddressError),
    /// No command.
    #[error(
        "'{text}' is no way to a host: {reason}; write ssh:[USER@]HOST[:PORT], slurm:NODE, kubectl:[NAMESPACE/]POD[:CONTAINER] or cmd:'COMMAND'"
    )]
    Command {
        /// The text.
        text: String,
        /// Fault found in it.
        reason: &'static str,
    },
}

impl HostPlace {
    /// The address that messages take, where it was given.
    pub fn data(&self) -> Option<&str> {
        match self {
            Self::Agent(at) => at.data.as_deref(),
            Self::Command(host) => host.data.as_deref(),
        }
    }

    /// The agent's address, if it is one.
    pub const fn agent(&self) -> Option<&HostAddress> {
        match self {
            Self::Agent(at) => Some(at),
            Self::Command(_) => None,
        }
    }

    /// The command, if it is one.
    pub const fn command(&self) -> Option<&CommandHost> {
        match self {
            Self::Agent(_) => None,
            Self::Command(host) => Some(host),
        }
    }

    /// A short name for sentences: the agent's address without its port, or the way
    /// by the command.
    pub fn label(&self) -> String {
        match self {
            Self::Agent(at) => at.address.clone(),
            Self::Command(host) => host.transport.to_string(),
        }
    }
}

impl From<HostAddress> for HostPlace {
    fn from(at: HostAddress) -> Self {
        Self::Agent(at)
    }
}

impl Transport {
    /// The command that gives a shell on the host, as words: the program first. Each stands
    /// for itself; `program` in place of the shell is a nettoll there, by its path.
    pub fn words(&self, program: Option<&str>) -> Vec<String> {
        let fixed = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let there = || program.map_or_else(|| fixed(&["sh"]), |program| fixed(&[program, "__serve"]));
        match self {
            Self::Ssh { destination, port } => {
                // Never a question, a terminal or a tunnel that the user's configuration asks for;
                // and a connection that is cut ends within three seconds.
                let mut words = fixed(&["ssh", "-T", "-a", "-x", "-o", "BatchMode=yes", "-o", "ClearAllForwardings=yes"]);
                words.extend(fixed(&["-o", "ServerAliveInterval=1", "-o", "ServerAliveCountMax=2"]));
                words.extend(port.iter().flat_map(|port| ["-p".to_owned(), port.to_string()]));
                // One word for the login shell there, whichever it is: `exec` leaves none behind.
                words.extend(["--".to_owned(), destination.clone(), format!("exec {}", there().join(" "))]);
                words
            }
            Self::Slurm { node } => {
                // Without -u frames wait for a newline; without --overlap the step waits for the batch script's.
                let mut words = fixed(&["srun", "-u", "--overlap", "-N1", "-n1", "-w", node]);
                words.extend(there());
                words
            }
            Self::Kubectl { namespace, pod, container } => {
                let mut words = fixed(&["kubectl", "exec", "-i"]);
                words.extend(namespace.iter().flat_map(|name| ["-n".to_owned(), name.clone()]));
                words.push(pod.clone());
                words.extend(container.iter().flat_map(|name| ["-c".to_owned(), name.clone()]));
                words.push("--".to_owned());
                words.extend(there());
                words
            }
            Self::Command { words, .. } => words.clone(),
        }
    }
}

impl FromStr for HostPlace {
    type Err = HostPlaceError;

    fn from_str(text: &str) -> Result<Self, HostPlaceError> {
        let is_port = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_digit());
        // A host whose name is `ssh` keeps its meaning with a port behind it.
        let Some((kind, rest)) = text.split_once(':').filter(|(kind, rest)| KINDS.contains(kind) && !is_port(rest)) else {
            return Ok(Self::Agent(text.parse()?));
        };
        let failed = |reason| HostPlaceError::Command { text: text.chars().take(120).collect(), reason };
        let (rest, data) = match rest.rsplit_once(",data=") {
            Some((rest, data)) if is_name(data) => (rest, Some(data.to_owned())),
            _ => (rest, None),
        };
        let transport = match kind {
            "ssh" => ssh(rest),
            "slurm" => named(rest).map(|node| Transport::Slurm { node }),
            "kubectl" => kubectl(rest),
            _ => command(rest),
        };
        Ok(Self::Command(CommandHost { transport: transport.map_err(failed)?, data }))
    }
}

/// Words before the colon of a place that is a command.
const KINDS: [&str; 4] = ["ssh", "slurm", "kubectl", "cmd"];

const DASH: &str = "a name cannot begin with '-', which the command would take for an option";
const PLAIN: &str = "a name has 1 to 255 letters, digits, '.', '-' and '_'";

/// A name that no command takes for an option or for several words.
fn named(word: &str) -> Result<String, &'static str> {
    match word {
        _ if word.starts_with('-') => Err(DASH),
        _ if is_name(word) && !word.contains([':', '%']) => Ok(word.to_owned()),
        _ => Err(PLAIN),
    }
}

fn ssh(rest: &str) -> Result<Transport, &'static str> {
    let (user, place) = rest.rsplit_once('@').map_or((None, rest), |(user, place)| (Some(user), place));
    let (host, port) = split_port(place)?;
    if host.starts_with('-') {
        return Err(DASH);
    }
    if !is_name(host) {
        return Err("a host is a name, an alias of ssh's configuration or an address");
    }
    let destination = match user {
        Some(user) => format!("{}@{host}", named(user)?),
        None => host.to_owned(),
    };
    Ok(Transport::Ssh { destination, port })
}

fn kubectl(rest: &str) -> Result<Transport, &'static str> {
    let (namespace, rest) = rest.split_once('/').map_or((None, rest), |(namespace, rest)| (Some(namespace), rest));
    let (pod, container) = rest.split_once(':').map_or((rest, None), |(pod, container)| (pod, Some(container)));
    Ok(Transport::Kubectl { namespace: namespace.map(named).transpose()?, pod: named(pod)?, container: container.map(named).transpose()? })
}

fn command(text: &str) -> Result<Transport, &'static str> {
    if text.len() > LONGEST_COMMAND {
        return Err("a command has at most 4096 bytes");
    }
    if text.chars().any(char::is_control) {
        return Err("a command is one line without control characters");
    }
    let words = shlex::split(text).ok_or("a quote has no end, or a '\\' nothing behind it")?;
    match words.first() {
        None => Err("there is no command"),
        Some(first) if first.is_empty() => Err("its first word, the program, is empty"),
        Some(_) => Ok(Transport::Command { text: text.to_owned(), words }),
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Ssh { destination, port: None } => write!(f, "ssh:{}", Bracketed(destination)),
            Self::Ssh { destination, port: Some(port) } => write!(f, "ssh:{}:{port}", Bracketed(destination)),
            Self::Slurm { node } => write!(f, "slurm:{node}"),
            Self::Kubectl { namespace, pod, container } => {
                let namespace = namespace.as_ref().map_or_else(String::new, |name| format!("{name}/"));
                let container = container.as_ref().map_or_else(String::new, |name| format!(":{name}"));
                write!(f, "kubectl:{namespace}{pod}{container}")
            }
            Self::Command { text, .. } => write!(f, "cmd:{text}"),
        }
    }
}

/// A destination of ssh, with its address in brackets where a colon of it would be taken
/// for that of a port.
struct Bracketed<'a>(&'a str);

impl fmt::Display for Bracketed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (user, host) = self.0.rsplit_once('@').map_or(("", self.0), |(user, host)| (user, host));
        let at = if user.is_empty() { "" } else { "@" };
        // Digits alone would be the port of a host called ssh.
        let digits = user.is_empty() && host.bytes().all(|byte| byte.is_ascii_digit());
        match host.contains(':') || digits {
            true => write!(f, "{user}{at}[{host}]"),
            false => write!(f, "{user}{at}{host}"),
        }
    }
}

impl fmt::Display for HostPlace {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Agent(at) => at.fmt(f),
            Self::Command(host) => {
                host.transport.fmt(f)?;
                host.data.as_ref().map_or(Ok(()), |data| write!(f, ",data={data}"))
            }
        }
    }
}

stored_as_text!(HostPlace);

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop, proptest};

    use super::{HostPlace, Transport};

    fn read(text: &str) -> HostPlace {
        let place: HostPlace = text.parse().unwrap();
        assert_eq!(place.to_string().parse::<HostPlace>().as_ref(), Ok(&place), "{text}");
        place
    }

    fn words(text: &str) -> String {
        read(text).command().unwrap().transport.words(None).join(" ")
    }

    fn complaint(text: &str) -> String {
        text.parse::<HostPlace>().unwrap_err().to_string()
    }

    #[test]
    fn an_address_stays_one_and_a_host_may_be_called_ssh() {
        assert_eq!(read("db1").agent().unwrap().address, "db1");
        assert_eq!((read("ssh:7000").agent().unwrap().port, read("cmd").agent().unwrap().address.as_str()), (7_000, "cmd"));
        assert_eq!(read("db1,data=192.0.2.1").data(), Some("192.0.2.1"));
    }

    #[test]
    fn the_words_of_each_way_are_the_ones_that_it_needs() {
        let ssh = words("ssh:op@db1:2222");
        assert!(ssh.starts_with("ssh -T ") && ssh.ends_with(" -p 2222 -- op@db1 exec sh"), "{ssh}");
        assert!(ssh.contains("BatchMode=yes") && ssh.contains("ServerAliveInterval=1") && !ssh.contains("-tt"), "{ssh}");
        assert!(words("ssh:2001:db8::1").ends_with(" -- 2001:db8::1 exec sh"));
        assert!(words("ssh:[2001:db8::1]:22").ends_with(" -p 22 -- 2001:db8::1 exec sh"));
        assert_eq!(words("slurm:n1"), "srun -u --overlap -N1 -n1 -w n1 sh");
        assert_eq!(words("kubectl:lab/pod-1:box"), "kubectl exec -i -n lab pod-1 -c box -- sh");
        assert_eq!(words("kubectl:pod-1,data=10.0.0.1"), "kubectl exec -i pod-1 -- sh");
        let of_program = read("ssh:db1").command().unwrap().transport.words(Some("/opt/nettoll"));
        assert_eq!(of_program.last().map(String::as_str), Some("exec /opt/nettoll __serve"));
    }

    #[test]
    fn words_of_a_command_are_taken_as_they_are() {
        let place = read("cmd:ssh -J 'a b' db1 \"$HOME; rm\" sh,data=192.0.2.9");
        let Transport::Command { words, .. } = &place.command().unwrap().transport else { panic!("{place:?}") };
        assert_eq!(words, &["ssh", "-J", "a b", "db1", "$HOME; rm", "sh"]);
        assert_eq!(place.data(), Some("192.0.2.9"));
    }

    #[test]
    fn what_is_no_way_is_refused_with_the_reason() {
        for text in ["ssh:-oProxyCommand=x", "ssh:-l@db1", "slurm:-w", "kubectl:-n", "kubectl:lab/-x"] {
            assert!(complaint(text).contains("cannot begin with '-'"), "{}", complaint(text));
        }
        for (text, reason) in [
            ("ssh:", "no address of a host"),
            ("ssh:a b", "a host is a name"),
            ("ssh:db1:0", "a port is a number"),
            ("ssh:[::1", "without its ']'"),
            ("slurm:a,b", "letters, digits"),
            ("kubectl:a/b/c", "letters, digits"),
            ("cmd:'", "a quote has no end"),
            ("cmd: ", "there is no command"),
            ("cmd:''", "its first word"),
            ("cmd:a\nb", "control characters"),
        ] {
            assert!(complaint(text).contains(reason), "{text}: {}", complaint(text));
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic_and_what_it_reads_comes_back(
            kind in prop::sample::select(vec!["", "ssh:", "slurm:", "kubectl:", "cmd:"]),
            rest in any::<String>(),
        ) {
            if let Ok(place) = format!("{kind}{rest}").parse::<HostPlace>() {
                assert_eq!(place.to_string().parse(), Ok(place));
            }
        }

        #[test]
        fn no_word_of_a_name_is_taken_for_an_option(name in "[-a-z@.:/\\[\\]%]{1,12}") {
            for kind in ["ssh", "slurm", "kubectl"] {
                let Ok(HostPlace::Command(host)) = format!("{kind}:{name}").parse::<HostPlace>() else { continue };
                let own = ["ssh", "-T", "-a", "-x", "-o", "-p", "--", "srun", "-u", "--overlap", "-N1", "-n1", "-w", "exec", "-i", "-n", "-c"];
                assert!(host.transport.words(None).iter().all(|word| !word.starts_with('-') || own.contains(&word.as_str())));
            }
        }
    }
}
