//! TLS in the kernel (kTLS): keys that both ends set once they have joined, without the
//! handshake of a library. See the kernel's Documentation/networking/tls.rst.

use std::io;
use std::os::fd::AsFd;

use model::Role;
use nix::errno::Errno;
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{TcpTlsRx, TcpTlsTx, TcpUlp, TlsCryptoInfo};

use crate::api::KernelRefusal;

/// Bytes of a key.
pub const KEY: usize = 16;

/// Makes an end encrypt what it sends and decrypt what it receives. The other end has the
/// same key. It keeps no secret: only the cost counts.
///
/// # Errors
/// A kernel without kTLS or without its cipher.
pub fn secure(socket: impl AsFd, key: [u8; KEY], role: Role) -> io::Result<()> {
    let refused = |what: &str, errno: Errno| KernelRefusal::error(what, errno.into());
    setsockopt(&socket, TcpUlp::default(), b"tls")
        .map_err(|errno| refused("this kernel has no TLS (CONFIG_TLS), or has not loaded it (`modprobe tls`)", errno))?;
    // A key must not meet the same numbers twice: each way has a salt of its own.
    let (own, other) = match role {
        Role::Sender => (1, 2),
        Role::Receiver => (2, 1),
    };
    setsockopt(&socket, TcpTlsTx, &keys(key, own)).map_err(|errno| refused("set the keys of what is sent (TLS_TX)", errno))?;
    setsockopt(&socket, TcpTlsRx, &keys(key, other)).map_err(|errno| refused("set the keys of what is received (TLS_RX)", errno))
}

fn keys(key: [u8; KEY], salt: u8) -> TlsCryptoInfo {
    TlsCryptoInfo::Aes128Gcm(libc::tls12_crypto_info_aes_gcm_128 {
        info: libc::tls_crypto_info { version: libc::TLS_1_2_VERSION, cipher_type: libc::TLS_CIPHER_AES_GCM_128 },
        iv: [0; 8],
        key,
        salt: [salt; 4],
        rec_seq: [0; 8],
    })
}
