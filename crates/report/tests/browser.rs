//! The report in a real browser without a window: no error, charts drawn, everything that can be
//! clicked does what it says.
//!
//! Skipped, and said so, without Chromium; `FITZROY_REQUIRE_BROWSER=1` makes that a failure.
//! `FITZROY_BROWSER` names another program.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod traces;

use fitzroy::diagnose::{SummaryOptions, diagnose};
use fitzroy_report::report::{RunFacts, sampling_page};
use fitzroy_report::source::Source;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

fn browser() -> Option<String> {
    let named = std::env::var("FITZROY_BROWSER").ok();
    let usual = ["chromium", "chromium-browser", "google-chrome"].map(String::from);
    let all = named.into_iter().chain(usual);
    let found = all.into_iter().find(|program| {
        let version = Command::new(program).arg("--version").output();
        version.is_ok_and(|o| o.status.success())
    });
    if found.is_none() {
        let required = std::env::var_os("FITZROY_REQUIRE_BROWSER").is_some();
        assert!(
            !required,
            "FITZROY_REQUIRE_BROWSER is set and there is no Chromium"
        );
        eprintln!("skipped: there is no Chromium");
    }
    found
}

/// What the browser makes of a page: its document, and what it says on stderr.
fn open(program: &str, page: &Path, more: &[&str]) -> (String, String) {
    let profile = page.with_extension("profile");
    let output = Command::new(program)
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
        ])
        .args([
            "--enable-logging=stderr",
            "--virtual-time-budget=4000",
            "--window-size=1280,1000",
        ])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(more)
        .arg("--dump-dom")
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let _ = std::fs::remove_dir_all(profile);
    (text(&output.stdout), text(&output.stderr))
}

fn html(elements: usize) -> String {
    let trace = traces::trace(4, 1000, elements);
    let source = Source::new(&trace).unwrap();
    let found = diagnose(&trace, &SummaryOptions::default()).unwrap();
    let facts = RunFacts {
        name: "<i>peas</i>".into(),
        ..RunFacts::default()
    };
    sampling_page(&source, &found, &facts).unwrap().html()
}

