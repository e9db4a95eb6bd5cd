//! Text as programs store it: UTF-8, UTF-16 with its mark or without, Windows-1252.

use std::borrow::Cow;

/// How text is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// UTF-8, or its part ASCII.
    Utf8,
    /// UTF-16, low byte first.
    Utf16Le,
    /// UTF-16, high byte first.
    Utf16Be,
    /// One byte a letter, as Windows and old instruments write western languages.
    Windows1252,
}

impl Encoding {
    /// The encoding of a text that begins with `head`, which may end inside a letter.
    pub(super) fn of(head: &[u8]) -> Encoding {
        let zeros = |at: usize| head.iter().skip(at).step_by(2).filter(|b| **b == 0).count();
        let pairs = head.len() / 2;
        // Digits, separators and Latin letters in UTF-16 have a zero byte each.
        match head {
            [0xff, 0xfe, ..] => Encoding::Utf16Le,
            [0xfe, 0xff, ..] => Encoding::Utf16Be,
            _ if pairs >= 2 && zeros(1) * 10 > pairs * 7 => Encoding::Utf16Le,
            _ if pairs >= 2 && zeros(0) * 10 > pairs * 7 => Encoding::Utf16Be,
            _ => match std::str::from_utf8(head) {
                Err(error) if error.error_len().is_some() => Encoding::Windows1252,
                _ => Encoding::Utf8,
            },
        }
    }

    /// What is told of text in this encoding; nothing of UTF-8.
    pub(super) fn remark(self) -> Option<&'static str> {
        match self {
            Encoding::Utf8 => None,
            Encoding::Utf16Le | Encoding::Utf16Be => Some("the text is UTF-16"),
            Encoding::Windows1252 => Some("the text is not UTF-8 and is read as Windows-1252"),
        }
    }

    /// `bytes` as UTF-8 without a byte-order mark.
    pub(super) fn decode(self, bytes: &[u8]) -> Cow<'_, [u8]> {
        let wide = |unit: fn([u8; 2]) -> u16| {
            let units = bytes.chunks_exact(2).map(|b| unit([b[0], b[1]]));
            let letters = char::decode_utf16(units);
            let text: String = letters.map(|c| c.unwrap_or('\u{fffd}')).collect();
            Cow::Owned(text.trim_start_matches('\u{feff}').as_bytes().to_vec())
        };
        match self {
            Encoding::Utf8 => Cow::Borrowed(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)),
            Encoding::Utf16Le => wide(u16::from_le_bytes),
            Encoding::Utf16Be => wide(u16::from_be_bytes),
            Encoding::Windows1252 => {
                let text: String = bytes.iter().map(|&b| windows_1252(b)).collect();
                Cow::Owned(text.into_bytes())
            }
        }
    }
}

/// Letters 0x80 to 0x9f of Windows-1252; others are those of Latin-1, which are Unicode's first.
const UPPER: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

fn windows_1252(byte: u8) -> char {
    match byte {
        0x80..=0x9f => UPPER[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_the_same_in_every_encoding() {
        let text = "Zeit;µV\n1;2\n";
        let units: Vec<u16> = text.encode_utf16().collect();
        let low: Vec<u8> = units.iter().flat_map(|u| u.to_le_bytes()).collect();
        let high: Vec<u8> = units.iter().flat_map(|u| u.to_be_bytes()).collect();
        let marked = |mark: &[u8], bytes: &[u8]| [mark, bytes].concat();
        let latin: Vec<u8> = text.chars().map(|c| c as u8).collect();
        let all = [
            (text.as_bytes().to_vec(), Encoding::Utf8),
            (marked(b"\xef\xbb\xbf", text.as_bytes()), Encoding::Utf8),
            (low.clone(), Encoding::Utf16Le),
            (marked(b"\xff\xfe", &low), Encoding::Utf16Le),
            (high.clone(), Encoding::Utf16Be),
            (marked(b"\xfe\xff", &high), Encoding::Utf16Be),
            (latin, Encoding::Windows1252),
        ];
        for (bytes, encoding) in all {
            assert_eq!(Encoding::of(&bytes), encoding, "{bytes:?}");
            assert_eq!(&*encoding.decode(&bytes), text.as_bytes(), "{encoding:?}");
        }
        assert_eq!(
            Encoding::of("µ".as_bytes().split_last().unwrap().1),
            Encoding::Utf8
        );
        assert_eq!(&*Encoding::Windows1252.decode(b"\x80\x93"), "€“".as_bytes());
    }
}
