//! QUIC by quinn, on one thread of tokio: datagrams carry the messages of UDP tests, one stream those
//! of TCP tests. The receiver is the server, with a certificate that it makes at its start.

use std::fmt::Display;
use std::future::{Future, pending, poll_fn};
use std::net::{SocketAddr, UdpSocket};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use model::{Protocol, Role};
use quinn::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Connection, Endpoint, EndpointConfig, ServerConfig, TokioRuntime, TransportConfig};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};
use socket2::{Domain, SockAddr, Socket, Type};
use tokio::runtime::Builder;

use super::numbers::Numbers;
use crate::contract::{Harness, Running, STOP, Setup};
use crate::error::StackError;

/// Name in the certificate.
const NAME: &str = "nettoll";
/// Bytes of IP's and UDP's heads, by version of IP, and the UDP payload of Ethernet's usual MTU, which is
/// the largest that is used: a larger one would be found by probes while messages flow.
const HEADS: [u16; 2] = [28, 48];
const ETHERNET: u16 = 1_500;
/// The least that QUIC asks of a path (RFC 9000, section 14).
const LEAST: u16 = 1_200;
/// Bytes that wait in quinn at most: what is left at the end of a trial has to go before it ends.
const WINDOW: usize = 256 << 10;
/// Messages after which a sender lets quinn work: handing them over is no wait, and a loop that never
/// waits leaves the only thread to nothing else.
const TURN: u64 = 64;
/// Time after which a look at what is left to be sent is repeated.
const LOOK: Duration = Duration::from_millis(1);

/// Is an end on quinn.
///
/// # Errors
/// A breach of the contract, a refusal of the system, a message that no datagram holds.
pub fn run(mut harness: Harness) -> Result<(), StackError> {
    let setup = harness.setup().clone();
    let runtime =
        Builder::new_current_thread().enable_io().enable_time().build().map_err(|answer| StackError::system("start tokio", answer))?;
    let socket = bound(&setup)?;
    let port = socket.local_addr().map_err(|answer| StackError::system("read the port of a socket", answer))?.port();
    let peer = harness.join(Some(port))?;
    let connection = runtime.block_on(connect(socket, &setup, peer))?;
    if let Some(most) = connection.max_datagram_size().filter(|most| setup.protocol == Protocol::Udp && *most < setup.size) {
        let told = format!(
            "a message of {} B does not fit a datagram of QUIC on this path, which has at most {most} B: take smaller ones",
            setup.size
        );
        return Err(StackError::contract(told));
    }
    let running = harness.begin(&["dropped"])?;
    runtime.block_on(async {
        match (setup.protocol, setup.role) {
            (Protocol::Udp, Role::Sender) => send_datagrams(&connection, &setup, running).await,
            (Protocol::Udp, Role::Receiver) => receive_datagrams(&connection, &setup, &running).await,
            (Protocol::Tcp, Role::Sender) => send_stream(&connection, &setup, running).await,
            (Protocol::Tcp, Role::Receiver) => receive_stream(&connection, &setup, &running).await,
        }
    })
}

fn failed(what: &str, why: impl Display) -> StackError {
    StackError::contract(format!("quinn, {what}: {why}"))
}

/// The socket below QUIC, with the buffers that are asked for.
fn bound(setup: &Setup) -> Result<UdpSocket, StackError> {
    let refused = |tried: String| move |answer| StackError::system(tried, answer);
    let socket = Socket::new(Domain::for_address(setup.bind), Type::DGRAM, None).map_err(refused("open a socket".to_owned()))?;
    if let Some(bytes) = setup.sndbuf {
        socket.set_send_buffer_size(bytes).map_err(refused("set SO_SNDBUF".to_owned()))?;
    }
    if let Some(bytes) = setup.rcvbuf {
        socket.set_recv_buffer_size(bytes).map_err(refused("set SO_RCVBUF".to_owned()))?;
    }
    socket.bind(&SockAddr::from(setup.bind)).map_err(refused(format!("bind to {}", setup.bind)))?;
    Ok(socket.into())
}

