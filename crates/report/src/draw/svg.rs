//! A scene as SVG text.

use super::font::{Weight, font_faces};
use super::scene::{Align, Group, Item, Path, Point, Scene, Text};
use super::theme::{Ink, Theme};

/// The embedded font first, then what systems have.
const FONTS: &str = "Inter,'Helvetica Neue',Helvetica,Arial,'DejaVu Sans',sans-serif";

/// A figure as a file of its own.
pub fn svg(scene: &Scene, theme: Theme) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    out += &element(scene, theme, &format!("<style>{}</style>", font_faces()));
    out.push('\n');
    out
}

/// A figure as an element of a page, which has the font.
pub(crate) fn inline_svg(scene: &Scene, theme: Theme) -> String {
    element(scene, theme, "")
}

fn element(scene: &Scene, theme: Theme, style: &str) -> String {
    let mut out = String::with_capacity(1 << 16);
    out += "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ";
    number(&mut out, scene.width);
    out.push(' ');
    number(&mut out, scene.height);
    out += "\" width=\"";
    number(&mut out, scene.width);
    out += "\" height=\"";
    number(&mut out, scene.height);
    out += &format!("\" font-family=\"{FONTS}\" role=\"img\">");
    out += &format!("<title>{}</title>", escaped(&scene.title));
    out += style;
    if theme != Theme::Page {
        let paper = theme.colour(Ink::Paper);
        out += &format!("<rect width=\"100%\" height=\"100%\" fill=\"{paper}\"/>");
    }
    let mut closers = Vec::new();
    for item in &scene.items {
        match item {
            Item::Path(path) => write_path(&mut out, path, theme),
            Item::Text(text) => write_text(&mut out, text, theme),
            Item::Open(group) => closers.push(write_group(&mut out, group)),
            Item::Close => out += closers.pop().unwrap_or(""),
        }
    }
    out += "</svg>";
    out
}

/// Opens a group and says what closes it. An inner `svg` clips without the names that `clipPath`
/// needs, which would clash between the figures of a page.
fn write_group(out: &mut String, group: &Group) -> &'static str {
    out.push_str("<g");
    attributes(out, &group.data);
    out.push('>');
    let Some(r) = group.clip else {
        return "</g>";
    };
    out.push_str("<svg");
    for (name, value) in [
        ("x", r.x),
        ("y", r.y),
        ("width", r.width),
        ("height", r.height),
    ] {
        out.push(' ');
        out.push_str(name);
        out.push_str("=\"");
        number(out, value);
        out.push('"');
    }
    out.push_str(" viewBox=\"");
    for value in [r.x, r.y, r.width, r.height] {
        number(out, value);
        out.push(' ');
    }
    out.pop();
    out.push_str("\">");
    "</svg></g>"
}

fn attributes(out: &mut String, data: &[(&'static str, String)]) {
    for (name, value) in data {
        *out += &format!(" {name}=\"{}\"", escaped(value));
    }
}

fn write_path(out: &mut String, path: &Path, theme: Theme) {
    out.push_str("<path d=\"");
    for part in &path.parts {
        write_part(out, part, path.closed);
    }
    out.push('"');
    attributes(out, &path.data);
    match path.fill {
        Some(fill) => {
            *out += &format!(" fill=\"{}\"", theme.colour(fill.ink));
            opacity(out, "fill-opacity", fill.opacity);
        }
        None => out.push_str(" fill=\"none\""),
    }
    if let Some(stroke) = path.stroke {
        *out += &format!(" stroke=\"{}\" stroke-width=\"", theme.colour(stroke.ink));
        number(out, stroke.width);
        out.push('"');
        opacity(out, "stroke-opacity", stroke.opacity);
        if let Some([drawn, left_out]) = stroke.dash {
            *out += &format!(" stroke-dasharray=\"{drawn} {left_out}\"");
        }
        if path.parts.iter().any(|part| part.len() == 1) {
            out.push_str(" stroke-linecap=\"round\"");
        } else {
            out.push_str(" stroke-linejoin=\"round\"");
        }
    }
    out.push_str("/>");
}

/// `M12.3 4l.5-6` in tenths of a pixel: the first point as it is, then steps, which are short.
fn write_part(out: &mut String, part: &[Point], closed: bool) {
    let tenths = |v: f64| (v * 10.0).round().clamp(-1e7, 1e7) as i64;
    let mut at = [tenths(part[0][0]), tenths(part[0][1])];
    out.push('M');
    push_tenths(out, at[0]);
    if at[1] >= 0 {
        out.push(' ');
    }
    push_tenths(out, at[1]);
    if part.len() == 1 {
        out.push_str("h0");
    } else {
        out.push('l');
    }
    for (k, point) in part[1..].iter().enumerate() {
        let to = [tenths(point[0]), tenths(point[1])];
        for (axis, step) in [to[0] - at[0], to[1] - at[1]].into_iter().enumerate() {
            if step >= 0 && (k > 0 || axis > 0) {
                out.push(' ');
            }
            push_tenths(out, step);
        }
        at = to;
    }
    if closed {
        out.push('z');
    }
}

/// A number of tenths as a decimal, without a leading or trailing zero.
fn push_tenths(out: &mut String, tenths: i64) {
    let (whole, rest) = (tenths.unsigned_abs() / 10, tenths.unsigned_abs() % 10);
    if tenths < 0 {
        out.push('-');
    }
    if whole > 0 || rest == 0 {
        push_whole(out, whole);
    }
    if rest > 0 {
        out.push('.');
        out.push(char::from(b'0' + rest as u8));
    }
}

fn push_whole(out: &mut String, n: u64) {
    if n >= 10 {
        push_whole(out, n / 10);
    }
    out.push(char::from(b'0' + (n % 10) as u8));
}

fn opacity(out: &mut String, name: &str, value: f64) {
    if value < 1.0 {
        *out += &format!(" {name}=\"{value}\"");
    }
}

fn write_text(out: &mut String, text: &Text, theme: Theme) {
    let [x, y] = text.at;
    out.push_str("<text");
    if text.upwards {
        out.push_str(" transform=\"translate(");
        number(out, x);
        out.push(' ');
        number(out, y);
        out.push_str(")rotate(-90)\"");
    } else {
        out.push_str(" x=\"");
        number(out, x);
        out.push_str("\" y=\"");
        number(out, y);
        out.push('"');
    }
    *out += &format!(" font-size=\"{}\"", text.size);
    match text.align {
        Align::Start => {}
        Align::Middle => out.push_str(" text-anchor=\"middle\""),
        Align::End => out.push_str(" text-anchor=\"end\""),
    }
    if text.weight == Weight::Bold {
        out.push_str(" font-weight=\"600\"");
    }
    *out += &format!(
        " fill=\"{}\">{}</text>",
        theme.colour(text.ink),
        escaped(&text.text)
    );
}

/// A coordinate in hundredths of a pixel.
fn number(out: &mut String, value: f64) {
    let hundredths = (value * 100.0).round();
    if hundredths % 10.0 == 0.0 {
        push_tenths(out, (hundredths / 10.0) as i64);
    } else {
        *out += &format!("{}", hundredths / 100.0);
    }
}

/// Text between tags or in an attribute, of HTML as of XML. Control characters, which XML forbids,
/// become the replacement character.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
