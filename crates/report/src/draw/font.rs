//! The embedded font: Inter, Latin and Greek, with digits of one width.

use ttf_parser::{Face, GlyphId};

/// Regular and semi-bold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Everything but titles.
    Regular,
    /// Titles.
    Bold,
}

impl Weight {
    /// The font file.
    pub(crate) fn bytes(self) -> &'static [u8] {
        match self {
            Weight::Regular => include_bytes!("../../assets/inter-regular.ttf"),
            Weight::Bold => include_bytes!("../../assets/inter-bold.ttf"),
        }
    }

    /// The font, ready to be asked.
    pub(crate) fn face(self) -> Face<'static> {
        Face::parse(self.bytes(), 0).expect("the embedded font is one")
    }
}

/// The font as a web font, for pages.
fn woff2(weight: Weight) -> &'static [u8] {
    match weight {
        Weight::Regular => include_bytes!("../../assets/inter-regular.woff2"),
        Weight::Bold => include_bytes!("../../assets/inter-bold.woff2"),
    }
}

/// The style rules that hold the font itself, for files that must look alike on every machine.
pub(crate) fn font_faces() -> String {
    let face = |(weight, number)| {
        let font = super::base64::encode(woff2(weight));
        format!(
            "@font-face{{font-family:Inter;font-weight:{number};src:url(data:font/woff2;\
             base64,{font}) format('woff2')}}"
        )
    };
    [(Weight::Regular, "400"), (Weight::Bold, "600")]
        .map(face)
        .concat()
}

/// The glyph of a character; what the font lacks is drawn as a box, never dropped.
pub(crate) fn glyph(face: &Face<'_>, c: char) -> GlyphId {
    face.glyph_index(c).unwrap_or(GlyphId(0))
}

/// Width of `text` in the unit of `size`: pixels for pixels.
pub fn text_width(text: &str, size: f64, weight: Weight) -> f64 {
    let face = weight.face();
    let advance = |c| f64::from(face.glyph_hor_advance(glyph(&face, c)).unwrap_or(0));
    let units: f64 = text.chars().map(advance).sum();
    units * size / f64::from(face.units_per_em())
}

/// `text`, shortened in the middle with an ellipsis until it is at most `width` wide.
pub fn fitted(text: &str, width: f64, size: f64, weight: Weight) -> String {
    if text_width(text, size, weight) <= width {
        return text.into();
    }
    let chars: Vec<char> = text.chars().collect();
    // The end of a name tells elements apart, so both ends stay.
    let shortened = |kept: usize| -> String {
        let head = kept.div_ceil(2);
        let tail = &chars[chars.len() - (kept - head)..];
        chars[..head]
            .iter()
            .chain(['…'].iter())
            .chain(tail)
            .collect()
    };
    let fits = |kept: &usize| text_width(&shortened(*kept), size, weight) <= width;
    (1..chars.len())
        .rev()
        .find(fits)
        .map_or("…".into(), shortened)
}
