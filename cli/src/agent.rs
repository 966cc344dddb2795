//! `nettoll agent` and `nettoll certificates`.

use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::SystemTime;

use anyhow::Context;
use lab::agent::{Agent, AgentError, Listen, Settings, capabilities};
use model::control::Limits;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

use crate::args::{AgentArgs, CertificatesArgs};
use crate::exit::{Exit, Failure};
use crate::output;

/// Serves controllers until it is asked to end.
///
/// # Errors
/// A reason that keeps it from serving, or from serving safely.
pub fn run(args: &AgentArgs) -> Result<Exit, Failure> {
    let credentials = args.trust.load()?;
    let open = !credentials.is_empty();
    let settings = Settings {
        listen: listen(args, open)?,
        credentials,
        at_once: args.at_once,
        limits: Limits { time: Some(args.limit_time), bytes: args.limit_bytes },
        data_ports: args.data_ports,
        endpoints: args.endpoint.iter().cloned().collect(),
    };
    let (stop, signalled) = UnixStream::pair().context("make a pair of sockets for signals")?;
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        pipe::register(signal, signalled.try_clone()?).context("listen for signals")?;
    }
    let agent = Agent::open(settings).map_err(failure)?;
    let keep = args.keep_capabilities.as_slice();
    if capabilities::drop_all_but(keep).context("give up root's capabilities; start the agent as an ordinary user")? && keep.is_empty() {
        output::note(
            "the agent was started as root and keeps none of its capabilities; for receipts: --keep-capabilities perfmon,bpf,syslog",
        );
    }
    if let Err(answer) = output::write(&ready(agent.addresses(), open)) {
        // A full disk behind standard output is no reason not to serve.
        output::note(&format!("print where the agent listens: {answer}; it serves nevertheless"));
    }
    agent.serve(stop.as_fd()).map_err(failure)?;
    Ok(Exit::Done)
}

fn listen(args: &AgentArgs, open: bool) -> Result<Listen, Failure> {
    let port = args.port;
    if args.listen.is_empty() {
        return Ok(if open { Listen::Everywhere { port } } else { Listen::Here { port } });
    }
    let address = |word: &String| match lab::connection::literal(word, port) {
        Ok(Some(address)) => Ok(address),
        Ok(None) => Err(Failure::misuse(format!("--listen {word}: it is no address; give one of this machine's (see `ip address`)"))),
        Err(reason) => Err(Failure::misuse(format!("--listen {word}: {reason}"))),
    };
    Ok(Listen::At(args.listen.iter().map(address).collect::<Result<_, _>>()?))
}

fn failure(error: AgentError) -> Failure {
    if error.is_misuse() { Failure::misuse(error) } else { error.into() }
}

fn ready(addresses: &[SocketAddr], open: bool) -> String {
    let places: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
    let hint = match open {
        true => "",
        false => " (this machine only; to serve others give --secret-file, or --tls-cert, --tls-key and --tls-ca)",
    };
    format!("nettoll agent: listening on {}{hint}\n", places.join(" and "))
}

/// Makes a set of certificates.
///
/// # Errors
/// A name that none can bear, a file that is there already.
pub fn make_certificates(args: &CertificatesArgs) -> Result<Exit, Failure> {
    let made = lab::connection::make_certificates(&args.directory, &args.names, SystemTime::now())?;
    let at = args.directory.display();
    output::write(&format!(
        "Made in {at}, for {} days, each with its .key:\n  \
         ca.pem          the authority; keep ca.key off the machines\n  \
         agent.pem       for agents at {}\n  \
         controller.pem  for controllers\n\
         On an agent's machine:  nettoll agent --tls-cert agent.pem --tls-key agent.key --tls-ca ca.pem\n\
         On a controller's:      --tls-cert controller.pem --tls-key controller.key --tls-ca ca.pem\n",
        made.days,
        made.names.join(", "),
    ))?;
    Ok(Exit::Done)
}
