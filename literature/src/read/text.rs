//! Text of a file from elsewhere, whatever encoding it is marked with.

/// Marks of encoding, the longer first, with the name of each.
const MARKS: &[(&[u8], &str)] = &[(b"\xef\xbb\xbf", "UTF-8"), (b"\xff\xfe", "UTF-16LE"), (b"\xfe\xff", "UTF-16BE")];

/// The text of a file, without its mark of encoding, and what there is to say of
/// it. Bytes that are no text become U+FFFD.
pub fn decode(bytes: &[u8]) -> (String, Option<String>) {
    let mark = MARKS.iter().find(|(mark, _)| bytes.starts_with(mark));
    let rest = mark.map_or(bytes, |(mark, _)| &bytes[mark.len()..]);
    let wide = |unit: fn([u8; 2]) -> u16| {
        let units = rest.as_chunks::<2>().0.iter().map(|pair| unit(*pair));
        let odd = (rest.len() % 2 == 1).then_some('\u{fffd}');
        char::decode_utf16(units).map(|letter| letter.unwrap_or('\u{fffd}')).chain(odd).collect::<String>()
    };
    let name = mark.map(|(_, name)| *name);
    let text = match name {
        Some("UTF-16LE") => wide(u16::from_le_bytes),
        Some("UTF-16BE") => wide(u16::from_be_bytes),
        _ => String::from_utf8_lossy(rest).into_owned(),
    };
    (text, name.map(|name| format!("the file begins with the mark of {name} and was read as {name}")))
}

#[cfg(test)]
mod tests {
    use super::decode;
    use proptest::prelude::{any, prop, prop_assert_eq, proptest};

    proptest! {
        #[test]
        fn a_text_is_the_same_in_every_encoding(text in "\\PC{0,40}") {
            // A mark of its own would be taken off.
            let text = text.replace('\u{feff}', "");
            let le: Vec<u8> = [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect();
            let be: Vec<u8> = [0xfe, 0xff].into_iter().chain(text.encode_utf16().flat_map(u16::to_be_bytes)).collect();
            prop_assert_eq!(decode(text.as_bytes()), (text.clone(), None));
            for (bytes, name) in [(le, "UTF-16LE"), (be, "UTF-16BE"), (format!("\u{feff}{text}").into_bytes(), "UTF-8")] {
                let (found, remark) = decode(&bytes);
                prop_assert_eq!(&found, &text);
                assert!(remark.unwrap().contains(name));
            }
        }

        #[test]
        fn no_bytes_break_it(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = decode(&bytes);
        }
    }
}
