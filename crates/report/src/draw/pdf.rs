//! A scene as a page of PDF, text as text in the embedded font.

use super::font::{Weight, glyph};
use super::scene::{Group, Item, Path, Scene, Text};
use super::theme::{Ink, Theme};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use ttf_parser::Face;

/// Points of a pixel, at 96 pixels an inch.
const POINT: f64 = 0.75;

/// A figure as a PDF file of one page.
pub fn pdf(scene: &Scene, theme: Theme) -> Vec<u8> {
    let mut page = Page {
        theme,
        content: String::new(),
        opacities: BTreeSet::new(),
        glyphs: [BTreeMap::new(), BTreeMap::new()],
        faces: [Weight::Regular.face(), Weight::Bold.face()],
    };
    let height = scene.height * POINT;
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(page.content, "{POINT} 0 0 -{POINT} 0 {height:.2} cm");
    page.colour(Ink::Paper, "rg");
    let _ = writeln!(page.content, "0 0 {} {} re f", scene.width, scene.height);
    for item in &scene.items {
        match item {
            Item::Path(path) => page.path(path),
            Item::Text(text) => page.text(text),
            Item::Open(group) => page.open(group),
            Item::Close => page.content.push_str("Q\n"),
        }
    }
    page.file(scene.width * POINT, height)
}

struct Page {
    theme: Theme,
    content: String,
    /// Opacities in use, in hundredths.
    opacities: BTreeSet<u32>,
    /// Glyphs in use and their characters, regular and bold.
    glyphs: [BTreeMap<u16, char>; 2],
    faces: [Face<'static>; 2],
}

impl Page {
    fn colour(&mut self, ink: Ink, operator: &str) {
        let [r, g, b] = self.theme.rgb(ink).map(|v| f64::from(v) / 255.0);
        let _ = writeln!(self.content, "{r:.3} {g:.3} {b:.3} {operator}");
    }

    fn opacity(&mut self, value: f64) {
        let hundredths = (value.clamp(0.0, 1.0) * 100.0).round() as u32;
        self.opacities.insert(hundredths);
        let _ = writeln!(self.content, "/A{hundredths} gs");
    }

    fn open(&mut self, group: &Group) {
        self.content.push_str("q\n");
        if let Some(r) = group.clip {
            let [x, y, w, h] = [r.x, r.y, r.width, r.height];
            let _ = writeln!(self.content, "{x:.2} {y:.2} {w:.2} {h:.2} re W n");
        }
    }

    fn path(&mut self, path: &Path) {
        self.content.push_str("q\n");
        if let Some(fill) = path.fill {
            self.colour(fill.ink, "rg");
            self.opacity(fill.opacity);
            self.outline(path);
            self.content.push_str("f\n");
        }
        if let Some(stroke) = path.stroke {
            self.colour(stroke.ink, "RG");
            self.opacity(stroke.opacity);
            let dots = path.parts.iter().any(|part| part.len() == 1);
            let cap = u8::from(dots);
            let _ = writeln!(self.content, "{:.2} w {cap} J 1 j", stroke.width);
            if let Some([drawn, left_out]) = stroke.dash {
                let _ = writeln!(self.content, "[{drawn} {left_out}] 0 d");
            }
            self.outline(path);
            self.content.push_str("S\n");
        }
        self.content.push_str("Q\n");
    }

    fn outline(&mut self, path: &Path) {
        for part in &path.parts {
            let [x, y] = part[0];
            let _ = writeln!(self.content, "{x:.2} {y:.2} m");
            for [x, y] in &part[1..] {
                let _ = writeln!(self.content, "{x:.2} {y:.2} l");
            }
            if part.len() == 1 {
                let _ = writeln!(self.content, "{x:.2} {y:.2} l");
            }
            if path.closed {
                self.content.push_str("h\n");
            }
        }
    }

    fn text(&mut self, text: &Text) {
        let font = usize::from(text.weight == Weight::Bold);
        let mut shown = String::new();
        for c in text.text.chars() {
            let id = glyph(&self.faces[font], c).0;
            self.glyphs[font].insert(id, c);
            let _ = write!(shown, "{id:04x}");
        }
        self.colour(text.ink, "rg");
        self.opacity(1.0);
        let ([x, y], start) = (text.at, text.offset());
        // The page is upside down, so letters are turned over.
        let matrix = match text.upwards {
            true => format!("0 -1 -1 0 {x:.2} {:.2}", y - start),
            false => format!("1 0 0 -1 {:.2} {y:.2}", x + start),
        };
        let size = text.size;
        let _ = writeln!(
            self.content,
            "BT /F{font} {size} Tf {matrix} Tm <{shown}> Tj ET"
        );
    }

    fn file(self, width: f64, height: f64) -> Vec<u8> {
        let mut file = File::default();
        let (catalog, pages, page) = (file.reserve(), file.reserve(), file.reserve());
        let content = file.stream("", self.content.as_bytes());
        let fonts = [0, 1].map(|k| file.font(&self.faces[k], k, &self.glyphs[k]));
        let states: String = self
            .opacities
            .iter()
            .map(|&o| format!("/A{o} <</CA {0} /ca {0}>> ", f64::from(o) / 100.0))
            .collect();
        file.put(catalog, &format!("<</Type /Catalog /Pages {pages} 0 R>>"));
        file.put(
            pages,
            &format!("<</Type /Pages /Kids [{page} 0 R] /Count 1>>"),
        );
        let [regular, bold] = fonts;
        let text = format!(
            "<</Type /Page /Parent {pages} 0 R /MediaBox [0 0 {width:.2} {height:.2}] \
             /Contents {content} 0 R /Resources <</Font <</F0 {regular} 0 R /F1 {bold} 0 R>> \
             /ExtGState <<{states}>>>>>>"
        );
        file.put(page, &text);
        file.finish(catalog)
    }
}

/// Numbered objects of a file.
#[derive(Default)]
struct File {
    objects: Vec<Vec<u8>>,
}

impl File {
    /// A number for an object that comes later.
    fn reserve(&mut self) -> usize {
        self.objects.push(Vec::new());
        self.objects.len()
    }

