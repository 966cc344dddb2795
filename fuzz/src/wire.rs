//! Bytes that come over a network or from another process: frames, messages,
//! greetings, and what a flow shows first.

use std::collections::BTreeSet;
use std::fmt::Debug;

use engine::cookie::{self, Word, flow_of};
use engine::endpoint_lines::{Endless, Lines, after, port};
use engine::traffic::foreign::{Marked, stamped};
use lab::greeting::{Answer, ClientHello, GreetingError, LONGEST_GREETING, Proof, Verdict};
use lab::reach::{Marker, Noise};
use model::control::{Cookie, FromEndpoint, FromHost, ToEndpoint, ToHost};
use model::frame::{Decoder, Frames};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::says_something;

/// A stream cut into frames. The first byte is the longest body, the second
/// says in what pieces the rest arrives: frames are what came, whole, and what
/// cannot be one is refused as soon as its length is there.
pub fn frames(bytes: &[u8]) {
    let [longest, piece, rest @ ..] = bytes else { return };
    let longest = usize::from(*longest);
    let mut rest = rest;
    let mut frames = Frames::new(longest);
    for piece in rest.chunks(usize::from(*piece) + 1) {
        frames.push(piece);
        loop {
            match frames.take() {
                Ok(Some(frame)) => {
                    let (whole, after) = rest.split_at(frame.len());
                    assert_eq!((frame.as_slice(), frame.len() - 4), (whole, announced(rest).unwrap()));
                    assert!(frame.len() <= 4 + longest);
                    rest = after;
                }
                Ok(None) => break,
                Err(error) => {
                    assert!(announced(rest).unwrap() > longest);
                    return says_something(&error);
                }
            }
        }
    }
    assert!(announced(rest).is_none_or(|length| length <= longest && rest.len() < 4 + length), "a frame was kept back");
    assert_eq!(frames.is_empty(), rest.is_empty());
    assert_eq!(frames.into_rest(), rest, "nothing is lost");
}

/// What a login prints before nettoll answers. The first byte says in what pieces it comes:
/// they make no difference, nothing after a marker is taken, and no part can steer a terminal.
pub fn reach(bytes: &[u8]) {
    let Some((piece, rest)) = bytes.split_first() else { return };
    let whole = Noise::default().take(rest);
    let (mut noise, mut taken) = (Noise::default(), 0);
    for part in rest.chunks(usize::from(*piece) + 1) {
        match noise.take(part) {
            Ok((more, None)) => taken += more,
            Ok((more, Some(marker))) => {
                assert_eq!(whole.as_ref().map(|(all, marker)| (*all, marker.as_ref())), Ok((taken + more, Some(&marker))));
                if let Marker::Failed { fault: words, .. } | Marker::Need { os: words, .. } = &marker {
                    assert!(!words.contains(char::is_control), "{words:?}");
                }
                return;
            }
            Err(error) => return says_something(&error),
        }
    }
    assert!(!matches!(whole, Ok((_, Some(_)))), "a marker was missed");
}

/// Answers to requests of a size, which is the first byte. Of each group that follows
/// the first byte says how many are sent before it, or how long ago those were that are
/// given up, and the rest is a datagram: each request is answered once or given up, and one that is answered late is both.
pub fn marks(bytes: &[u8]) {
    let Some((size, groups)) = bytes.split_first() else { return };
    let mut waiting = Marked::new(usize::from(*size) % 8 + 1);
    let (mut now, mut sent, mut lost, mut both, mut answered) = (0, 0, 0, 0, BTreeSet::new());
    for group in groups.chunks(5) {
        let (what, datagram) = (group[0], &group[1..]);
        for _ in 0..what & 63 {
            now += 1;
            sent += u64::from(waiting.send(now).is_some());
        }
        if what & 64 != 0 {
            lost += waiting.give_up(now.saturating_sub(u64::from(what >> 1)));
        }
        if let Some((number, late)) = waiting.answer(datagram) {
            assert!(number < sent && answered.insert(number), "{number} of {sent}");
            both += u64::from(late);
        }
    }
    lost += waiting.give_up(u64::MAX);
    assert_eq!(answered.len() as u64 + lost, sent + both, "each request is answered once or given up");
}

/// Stamped datagrams of 20 bytes: the last four are when each came, after the one before.
/// Those whose time is odd come after the window.
pub fn stamps(bytes: &[u8]) {
    let (mut now, mut window, mut late) = (1 << 40, Vec::new(), Vec::new());
    for datagram in bytes.chunks(20) {
        let after = datagram.last_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
        now += u64::from(after);
        match after % 2 {
            0 => window.push((datagram, now)),
            _ => late.push(datagram),
        }
    }
    let messages = window.iter().filter(|(datagram, _)| datagram.len() >= 16).count() as u64;
    let found = stamped(window, late);
    assert!(found.messages <= messages && found.out_of_order + found.duplicates <= found.messages, "{found:?}");
    assert_eq!(found.beyond_base.is_some(), found.messages > 0, "{found:?}");
}

fn announced(bytes: &[u8]) -> Option<usize> {
    bytes.first_chunk().map(|length| u32::from_be_bytes(*length) as usize)
}

/// A control connection. The first byte says which one, and in what pieces the
/// rest arrives.
pub fn control(bytes: &[u8]) {
    let Some((kind, stream)) = bytes.split_first() else { return };
    let piece = usize::from(kind >> 2) + 1;
    match kind & 3 {
        0 => messages::<ToHost>(stream, piece),
        1 => messages::<FromHost>(stream, piece),
        2 => messages::<ToEndpoint>(stream, piece),
        _ => messages::<FromEndpoint>(stream, piece),
    }
}

