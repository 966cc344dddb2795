//! A certificate authority of one's own, and certificates for agents and
//! controllers, so that nobody needs another tool for them.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, SanType, date_time_ymd,
};

use super::proof::random;
use crate::refusal::{Refusal, refused};

/// Time that certificates hold: two years.
const DAYS: u32 = 730;
/// Clocks of two machines may differ by this much.
const CLOCK_DIFFERENCE: Duration = DAY;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A file or the directory could not be made.
fn no_file(path: &Path, answer: &io::Error) -> Refusal {
    let remedy = match answer.kind() {
        io::ErrorKind::AlreadyExists => "nothing is overwritten: choose another directory, or remove the old set if no agent uses it",
        _ => "",
    };
    Refusal::new(format!("make {}", path.display()), answer, remedy)
}

/// The files made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateSet {
    /// Every file, in the order: authority, agent, controller; each its
    /// certificate, then its key.
    pub files: Vec<PathBuf>,
    /// The names that agents may be reached by.
    pub names: Vec<String>,
    /// Days for which they hold.
    pub days: u32,
}

/// Makes `ca`, `agent` and `controller`, each a `.pem` and a `.key`, in a
/// directory. They hold from `now` on for two years, the agent's for `names`
/// and for this machine itself. Nothing is overwritten.
///
/// # Errors
/// See [`Refusal`].
pub fn make_certificates(directory: &Path, names: &[String], now: SystemTime) -> Result<CertificateSet, Refusal> {
    let mut all: Vec<String> = names.to_vec();
    all.extend(["localhost", "127.0.0.1", "::1"].map(str::to_owned));
    let alternatives = all.iter().map(|name| alternative(name)).collect::<Result<Vec<_>, _>>()?;
    let unmade = |error| refused("make a certificate", "")(error);
    let authority = authority(now).map_err(unmade)?;
    let leaf = |name, purpose, alternatives| leaf(named(name, now), purpose, alternatives, &authority).map_err(unmade);
    let (agent, agent_key) = leaf("nettoll agent", ExtendedKeyUsagePurpose::ServerAuth, alternatives)?;
    let (controller, controller_key) = leaf("nettoll controller", ExtendedKeyUsagePurpose::ClientAuth, Vec::new())?;
    DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(|answer| no_file(directory, &answer))?;
    let contents = [
        ("ca.pem", pem("CERTIFICATE", authority.der())),
        ("ca.key", pem("PRIVATE KEY", &authority.key().serialize_der())),
        ("agent.pem", agent),
        ("agent.key", agent_key),
        ("controller.pem", controller),
        ("controller.key", controller_key),
    ];
    let mut files = Vec::new();
    for (name, text) in contents {
        let path = directory.join(name);
        write_private(&path, &text).map_err(|answer| no_file(&path, &answer))?;
        files.push(path);
    }
    Ok(CertificateSet { files, names: all, days: DAYS })
}

fn authority(now: SystemTime) -> Result<CertifiedIssuer<'static, KeyPair>, rcgen::Error> {
    // Of a name of its own: by that, those of other sets are told from it.
    let mark = random::<4>().ok_or(rcgen::Error::RingUnspecified)?;
    let mut params = named(&format!("nettoll authority {:08x}", u32::from_be_bytes(mark)), now);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    CertifiedIssuer::self_signed(params, KeyPair::generate()?)
}

fn leaf(
    mut params: CertificateParams,
    purpose: ExtendedKeyUsagePurpose,
    alternatives: Vec<SanType>,
    authority: &CertifiedIssuer<'_, KeyPair>,
) -> Result<(String, String), rcgen::Error> {
    params.subject_alt_names = alternatives;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    // One side's certificate is no use as the other's.
    params.extended_key_usages = vec![purpose];
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, authority)?;
    Ok((pem("CERTIFICATE", certificate.der()), pem("PRIVATE KEY", &key.serialize_der())))
}

/// The textual form of RFC 7468: lines of 64 characters between two marks.
fn pem(label: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let lines: String = (0..text.len()).step_by(64).map(|at| format!("{}\n", &text[at..text.len().min(at + 64)])).collect();
    format!("-----BEGIN {label}-----\n{lines}-----END {label}-----\n")
}

fn named(name: &str, now: SystemTime) -> CertificateParams {
    // rcgen has a date type of its own, which is reached from a date and a duration.
    let now = date_time_ymd(1970, 1, 1) + now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = now - CLOCK_DIFFERENCE;
    params.not_after = now + DAY * DAYS;
    params
}

fn alternative(name: &str) -> Result<SanType, Refusal> {
    let wrong = |reason: String| {
        let tried = format!("'{}' is no name of a host", name.chars().take(120).collect::<String>());
        Refusal::new(tried, reason, "give host names or addresses, as they will stand behind --host")
    };
    // Without the scope, which means something on one machine only.
    let bare = name.split('%').next().unwrap_or(name);
    if let Ok(address) = bare.parse::<IpAddr>() {
        return Ok(SanType::IpAddress(address));
    }
    rustls::pki_types::DnsName::try_from(name.to_owned()).map_err(|error| wrong(error.to_string()))?;
    Ok(SanType::DnsName(name.try_into().map_err(|error: rcgen::Error| wrong(error.to_string()))?))
}

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