fn scratch(name: &str, text: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// Runs inside the page after its own script, and leaves what it saw in the document.
const ACTIONS: &str = r##"
const seen = { errors: [], requests: 0 };
addEventListener("error", (e) => seen.errors.push(String(e.message)));
document.addEventListener("securitypolicyviolation", (e) => seen.errors.push(e.violatedDirective));
const all = (s) => [...document.querySelectorAll(s)];
seen.figures = all("figure svg").length;
seen.empty = all("figure svg").filter((s) => s.getBBox().width < 100).length;
seen.font = document.fonts.size;
const rows = () => all("div.table tbody")[0].children.length;
seen.rows = rows();
all("tr.open")[0].click();
const search = all("div.tools input")[0];
search.value = "theta[1"; search.dispatchEvent(new Event("input"));
seen.filtered = all("div.tools .count")[0].textContent;
search.value = ""; search.dispatchEvent(new Event("input"));
all("div.table th")[1].click();
const means = [...all("div.table tbody")[0].children].map((r) => parseFloat(r.children[1].textContent.replace("\u2212", "-")));
seen.sorted = means.every((v, i) => i === 0 || means[i - 1] >= v);
const toggle = all("g.toggle[data-chain='1']")[0];
toggle.dispatchEvent(new MouseEvent("click", { bubbles: true }));
seen.hidden = all("path[data-chain='1']").filter((p) => getComputedStyle(p).display === "none").length;
seen.paths = all("path[data-chain='1']").length;
toggle.dispatchEvent(new MouseEvent("click", { bubbles: true }));
seen.stillHidden = all("path[data-chain='1']").filter((p) => getComputedStyle(p).display === "none").length;
const zoomed = all("g.zoom path[data-chain='0']")[0];
const before = zoomed.getAttribute("d");
const hit = all("figure rect.hit")[0];
hit.scrollIntoView();
const box = hit.getBoundingClientRect();
hit.setPointerCapture = () => {};
const drag = (type, share) => hit.dispatchEvent(new PointerEvent(type, { clientX: box.x + share * box.width, clientY: box.y + 9, pointerId: 1 }));
drag("pointerdown", 0.25); drag("pointermove", 0.3); drag("pointerup", 0.35);
const after = zoomed.getAttribute("d");
seen.zoomed = after !== before && after.startsWith("M") && (after.match(/L/g) || []).length > 90 && (after.match(/L/g) || []).length < 115;
hit.dispatchEvent(new MouseEvent("dblclick"));
seen.unzoomed = (zoomed.getAttribute("d").match(/L/g) || []).length > 900;
seen.explorer = all("#explorer path[data-chain]").filter((p) => p.getAttribute("d").length > 500).length;
all("#theme")[0].click();
seen.theme = document.documentElement.dataset.theme;
seen.dark = getComputedStyle(document.body).backgroundColor;
seen.downloads = all("button.download").filter((b) => !b.hidden).length;
seen.requests = performance.getEntriesByType("resource").filter((r) => !r.name.startsWith("data:")).length;
seen.title = document.querySelector("h1").textContent;
setTimeout(() => {
  const out = document.createElement("pre");
  out.id = "seen"; out.textContent = JSON.stringify(seen);
  document.body.appendChild(out);
}, 300);
"##;

#[test]
fn charts_are_drawn_and_everything_that_can_be_clicked_works() {
    let Some(program) = browser() else { return };
    let text = html(300).replace("</body>", &format!("<script>{ACTIONS}</script></body>"));
    let page = scratch("report.html", &text);
    let (dom, said) = open(&program, &page, &[]);
    let errors: Vec<&str> = said.lines().filter(|l| l.contains("CONSOLE")).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let found = dom.split_once("<pre id=\"seen\">").map(|(_, rest)| rest);
    let found = found
        .and_then(|r| r.split_once("</pre>"))
        .map(|(json, _)| json);
    let seen: Value = serde_json::from_str(
        &found
            .unwrap_or_else(|| panic!("{said}"))
            .replace("&amp;", "&")
            .replace("&lt;", "<")
            .replace("&gt;", ">"),
    )
    .unwrap();
    for (key, expected) in [
        ("errors", serde_json::json!([])),
        ("empty", 0.into()),
        ("font", 2.into()),
        ("rows", 25.into()),
        ("filtered", "111 of 302 rows".into()),
        ("sorted", true.into()),
        ("stillHidden", 0.into()),
        ("zoomed", true.into()),
        ("unzoomed", true.into()),
        ("explorer", 4.into()),
        ("downloads", 1.into()),
        ("requests", 0.into()),
        ("title", "<i>peas</i>".into()),
    ] {
        assert_eq!(seen[key], expected, "{key} in {seen}");
    }
    assert!(seen["figures"].as_u64().unwrap() >= 6, "{seen}");
    assert_eq!(seen["hidden"], seen["paths"], "{seen}");
    assert!(seen["paths"].as_u64().unwrap() > 10, "{seen}");
    let theme = seen["theme"].as_str().unwrap();
    let ground = if theme == "dark" {
        "rgb(21, 24, 27)"
    } else {
        "rgb(255, 255, 255)"
    };
    assert_eq!(seen["dark"], ground, "{seen}");
}

#[test]
fn the_report_reads_with_scripts_off() {
    let text = html(3);
    // The page's own script is taken out; what is left must say it all.
    let (body, _) = text
        .split_once("<script type=\"application/json\"")
        .unwrap();
    assert!(body.matches("<svg").count() >= 6 && body.contains("theta[2]"));
    assert!(body.contains("class=\"verdict"));
    // Controls that do nothing without scripts are not shown.
    for control in [
        "id=\"theme\"",
        "class=\"tools\"",
        "class=\"download\"",
        "id=\"explorer\"",
    ] {
        for (at, _) in body.match_indices(control) {
            let tag = &body[at..at + body[at..].find('>').unwrap()];
            assert!(tag.contains("hidden"), "{tag}");
        }
    }
}
