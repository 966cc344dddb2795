//! Certificates of both sides, checked by both.

use std::fmt;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{AlertDescription, CertificateError, ClientConfig, ClientConnection, Error, RootCertStore, ServerConfig, ServerConnection};

use super::credentials::{TlsFiles, read_private, unreadable};
use crate::refusal::Refusal;

/// The longest file of certificates or keys, in bytes.
const LONGEST_FILE: u64 = 1 << 20;
/// Label for the exporter of TLS (RFC 8446, 7.5).
const EXPORTER_LABEL: &[u8] = b"EXPORTER-nettoll-proof";

/// One's own certificate and whom one trusts.
#[derive(Clone)]
pub struct Identity {
    files: TlsFiles,
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

impl fmt::Debug for Identity {
    /// Not the key.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_tuple("Identity").field(&self.files).finish()
    }
}

impl Identity {
    /// Reads the files. The key must be its owner's alone.
    pub(super) fn load(files: &TlsFiles) -> Result<Self, Refusal> {
        let key = read_private("the private key", &files.key, LONGEST_FILE)?;
        let key = PrivateKeyDer::from_pem_slice(&key)
            .map_err(|error| wrong("the private key", &files.key, format!("there is no key in PEM in it ({error})")))?;
        let chain = certificates("the certificate", &files.cert)?;
        let mut roots = RootCertStore::empty();
        for authority in certificates("the authority's certificate", &files.ca)? {
            roots.add(authority).map_err(|error| wrong("the authority's certificate", &files.ca, error.to_string()))?;
        }
        let roots = Arc::new(roots);
        let provider: Arc<CryptoProvider> = Arc::new(rustls::crypto::ring::default_provider());
        let unusable =
            |error: Error| wrong("the certificate", &files.cert, format!("it and {} do not serve: {error}", files.key.display()));
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider))
            .build()
            .map_err(|error| wrong("the authority's certificate", &files.ca, error.to_string()))?;
        let mut server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(unusable)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain.clone(), key.clone_key())
            .map_err(unusable)?;
        // A connection lasts as long as a study: none is resumed, and nothing is kept for it.
        server.send_tls13_tickets = 0;
        server.session_storage = Arc::new(NoServerSessionStorage {});
        let mut client = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(unusable)?
            .with_root_certificates(roots)
            .with_client_auth_cert(chain, key)
            .map_err(unusable)?;
        client.resumption = Resumption::disabled();
        Ok(Self { files: files.clone(), client: Arc::new(client), server: Arc::new(server) })
    }

    /// The agent's side of a new connection.
    pub(crate) fn accept(&self) -> Result<rustls::Connection, Error> {
        Ok(ServerConnection::new(Arc::clone(&self.server))?.into())
    }

    /// The controller's side of a new connection to `host`, as it was typed.
    pub(super) fn connect(&self, host: &str) -> Result<rustls::Connection, Error> {
        // The scope of a link-local address means something on one machine only.
        let host = host.split('%').next().unwrap_or(host);
        let name = match host.parse::<IpAddr>() {
            Ok(address) => ServerName::IpAddress(address.into()),
            Err(_) => ServerName::try_from(host.to_owned()).map_err(|error| Error::General(format!("'{host}': {error}")))?,
        };
        Ok(ClientConnection::new(Arc::clone(&self.client), name)?.into())
    }

    /// Returns what went wrong between this side and `other`, which certificate it was
    /// and what to do.
    pub(crate) fn describe(&self, error: &Error, other: &str) -> String {
        let TlsFiles { cert, ca, .. } = &self.files;
        let (cert, ca) = (cert.display(), ca.display());
        match error {
            Error::InvalidCertificate(reason) => format!("{other}'s certificate {}", self.wrong(reason, &ca.to_string())),
            Error::NoCertificatesPresented => format!("{other} showed no certificate; start it with --tls-cert, --tls-key and --tls-ca"),
            Error::AlertReceived(alert) => {
                format!("{other} refuses the certificate in {cert}: {}; it must come from the authority that {other} trusts", said(*alert))
            }
            Error::InvalidMessage(_) => {
                format!("{other} does not speak TLS here; give it the files of its certificate too, or leave yours out")
            }
            error => error.to_string(),
        }
    }

    fn wrong(&self, reason: &CertificateError, ca: &str) -> String {
        match reason {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                format!("has expired ({reason}); make a new one, and check both machines' clocks")
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                format!("is not valid yet ({reason}); check both machines' clocks")
            }
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                format!("does not come from the authority in {ca}; both sides need certificates of one authority")
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                format!("is for another host ({reason}); name the host as its certificate does, or make one with this name")
            }
            CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
                format!("is for another purpose ({reason}); agents and controllers have certificates of their own")
            }
            other => format!("does not hold: {other}"),
        }
    }
}

fn said(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::CertificateExpired => "it has expired".to_owned(),
        AlertDescription::UnknownCA => "its authority is unknown there".to_owned(),
        AlertDescription::CertificateRequired => "one is required".to_owned(),
        other => format!("{other:?}"),
    }
}

/// A file holds something else than it should.
fn wrong(what: &str, file: &Path, reason: String) -> Refusal {
    Refusal::new(format!("{what} {}", file.display()), reason, "`nettoll certificates DIR NAME` makes a set that fits")
}

fn certificates(what: &str, file: &Path) -> Result<Vec<CertificateDer<'static>>, Refusal> {
    let text = sys::file::read(file, LONGEST_FILE).map_err(|answer| unreadable(what, file, answer))?;
    let all: Vec<_> = CertificateDer::pem_slice_iter(&text)
        .collect::<Result<_, _>>()
        .map_err(|error| wrong(what, file, format!("it is no PEM ({error})")))?;
    if all.is_empty() { Err(wrong(what, file, "there is no certificate in PEM in it".to_owned())) } else { Ok(all) }
}

/// Returns what only the two ends of this encrypted connection can know.
pub(crate) fn binding(connection: &rustls::Connection) -> Result<[u8; 32], Error> {
    connection.export_keying_material([0; 32], EXPORTER_LABEL, None)
}
