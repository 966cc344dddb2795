//! `nettoll agent`, what keeps strangers out of it, and `nettoll deploy`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::Args;
use lab::agent::MOST_CONTROLLERS;
use lab::agent::capabilities::KeptCapability;
use lab::connection::TlsFiles;
use model::plan::{AGENT_PORT, CommandHost, HostPlace};
use model::{Bytes, Nanos, Program};

/// `nettoll agent`.
#[derive(Debug, Args)]
pub struct AgentArgs {
    /// Address to listen on, such as 192.0.2.1, ::1 or fe80::1%eth0; may be given again. Without it:
    /// every address if there is a secret or a certificate, otherwise only loopback
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Vec<String>,
    /// Port to listen on; 0: the kernel chooses
    #[arg(short = 'p', long, value_name = "PORT", default_value_t = AGENT_PORT, allow_hyphen_values = true)]
    pub port: u16,
    /// Most controllers whose trials may run at once; records say how many did
    #[arg(long, value_name = "NUMBER", default_value_t = NonZeroU32::MIN, value_parser = parse_at_once, allow_hyphen_values = true)]
    pub at_once: NonZeroU32,
    /// Longest trial, from its preparation to its report
    #[arg(long, value_name = "TIME", default_value = "1h", allow_hyphen_values = true, help_heading = "Limits")]
    pub limit_time: Nanos,
    /// Most bytes that one end of a trial may send; without it, unlimited
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, help_heading = "Limits")]
    pub limit_bytes: Option<Bytes>,
    /// Ports that receive messages, such as 11000-11099, for a firewall that lets only these through;
    /// without it the kernel chooses them
    #[arg(long, value_name = "A-B", value_parser = parse_ports)]
    pub data_ports: Option<(u16, u16)>,
    /// Program that controllers may use as an end of a trial, under a name; may be given again.
    /// Controllers can run no other program, and pass no arguments
    #[arg(long, value_name = "NAME=PROGRAM", value_parser = parse_endpoint)]
    pub endpoint: Vec<(String, Program)>,
    /// Capabilities that an agent started as root keeps: perfmon, bpf, syslog (receipts need these
    /// three), net_admin, net_raw. It drops all others
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub keep_capabilities: Vec<KeptCapability>,
    /// Secret and certificates
    #[command(flatten)]
    pub trust: TrustArgs,
}

/// Files of a secret and of certificates.
#[derive(Debug, Args)]
#[command(next_help_heading = "Trust (the files must be readable by their owner only)")]
pub struct TrustArgs {
    /// File with the secret that controllers and agents share
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// This side's certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_key", requires = "tls_ca")]
    tls_cert: Option<PathBuf>,
    /// Private key of this side's certificate
    #[arg(long, value_name = "FILE", requires = "tls_cert", requires = "tls_ca")]
    tls_key: Option<PathBuf>,
    /// Certificate of the authority that must have signed the other side's certificate
    #[arg(long, value_name = "FILE", requires = "tls_cert", requires = "tls_key")]
    tls_ca: Option<PathBuf>,
    /// Ask for no proof over loopback. Do not use it if anything forwards connections to this machine,
    /// such as a tunnel or a proxy
    #[arg(long)]
    trust_loopback: bool,
}

/// `nettoll certificates`.
#[derive(Debug, Args)]
pub struct CertificatesArgs {
    /// Directory for the certificates
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Names and addresses of agents, as after --host
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
}

impl TrustArgs {
    /// What the files hold.
    ///
    /// # Errors
    /// A file that cannot serve.
    pub fn load(&self) -> Result<lab::connection::Credentials, lab::refusal::Refusal> {
        let tls = match (&self.tls_cert, &self.tls_key, &self.tls_ca) {
            (Some(cert), Some(key), Some(ca)) => Some(TlsFiles { cert: cert.clone(), key: key.clone(), ca: ca.clone() }),
            _ => None,
        };
        let loaded = lab::connection::Credentials::load(self.secret_file.as_deref(), tls.as_ref())?;
        Ok(lab::connection::Credentials { trust_loopback: self.trust_loopback, ..loaded })
    }
}

fn parse_endpoint(word: &str) -> Result<(String, Program), String> {
    let named = |name: &&str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    let (name, command) =
        word.split_once('=').filter(|(name, _)| named(name)).ok_or("write NAME=PROGRAM; a name has letters, digits, - _ and .")?;
    Program::new(command).map(|program| (name.to_owned(), program)).map_err(|error| error.to_string())
}

fn parse_at_once(word: &str) -> Result<NonZeroU32, String> {
    let number = word.parse::<NonZeroU32>().ok().filter(|number| number.get() as usize <= MOST_CONTROLLERS);
    number.ok_or_else(|| format!("'{word}' is no number of trials at once: 1 to {MOST_CONTROLLERS}, as many as an agent serves"))
}

fn parse_ports(word: &str) -> Result<(u16, u16), String> {
    let (first, last) = word.split_once('-').ok_or("write the first and the last port: 11000-11099")?;
    let port = |word: &str| word.parse::<u16>().ok().filter(|port| *port > 0).ok_or_else(|| format!("'{word}' is no port from 1 to 65535"));
    match (port(first)?, port(last)?) {
        (first, last) if first <= last => Ok((first, last)),
        _ => Err("the lower port comes first".to_owned()),
    }
}

/// `nettoll deploy`.
#[derive(Debug, Args)]
pub struct DeployArgs {
    /// Hosts, as after --host: ssh:db1, slurm:NODE, kubectl:POD, 'cmd:ANY COMMAND'
    #[arg(value_name = "PLACE", required = true, value_parser = parse)]
    pub places: Vec<CommandHost>,
    /// Remove every copy of nettoll there, of any version
    #[arg(long)]
    pub prune: bool,
}

fn parse(word: &str) -> Result<CommandHost, String> {
    match word.parse() {
        Ok(HostPlace::Command(host)) => Ok(host),
        Ok(HostPlace::Agent(_)) => {
            Err("that would be an agent, to which nothing is copied: write ssh:, slurm:, kubectl: or cmd: before it".to_owned())
        }
        Err(error) => Err(error.to_string()),
    }
}
