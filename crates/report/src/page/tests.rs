//! Pages that others build: every block stands in them, escaped.

use super::*;
use crate::draw::Scene;

#[test]
fn every_block_stands_in_the_page() {
    let mut page = Page::new("a <b>");
    page.kind = "Curve fit".into();
    page.facts.push(("date".into(), "today & tomorrow".into()));
    page.verdict = Some(Verdict {
        findings: (0..5)
            .map(|k| (format!("fact {k}"), "do <it>".into()))
            .collect(),
        ..Verdict::new(State::Warn, "Almost", "nearly.")
    });
    page.cards
        .push(Card::new("R²", "0.99").note("of 1").state(State::Good));
    page.downloads
        .push(("fit.csv".into(), "a,b\n</script>".into()));
    let table = Table {
        caption: "peas".into(),
        columns: vec![Column::text("name"), Column::number("mean", "its \"mean\"")],
        rows: (0..100)
            .map(|k| {
                vec![
                    format!("x<{k}>").into(),
                    Cell::from("1.5").state(State::Bad),
                ]
            })
            .collect(),
        ..Table::default()
    };
    let blocks = vec![
        Block::Text("1 < 2".into()),
        Block::Figure {
            scene: Scene::new(100.0, 50.0, "empty"),
            caption: "how".into(),
        },
        Block::Table(table),
        Block::Code {
            name: "model".into(),
            text: "y ~ x\n".into(),
        },
        Block::Facts(vec![("seed".into(), "42".into())]),
        Block::Download("fit.csv".into()),
    ];
    page.sections.push(Section::new("One", blocks));
    page.sections.push(Section::new("Two", Vec::new()).folded());
    let html = page.html();
    for part in [
        "<h1>a &lt;b&gt;</h1>",
        "today &amp; tomorrow",
        "! Almost",
        "do &lt;it&gt;",
        "<summary>2 more</summary>",
        "✓ 0.99",
        "1 &lt; 2",
        "viewBox=\"0 0 100 50\"",
        "x&lt;24&gt;",
        "class=\"n bad\"",
        "its &quot;mean&quot;",
        "75 more rows",
        "y ~ x",
        "<dt>seed</dt><dd>42</dd>",
        "data-file=\"fit.csv\"",
        "href=\"#s1\"",
        "<details class=\"section\" id=\"s1\">",
    ] {
        assert!(html.contains(part), "{part}");
    }
    assert!(!html.contains("x&lt;25&gt;") && html.contains("x\\u003c25\\u003e"));
    assert_eq!(html.matches("</script>").count(), 2);
}

#[test]
fn json_inside_a_script_cannot_end_it() {
    let text = json_text(&serde_json::json!({"a": "</script><!-- & \u{2028}"}));
    assert!(!text.contains(['<', '>', '&', '\u{2028}']), "{text}");
    let back: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    assert_eq!(back["a"], "</script><!-- & \u{2028}");
}
