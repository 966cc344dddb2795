//! Proofs that one knows the secret, without saying it.
//!
//! HMAC-SHA256 (RFC 2104) over all that both sides have said so far: who
//! speaks, both versions, both nonces, which agent it is and, where the
//! connection is encrypted, a value that only its two ends can know (RFC 5705).
//! So a proof holds for one connection, one direction and these builds alone.

use crate::greeting::{Answer, ClientHello};
use crate::hex::Hex;
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

use super::credentials::Secret;

/// Side of a proof: one side's is no use as the other's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Controller,
    Agent,
}

/// All that both sides have said before the proofs.
#[derive(Debug)]
pub(crate) struct Transcript<'a> {
    pub hello: &'a ClientHello,
    pub answer: &'a Answer,
    /// Binding to the encryption of this connection.
    pub binding: Option<[u8; 32]>,
}

impl Transcript<'_> {
    /// The proof of a side.
    pub(crate) fn prove(&self, secret: &Secret, side: Side) -> Hex<32> {
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.bytes()), &self.bytes(side));
        let mut proof = [0; 32];
        proof.copy_from_slice(tag.as_ref());
        Hex(proof)
    }

    /// Returns whether a proof is that of a side; takes as long for a wrong one.
    pub(crate) fn holds(&self, secret: &Secret, side: Side, proof: &Hex<32>) -> bool {
        hmac::verify(&hmac::Key::new(hmac::HMAC_SHA256, secret.bytes()), &self.bytes(side), &proof.0).is_ok()
    }

    /// Every part has a fixed length or its length before it, so that no two
    /// transcripts have the same bytes.
    fn bytes(&self, side: Side) -> Vec<u8> {
        let (hello, answer) = (self.hello, self.answer);
        let label: &[u8; 25] = match side {
            Side::Controller => b"nettoll proof controller\0",
            Side::Agent => b"nettoll proof agent\0\0\0\0\0\0",
        };
        let mut bytes = label.to_vec();
        bytes.extend(hello.version.to_be_bytes());
        bytes.extend(answer.version.to_be_bytes());
        for tool in [&hello.tool, &answer.agent.tool] {
            bytes.extend((tool.len() as u64).to_be_bytes());
            bytes.extend(tool.as_bytes());
        }
        bytes.extend(hello.nonce.0);
        bytes.extend(answer.nonce.0);
        bytes.extend(answer.agent.id.0);
        bytes.push(u8::from(self.binding.is_some()));
        bytes.extend(self.binding.unwrap_or_default());
        bytes
    }
}

/// Bytes that nobody can guess; `None` where the system has none.
pub(crate) fn random<const N: usize>() -> Option<[u8; N]> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).ok().map(|()| bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    use crate::greeting::{AgentId, Answer, ClientHello, Wants};
    use crate::hex::Hex;

    use super::{Secret, Side, Transcript};

    fn secret(text: &str) -> Secret {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_permissions(std::fs::Permissions::from_mode(0o600)).unwrap();
        writeln!(file, "{text}").unwrap();
        Secret::load(file.path()).unwrap()
    }

    fn said(tool: &str, nonces: [u8; 2]) -> (ClientHello, Answer) {
        let agent = AgentId { tool: tool.to_owned(), id: Hex([9; 16]) };
        (ClientHello::new(tool, [nonces[0]; 32]), Answer::new(agent, [nonces[1]; 32], Wants::Proof))
    }

    #[test]
    fn a_proof_holds_for_what_was_said_and_for_nothing_else() {
        let key = secret("a secret of some length");
        let (hello, answer) = said("1.0.0", [1, 2]);
        let this = Transcript { hello: &hello, answer: &answer, binding: None };
        let proof = this.prove(&key, Side::Controller);
        assert!(this.holds(&key, Side::Controller, &proof));
        assert!(!this.holds(&key, Side::Agent, &proof), "a proof sent back proves nothing");
        assert!(!this.holds(&secret("another secret of some length"), Side::Controller, &proof));
        for nonces in [[1, 3], [3, 2], [2, 1]] {
            let (hello, answer) = said("1.0.0", nonces);
            assert!(!Transcript { hello: &hello, answer: &answer, binding: None }.holds(&key, Side::Controller, &proof), "a replay");
        }
        let (hello, answer) = said("1.0.1", [1, 2]);
        assert!(!Transcript { hello: &hello, answer: &answer, binding: None }.holds(&key, Side::Controller, &proof));
        let bound = Transcript { binding: Some([0; 32]), ..this };
        assert!(!bound.holds(&key, Side::Controller, &proof), "a proof carried over to another connection");
    }
}