/// Takes all messages out of a stream; what was understood is understood again.
fn messages<T: DeserializeOwned + Serialize + PartialEq + Debug>(stream: &[u8], piece: usize) {
    let mut decoder = Decoder::<T>::default();
    for piece in stream.chunks(piece) {
        decoder.push(piece);
        loop {
            match decoder.take() {
                Ok(Some(message)) => comes_back(&message),
                Ok(None) => break,
                Err(error) => return says_something(&error),
            }
        }
    }
}

fn comes_back<T: DeserializeOwned + Serialize + PartialEq + Debug>(message: &T) {
    let mut decoder = Decoder::<T>::default();
    decoder.push(&model::frame::encode(message).unwrap());
    assert_eq!(decoder.take().unwrap().as_ref(), Some(message));
}

/// How many messages a seed of [`control`] holds, if it holds nothing else: a
/// seed that is not understood any more tests little.
pub fn understood(seed: &[u8]) -> Option<usize> {
    fn count<T: DeserializeOwned>(stream: &[u8]) -> Option<usize> {
        let mut decoder = Decoder::<T>::default();
        decoder.push(stream);
        let mut count = 0;
        while decoder.take().ok()?.is_some() {
            count += 1;
        }
        let mut frames = Frames::new(usize::MAX);
        frames.push(stream);
        while frames.take().ok()?.is_some() {}
        frames.is_empty().then_some(count)
    }
    let (kind, stream) = seed.split_first()?;
    match kind & 3 {
        0 => count::<ToHost>(stream),
        1 => count::<FromHost>(stream),
        2 => count::<ToEndpoint>(stream),
        _ => count::<FromEndpoint>(stream),
    }
}

/// A connection before anybody is let in, and what it holds afterwards. The
/// first byte says in what pieces the rest arrives: frames come whole and none
/// is longer than announced, and each body is read as every message of a
/// greeting.
pub fn greeting(bytes: &[u8]) {
    let Some((piece, stream)) = bytes.split_first() else { return };
    let mut frames = Frames::new(LONGEST_GREETING);
    let mut taken = 0;
    for piece in stream.chunks(usize::from(*piece) + 1) {
        frames.push(piece);
        loop {
            match frames.take() {
                Ok(Some(frame)) => {
                    assert_eq!(frame, stream[taken..taken + frame.len()], "a frame is what came");
                    assert!((4..=4 + LONGEST_GREETING).contains(&frame.len()));
                    taken += frame.len();
                    greeted(&frame[4..]);
                }
                Ok(None) => break,
                Err(error) => return says_something(&error),
            }
        }
    }
    assert_eq!(frames.into_rest(), stream[taken..], "nothing is lost");
}

fn greeted(body: &[u8]) {
    same(ClientHello::parse(body), ClientHello::parse);
    same(Answer::parse(body), Answer::parse);
    same(Verdict::parse(body), Verdict::parse);
    same(Proof::parse(body), Proof::parse);
}

/// What was understood is understood again; what was not is said in words that
/// can be printed.
fn same<T: Serialize + PartialEq + Debug>(read: Result<T, GreetingError>, again: fn(&[u8]) -> Result<T, GreetingError>) {
    match read {
        Ok(message) => assert_eq!(again(&serde_json::to_vec(&message).unwrap()).as_ref(), Ok(&message)),
        Err(error) => {
            let words = error.to_string();
            assert!(words.chars().count() < 1_000 && !words.chars().any(char::is_control), "{words:?}");
        }
    }
}

/// What a flow shows first: what knows the cookie is taken for an end of it, and
/// nothing else is.
pub fn cookie(bytes: &[u8]) {
    const COOKIE: Cookie = Cookie(*b"sixteen letters.");
    let flow = bytes.last_chunk().map_or(0, |flow| u32::from_be_bytes(*flow));
    let shown = cookie::Proof { cookie: COOKIE, flow };
    for word in [Word::Ask, Word::Answer] {
        assert_eq!(shown.is(bytes, word), bytes == shown.bytes(word));
    }
    assert_eq!(flow_of(COOKIE, bytes), (bytes == shown.bytes(Word::Ask)).then_some(flow));
}

/// What a user's program says: lines, however they come in pieces, and the port that they tell.
pub fn endpoint(bytes: &[u8]) {
    let cut = bytes.first().map_or(0, |first| usize::from(*first).min(bytes.len()));
    let (first, second) = bytes.split_at(cut);
    assert_eq!(said(&[first, second]), said(&[bytes]));
}

fn said(pieces: &[&[u8]]) -> Result<Vec<String>, Refused> {
    let (mut lines, mut taken) = (Lines::default(), Vec::new());
    for piece in pieces {
        lines.push(piece);
        while let Some(line) = lines.take().map_err(|Endless(_)| Refused)? {
            assert!(line.len() <= 3 * 4_096, "a replacement character has three bytes");
            for connects in [false, true] {
                let told = after(&line, "ready").and_then(|rest| Some((rest, port(rest, connects)?)));
                assert!(told.is_none_or(|(rest, port)| port > 0 || connects && rest == "-"));
            }
            taken.push(line);
        }
    }
    Ok(taken)
}

#[derive(Debug, PartialEq)]
struct Refused;