/// Joins the other end: the sender connects, the receiver accepts.
async fn connect(socket: UdpSocket, setup: &Setup, peer: SocketAddr) -> Result<Connection, StackError> {
    let transport = Arc::new(transport(setup, peer)?);
    let server = match setup.role {
        Role::Sender => None,
        Role::Receiver => Some(server(Arc::clone(&transport))?),
    };
    let endpoint = Endpoint::new(EndpointConfig::default(), server, socket, Arc::new(TokioRuntime));
    let endpoint = endpoint.map_err(|answer| StackError::system("start quinn", answer))?;
    if setup.role == Role::Sender {
        let connecting = endpoint.connect_with(client(transport)?, peer, NAME).map_err(|why| failed("connect", why))?;
        return connecting.await.map_err(|why| failed("connect", why));
    }
    loop {
        let Some(incoming) = endpoint.accept().await else { return Err(failed("accept", "the endpoint is closed")) };
        if incoming.remote_address().ip() == peer.ip() {
            return incoming.await.map_err(|why| failed("accept", why));
        }
        incoming.ignore();
    }
}

fn transport(setup: &Setup, peer: SocketAddr) -> Result<TransportConfig, StackError> {
    let controller: Arc<dyn ControllerFactory + Send + Sync> = match setup.cc.as_deref() {
        None | Some("cubic") => Arc::new(CubicConfig::default()),
        Some("reno") => Arc::new(NewRenoConfig::default()),
        Some("bbr") => Arc::new(BbrConfig::default()),
        Some(other) => return Err(failed("congestion control", format!("there is no {other}, but reno, cubic and bbr"))),
    };
    let largest = ETHERNET - HEADS[usize::from(peer.is_ipv6())];
    let mut config = TransportConfig::default();
    config.initial_mtu(path_mtu(setup, peer).unwrap_or(LEAST).clamp(LEAST, largest)).mtu_discovery_config(None);
    // A trial may be long in coming.
    config.congestion_controller_factory(controller).max_idle_timeout(None);
    config.send_window(WINDOW as u64).datagram_send_buffer_size(WINDOW);
    Ok(config)
}

/// Bytes of UDP that a packet to the other end holds.
fn path_mtu(setup: &Setup, peer: SocketAddr) -> Option<u16> {
    let mut here = setup.bind;
    here.set_port(0);
    let socket = UdpSocket::bind(here).ok()?;
    let mtu = crate::net::place::mtu_to(&socket, peer).ok()?;
    u16::try_from(mtu).unwrap_or(u16::MAX).checked_sub(HEADS[usize::from(peer.is_ipv6())])
}

fn server(transport: Arc<TransportConfig>) -> Result<ServerConfig, StackError> {
    let made = rcgen::generate_simple_self_signed(vec![NAME.to_owned()]).map_err(|why| failed("make a certificate", why))?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let mut config =
        ServerConfig::with_single_cert(vec![made.cert.der().clone()], key.into()).map_err(|why| failed("take a certificate", why))?;
    config.transport_config(transport);
    Ok(config)
}

fn client(transport: Arc<TransportConfig>) -> Result<ClientConfig, StackError> {
    let provider = Arc::new(ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider)).with_protocol_versions(&[&rustls::version::TLS13]);
    let tls = tls.map_err(|why| failed("set up TLS", why))?;
    let tls = tls.dangerous().with_custom_certificate_verifier(Arc::new(AnyCertificate(provider))).with_no_client_auth();
    let crypto = QuicClientConfig::try_from(tls).map_err(|why| failed("set up TLS", why))?;
    let mut config = ClientConfig::new(Arc::new(crypto));
    config.transport_config(transport);
    Ok(config)
}

