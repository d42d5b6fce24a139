//! Bytes as text in the base64 alphabet, padded, for the parts of a payload that JSON cannot say. A crate for these forty lines
//! would be one more to keep.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The text of `bytes`.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let word = group.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for place in 0..4 {
            let index = (word >> (18 - 6 * place)) & 0x3f;
            text.push(if place <= group.len() { char::from(ALPHABET[index as usize]) } else { '=' });
        }
    }
    text
}

/// The bytes of a text; none when it is not base64. Padding may be left out.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=').as_bytes();
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    for group in digits.chunks(4) {
        if group.len() == 1 {
            return None;
        }
        let mut word = 0_u32;
        for digit in group {
            word = word << 6 | value(*digit)?;
        }
        word <<= 6 * (4 - group.len());
        bytes.extend(&word.to_be_bytes()[1..group.len()]);
    }
    Some(bytes)
}

fn value(digit: u8) -> Option<u32> {
    let value = match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}
