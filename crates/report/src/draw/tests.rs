//! The figure layer: ticks, text, and what each format holds.
#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn ticks_stand_at_one_two_or_five_times_a_power_of_ten() {
    for (low, high, n, labels) in [
        (0.0, 10.0, 5, "0 2 4 6 8 10"),
        (-0.3, 0.3, 3, "−0.2 0.0 0.2"),
        (0.0, 1.0, 2, "0.0 0.5 1.0"),
        (0.0, 40_000.0, 4, "0 10,000 20,000 30,000 40,000"),
        (0.0, 3e7, 3, "0 1×10⁷ 2×10⁷ 3×10⁷"),
        (0.0, 2e-5, 2, "0 1×10⁻⁵ 2×10⁻⁵"),
        (-1e300, 1e300, 2, "−1×10³⁰⁰ 0 1×10³⁰⁰"),
    ] {
        assert_eq!(Ticks::linear(low, high, n).labels.join(" "), labels);
    }
    assert_eq!(Ticks::log(1.0, 1000.0, 4).labels.join(" "), "1 10 100 1000");
    assert_eq!(Ticks::log(0.9, 60.0, 6).labels.join(" "), "1 2 5 10 20 50");
}

#[test]
fn ranges_hold_what_is_finite_and_are_never_empty() {
    assert_eq!(
        range_of([1.0, f64::NAN, 3.0, f64::INFINITY], 0.0),
        [1.0, 3.0]
    );
    assert_eq!(range_of([], 0.0), [0.0, 1.0]);
    assert_eq!(range_of([0.0], 0.0), [-1.0, 1.0]);
    let [low, high] = range_of([-1e308, 1e308], 0.04);
    assert!(low.is_finite() && high.is_finite() && low < high);
}

#[test]
fn long_text_keeps_both_ends() {
    let short = fitted("theta[Choate, first semester]", 80.0, 12.0, Weight::Regular);
    assert!(
        short.starts_with('t') && short.ends_with(']') && short.contains('…'),
        "{short}"
    );
    assert!(text_width(&short, 12.0, Weight::Regular) <= 80.0);
    assert_eq!(fitted("mu", 80.0, 12.0, Weight::Regular), "mu");
}

/// Catches an embedded font whose digits have several widths, so that columns do not line up.
#[test]
fn digits_are_equally_wide_and_greek_is_there() {
    for weight in [Weight::Regular, Weight::Bold] {
        let width = |c: char| text_width(&c.to_string(), 100.0, weight);
        assert!("0123456789".chars().all(|d| width(d) == width('0')));
        let face = weight.face();
        for c in "αβγμσθτΩ−×≤≥⁻³′é".chars() {
            assert_ne!(font::glyph(&face, c).0, 0, "{c}");
        }
        assert_eq!(font::glyph(&face, '漢').0, 0);
    }
}

fn sample() -> Scene {
    let mut scene = Scene::new(200.0, 100.0, "a <title> & more");
    scene.rect(
        Rect {
            x: 10.0,
            y: 10.0,
            width: 50.0,
            height: 20.0,
        },
        Ink::Series(1),
        0.5,
    );
    scene.lines(
        vec![vec![
            [0.0, 0.0],
            [10.25, 5.0],
            [f64::NAN, 1.0],
            [3.0, 4.0],
            [5.0, 6.0],
        ]],
        Stroke::series(4, 1.5),
    );
    scene.dots(&[[50.0, 50.0]], 6.0, Ink::Mark, 1.0);
    scene.text(Text::new("\"μ\" < 1 & </script>\u{1}", [100.0, 50.0], 12.0).bold());
    scene
}

#[test]
fn svg_is_escaped_and_broken_at_numbers_that_are_not_finite() {
    let text = svg(&sample(), Theme::Light);
    assert!(text.contains("a &lt;title&gt; &amp; more"), "{text}");
    assert!(
        text.contains("&quot;μ&quot; &lt; 1 &amp; &lt;/script&gt;\u{fffd}"),
        "{text}"
    );
    assert!(text.contains("M0 0l10.3 5M3 4l2 2"), "{text}");
    assert!(!text.contains("NaN") && !text.contains('\u{1}'));
}

#[test]
fn a_png_has_the_pixels_of_the_scene() {
    let bytes = png(&sample(), Theme::Light, 1.5).unwrap();
    let decoder = png::Decoder::new(std::io::Cursor::new(&bytes));
    let mut reader = decoder.read_info().unwrap();
    assert_eq!((reader.info().width, reader.info().height), (300, 150));
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut pixels).unwrap();
    let at = |x: usize, y: usize| &pixels[3 * (y * 300 + x)..][..3];
    assert_eq!(at(299, 149), [255, 255, 255]);
    // Half of #d55e00 on white.
    assert!(
        at(30, 30)[0] > 225 && at(30, 30)[2] < 140,
        "{:?}",
        at(30, 30)
    );
    assert_eq!(at(75, 75), [0, 0, 0]);
    let huge = Scene::new(1e6, 1e6, "");
    let message = png(&huge, Theme::Light, 1.0).unwrap_err().to_string();
    assert!(message.contains("⟨width⟩"), "{message}");
}

#[test]
fn a_pdf_has_its_objects_where_its_table_says() {
    let bytes = pdf(&sample(), Theme::Light);
    assert!(bytes.starts_with(b"%PDF-1.5"));
    let text = String::from_utf8_lossy(&bytes);
    let start: usize = text
        .rsplit("startxref\n")
        .next()
        .unwrap()
        .lines()
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert!(bytes[start..].starts_with(b"xref"));
    let table = String::from_utf8_lossy(&bytes[start..]).into_owned();
    let offsets = table.lines().filter(|l| l.ends_with(" n "));
    for (k, line) in offsets.enumerate() {
        let at: usize = line[..10].parse().unwrap();
        let head = format!("{} 0 obj", k + 1);
        assert!(bytes[at..].starts_with(head.as_bytes()), "object {}", k + 1);
    }
}