    fn put(&mut self, number: usize, text: &str) {
        self.objects[number - 1] = text.as_bytes().to_vec();
    }

    fn add(&mut self, text: &str) -> usize {
        let number = self.reserve();
        self.put(number, text);
        number
    }

    fn stream(&mut self, entries: &str, bytes: &[u8]) -> usize {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        // Writing to memory cannot fail.
        let _ = encoder.write_all(bytes);
        let packed = encoder.finish().unwrap_or_default();
        let length = packed.len();
        let head = format!("<</Length {length} /Filter /FlateDecode {entries}>>\nstream\n");
        let mut object = head.into_bytes();
        object.extend(packed);
        object.extend(b"\nendstream");
        self.objects.push(object);
        self.objects.len()
    }

    /// The embedded font with the widths and the meaning of the glyphs in use.
    fn font(&mut self, face: &Face<'_>, k: usize, glyphs: &BTreeMap<u16, char>) -> usize {
        let weight = [Weight::Regular, Weight::Bold][k];
        let name = ["Inter-Regular", "Inter-SemiBold"][k];
        let per_em = 1000.0 / f64::from(face.units_per_em());
        let bytes = weight.bytes();
        let file = self.stream(&format!("/Length1 {}", bytes.len()), bytes);
        let scaled = |v: i16| (f64::from(v) * per_em).round();
        let b = face.global_bounding_box();
        let descriptor = self.add(&format!(
            "<</Type /FontDescriptor /FontName /{name} /Flags 4 /FontBBox [{} {} {} {}] \
             /ItalicAngle 0 /Ascent {} /Descent {} /CapHeight 727 /StemV 80 /FontFile2 {file} 0 R>>",
            scaled(b.x_min),
            scaled(b.y_min),
            scaled(b.x_max),
            scaled(b.y_max),
            scaled(face.ascender()),
            scaled(face.descender()),
        ));
        let width = |id: u16| face.glyph_hor_advance(ttf_parser::GlyphId(id)).unwrap_or(0);
        let widths: String = glyphs
            .keys()
            .map(|&id| format!("{id} [{:.0}] ", f64::from(width(id)) * per_em))
            .collect();
        let descendant = self.add(&format!(
            "<</Type /Font /Subtype /CIDFontType2 /BaseFont /{name} /CIDSystemInfo <</Registry \
             (Adobe) /Ordering (Identity) /Supplement 0>> /FontDescriptor {descriptor} 0 R \
             /CIDToGIDMap /Identity /DW 600 /W [{widths}]>>"
        ));
        let unicode = self.stream("", unicode_map(glyphs).as_bytes());
        self.add(&format!(
            "<</Type /Font /Subtype /Type0 /BaseFont /{name} /Encoding /Identity-H \
             /DescendantFonts [{descendant} 0 R] /ToUnicode {unicode} 0 R>>"
        ))
    }

    fn finish(self, root: usize) -> Vec<u8> {
        let mut out = b"%PDF-1.5\n%\xe2\xe3\xcf\xd3\n".to_vec();
        let mut table = String::from("0000000000 65535 f \n");
        for (k, object) in self.objects.iter().enumerate() {
            let _ = writeln!(table, "{:010} 00000 n ", out.len());
            out.extend(format!("{} 0 obj\n", k + 1).as_bytes());
            out.extend(object);
            out.extend(b"\nendobj\n");
        }
        let (start, size) = (out.len(), self.objects.len() + 1);
        let tail = format!(
            "xref\n0 {size}\n{table}trailer\n<</Size {size} /Root {root} 0 R>>\nstartxref\n{start}\n%%EOF\n"
        );
        out.extend(tail.as_bytes());
        out
    }
}

/// Which character each glyph stands for, so that text can be searched and copied.
fn unicode_map(glyphs: &BTreeMap<u16, char>) -> String {
    let mut out = String::from(
        "/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n/CIDSystemInfo \
         <</Registry (Adobe) /Ordering (UCS) /Supplement 0>> def\n/CMapName /Adobe-Identity-UCS \
         def\n/CMapType 2 def\n1 begincodespacerange\n<0000> <FFFF>\nendcodespacerange\n",
    );
    let all: Vec<(&u16, &char)> = glyphs.iter().collect();
    for some in all.chunks(100) {
        let _ = writeln!(out, "{} beginbfchar", some.len());
        for (id, c) in some {
            let mut units = [0u16; 2];
            let hex = c.encode_utf16(&mut units).iter();
            let hex: String = hex.map(|unit| format!("{unit:04x}")).collect();
            let _ = writeln!(out, "<{id:04x}> <{hex}>");
        }
        out.push_str("endbfchar\n");
    }
    out.push_str("endcmap\nCMapName currentdict /CMap defineresource pop\nend\nend\n");
    out
}
