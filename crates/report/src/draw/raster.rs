//! A scene as PNG, drawn by tiny-skia with the embedded font alone.

use super::font::{Weight, glyph};
use super::scene::{Item, Path, Rect, Scene, Text};
use super::theme::{Ink, Theme};
use fitzroy::{Error, ErrorKind, Result};
use tiny_skia::{
    FillRule, LineCap, LineJoin, Mask, Paint, PathBuilder, Pixmap, Stroke, StrokeDash, Transform,
};
use ttf_parser::{Face, OutlineBuilder};

/// Most pixels of an image, 400 MB of memory.
const PIXELS_MAX: f64 = 1e8;

/// A figure as PNG, `scale` pixels to one of the scene; 1.5 gives 150 dots an inch.
///
/// # Errors
/// The image would have no pixels, or more than a hundred million.
pub fn png(scene: &Scene, theme: Theme, scale: f64) -> Result<Vec<u8>> {
    let size = [scene.width, scene.height].map(|v| (v * scale).ceil());
    let too_large = || {
        let [width, height] = size;
        let message = format!(
            "an image of {width} × {height} pixels cannot be made; choose fewer variables, a \
             smaller ⟨width⟩, or .svg"
        );
        Error::new(ErrorKind::Usage, message)
    };
    if !(size[0] * size[1] <= PIXELS_MAX) {
        return Err(too_large());
    }
    let mut pixmap = Pixmap::new(size[0] as u32, size[1] as u32).ok_or_else(too_large)?;
    let [r, g, b] = theme.rgb(Ink::Paper);
    pixmap.fill(tiny_skia::Color::from_rgba8(r, g, b, 255));
    let mut canvas = Canvas {
        pixmap,
        theme,
        scale: scale as f32,
        faces: [Weight::Regular.face(), Weight::Bold.face()],
        clips: Vec::new(),
    };
    for item in &scene.items {
        match item {
            Item::Path(path) => canvas.path(path),
            Item::Text(text) => canvas.text(text),
            Item::Open(group) => canvas.open(group.clip),
            Item::Close => drop(canvas.clips.pop()),
        }
    }
    encode(&canvas.pixmap, scale)
}

struct Canvas {
    pixmap: Pixmap,
    theme: Theme,
    scale: f32,
    faces: [Face<'static>; 2],
    /// The mask of every open group that clips.
    clips: Vec<Option<Mask>>,
}

impl Canvas {
    fn paint(&self, ink: Ink, opacity: f64) -> Paint<'static> {
        let [r, g, b] = self.theme.rgb(ink);
        let mut paint = Paint::default();
        paint.set_color_rgba8(r, g, b, (opacity.clamp(0.0, 1.0) * 255.0).round() as u8);
        paint
    }

    fn transform(&self) -> Transform {
        Transform::from_scale(self.scale, self.scale)
    }

    fn open(&mut self, clip: Option<Rect>) {
        let mask = clip.and_then(|r| {
            let mut mask = Mask::new(self.pixmap.width(), self.pixmap.height())?;
            let [x, y, w, h] = [r.x, r.y, r.width, r.height].map(|v| v as f32);
            let rect = tiny_skia::Rect::from_xywh(x, y, w, h)?;
            let path = PathBuilder::from_rect(rect);
            mask.fill_path(&path, FillRule::Winding, true, self.transform());
            Some(mask)
        });
        self.clips.push(mask);
    }

    fn path(&mut self, path: &Path) {
        let (mut lines, mut dots) = (PathBuilder::new(), PathBuilder::new());
        for part in &path.parts {
            let [x, y] = part[0].map(|v| v as f32);
            if part.len() == 1 {
                let diameter = path.stroke.map_or(0.0, |s| s.width) as f32;
                dots.push_circle(x, y, diameter / 2.0);
                continue;
            }
            lines.move_to(x, y);
            for p in &part[1..] {
                lines.line_to(p[0] as f32, p[1] as f32);
            }
            if path.closed {
                lines.close();
            }
        }
        let transform = self.transform();
        let fill = path.fill.map(|f| self.paint(f.ink, f.opacity));
        let line = path.stroke.map(|s| self.paint(s.ink, s.opacity));
        let mask = self.clips.iter().rev().find_map(Option::as_ref);
        if let (Some(paint), Some(dots)) = (&line, dots.finish()) {
            let winding = FillRule::Winding;
            self.pixmap
                .fill_path(&dots, paint, winding, transform, mask);
        }
        let Some(lines) = lines.finish() else {
            return;
        };
        if let Some(paint) = &fill {
            let winding = FillRule::Winding;
            self.pixmap
                .fill_path(&lines, paint, winding, transform, mask);
        }
        if let (Some(paint), Some(stroke)) = (&line, path.stroke) {
            let dash = stroke.dash.map(|d| d.map(|v| v as f32).to_vec());
            let stroke = Stroke {
                width: stroke.width as f32,
                line_cap: LineCap::Butt,
                line_join: LineJoin::Round,
                dash: dash.and_then(|d| StrokeDash::new(d, 0.0)),
                ..Stroke::default()
            };
            self.pixmap
                .stroke_path(&lines, paint, &stroke, transform, mask);
        }
    }

    fn text(&mut self, text: &Text) {
        let face = &self.faces[usize::from(text.weight == Weight::Bold)];
        let em = text.size as f32 / f32::from(face.units_per_em());
        let mut outline = Outline(PathBuilder::new(), 0.0);
        for c in text.text.chars() {
            let id = glyph(face, c);
            let _ = face.outline_glyph(id, &mut outline); // A space has no outline.
            outline.1 += f32::from(face.glyph_hor_advance(id).unwrap_or(0));
        }
        let Some(path) = outline.0.finish() else {
            return;
        };
        let [x, y] = text.at.map(|v| v as f32);
        let turned = if text.upwards { -90.0 } else { 0.0 };
        let transform = self
            .transform()
            .pre_translate(x, y)
            .pre_concat(Transform::from_rotate(turned))
            .pre_translate(text.offset() as f32, 0.0)
            .pre_scale(em, -em);
        let paint = self.paint(text.ink, 1.0);
        let mask = self.clips.iter().rev().find_map(Option::as_ref);
        let winding = FillRule::Winding;
        self.pixmap
            .fill_path(&path, &paint, winding, transform, mask);
    }
}

/// Collects the outlines of letters side by side.
struct Outline(PathBuilder, f32);

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        self.0.move_to(x + self.1, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.0.line_to(x + self.1, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.0.quad_to(x1 + self.1, y1, x + self.1, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let by = self.1;
        self.0.cubic_to(x1 + by, y1, x2 + by, y2, x + by, y);
    }

    fn close(&mut self) {
        self.0.close();
    }
}

/// The file: RGB without transparency, for the ground is opaque.
fn encode(pixmap: &Pixmap, scale: f64) -> Result<Vec<u8>> {
    let mut rgb = Vec::with_capacity(pixmap.data().len() / 4 * 3);
    for pixel in pixmap.data().as_chunks::<4>().0 {
        rgb.extend_from_slice(&pixel[..3]);
    }
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, pixmap.width(), pixmap.height());
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Fast);
    let per_metre = (scale * 100.0 / 0.0254).round() as u32;
    encoder.set_pixel_dims(Some(png::PixelDimensions {
        xppu: per_metre,
        yppu: per_metre,
        unit: png::Unit::Meter,
    }));
    let written = encoder
        .write_header()
        .and_then(|mut writer| writer.write_image_data(&rgb));
    written.map_err(|error| Error::new(ErrorKind::Io, format!("PNG: {error}")))?;
    Ok(out)
}