/// Takes the certificate that the other end has made: what is sent is no secret, and who the other end
/// is the harness has said.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Sends numbered datagrams, each once there is room for it, and at the end says how many they were.
async fn send_datagrams(connection: &Connection, setup: &Setup, running: Running) -> Result<(), StackError> {
    let (mut message, mut messages) = (vec![1; setup.size], 0_u64);
    let room = connection.datagram_send_buffer_space();
    while running.page.stage() != STOP {
        Numbers::write(messages, &mut message);
        connection.send_datagram_wait(Bytes::copy_from_slice(&message)).await.map_err(|why| failed("send a datagram", why))?;
        messages += 1;
        running.page.count(messages, messages * setup.size as u64, 0);
        if messages % TURN == 0 {
            tokio::task::yield_now().await;
        }
    }
    while connection.datagram_send_buffer_space() < room {
        tokio::time::sleep(LOOK).await;
    }
    let mut last = connection.open_uni().await.map_err(|why| failed("open a stream", why))?;
    last.write_all(&messages.to_be_bytes()).await.map_err(|why| failed("send the last word", why))?;
    finish(last).await?;
    running.done()
}

async fn finish(mut stream: quinn::SendStream) -> Result<(), StackError> {
    stream.finish().map_err(|why| failed("end the stream", why))?;
    // The other end has everything.
    stream.stopped().await.map_err(|why| failed("end the stream", why)).map(drop)
}

/// What a receiver hears.
enum Arrival {
    Datagram(Bytes),
    Last(u64),
}

async fn receive_datagrams(connection: &Connection, setup: &Setup, running: &Running) -> Result<(), StackError> {
    let mut numbers = Numbers::new(setup.size);
    let (mut messages, mut bytes, mut told) = (0_u64, 0_u64, false);
    let mut last_word = pin!(last_word(connection));
    loop {
        let mut datagram = pin!(connection.read_datagram());
        let heard = poll_fn(|context| match datagram.as_mut().poll(context) {
            Poll::Ready(datagram) => Poll::Ready(datagram.ok().map(Arrival::Datagram)),
            Poll::Pending if told => Poll::Pending,
            Poll::Pending => last_word.as_mut().poll(context).map(|total| total.map(Arrival::Last)),
        });
        match heard.await {
            Some(Arrival::Datagram(datagram)) => {
                numbers.received(&datagram);
                messages += 1;
                bytes += datagram.len() as u64;
                running.page.count(messages, bytes, 0);
            }
            Some(Arrival::Last(total)) => {
                told = true;
                numbers.last_word(total);
            }
            // The harness ends a receiver of datagrams.
            None => pending().await,
        }
        running.page.own([numbers.lost()]);
    }
}

/// The number of datagrams that the sender sent.
async fn last_word(connection: &Connection) -> Option<u64> {
    let (mut stream, mut total) = (connection.accept_uni().await.ok()?, [0; 8]);
    stream.read_exact(&mut total).await.ok()?;
    Some(u64::from_be_bytes(total))
}

async fn send_stream(connection: &Connection, setup: &Setup, running: Running) -> Result<(), StackError> {
    let (message, mut messages) = (vec![1; setup.size], 0_u64);
    let mut stream = connection.open_uni().await.map_err(|why| failed("open a stream", why))?;
    while running.page.stage() != STOP {
        stream.write_all(&message).await.map_err(|why| failed("send", why))?;
        messages += 1;
        running.page.count(messages, messages * setup.size as u64, 0);
        if messages % TURN == 0 {
            tokio::task::yield_now().await;
        }
    }
    finish(stream).await?;
    running.done()
}

async fn receive_stream(connection: &Connection, setup: &Setup, running: &Running) -> Result<(), StackError> {
    let (mut room, mut reads, mut bytes) = (vec![0; setup.read], 0_u64, 0_u64);
    let mut stream = connection.accept_uni().await.map_err(|why| failed("accept a stream", why))?;
    while let Some(length) = stream.read(&mut room).await.map_err(|why| failed("receive", why))? {
        reads += 1;
        bytes += length as u64;
        running.page.count(reads, bytes, 0);
    }
    // The sender is to hear that all has come before this end is gone.
    connection.closed().await;
    Ok(())
}
