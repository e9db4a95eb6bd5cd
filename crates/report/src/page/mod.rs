//! A report: one HTML file that needs no network, readable with scripts off.
//!
//! ```
//! use fitzroy_report::page::{Block, Card, Page, Section, State, Verdict};
//!
//! let mut page = Page::new("Growth of peas");
//! page.verdict = Some(Verdict::new(State::Good, "The fit converged", "after 12 iterations"));
//! page.cards.push(Card::new("R²", "0.993"));
//! page.sections.push(Section::new("Data", vec![Block::Text("Forty plants.".into())]));
//! let html = page.html();
//! assert!(html.starts_with("<!DOCTYPE html>") && html.contains("Forty plants."));
//! ```

mod block;
mod data;
mod table;

#[cfg(test)]
mod tests;

pub use block::{Block, Card, Section, State, Verdict};
pub(crate) use data::json_text;
pub use data::{Live, LiveSeries};
pub use table::{Cell, Column, Table};

use crate::draw::{Theme, escaped, font_faces};
use serde_json::json;

const STYLE: &str = include_str!("../../assets/page.css");
const SCRIPT: &str = include_str!("../../assets/page.js");

/// A report before it is HTML.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// What the report is about.
    pub title: String,
    /// What kind of report it is, above the title: "Posterior sampling".
    pub kind: String,
    /// Facts under the title, as name and value: date, device, seed.
    pub facts: Vec<(String, String)>,
    /// What to think of it, first of all.
    pub verdict: Option<Verdict>,
    /// At most six numbers.
    pub cards: Vec<Card>,
    /// The body, in reading order.
    pub sections: Vec<Section>,
    /// Draws behind figures that can be zoomed.
    pub live: Live,
    /// Files that the page offers for download: name, type, content.
    pub downloads: Vec<(String, String)>,
    /// The last line: program, version.
    pub footer: String,
}

impl Page {
    /// An empty report.
    pub fn new(title: impl Into<String>) -> Self {
        Page {
            title: title.into(),
            ..Page::default()
        }
    }

    /// The file. Whatever came from a user is escaped.
    pub fn html(&self) -> String {
        // The text of the sections and that of the data are about equally long.
        let (mut out, tables, data) = std::thread::scope(|scope| {
            let data = scope.spawn(|| self.data());
            let mut out = String::with_capacity(1 << 20);
            self.head(&mut out);
            self.top(&mut out);
            let mut tables = Vec::new();
            for (k, section) in self.sections.iter().enumerate() {
                section.write(k, &mut out, &mut tables);
            }
            let data = data.join().expect("writing JSON does not fail");
            (out, tables, data)
        });
        out += "</main>";
        if !self.footer.is_empty() {
            out += &format!("<footer>{}</footer>", escaped(&self.footer));
        }
        out += "<script type=\"application/json\" id=\"data\">{\"tables\":";
        out += &json_text(&json!(tables));
        out += &data;
        out += "}</script><script>";
        out += SCRIPT;
        out += "</script></body></html>\n";
        out
    }

    /// What the script needs besides the tables, as further fields of an object.
    fn data(&self) -> String {
        let files: Vec<_> = self.downloads.iter().map(|(n, t)| json!([n, t])).collect();
        let (series, files) = (json_text(&self.live.json()), json_text(&json!(files)));
        format!(",\"series\":{series},\"files\":{files}")
    }

    fn head(&self, out: &mut String) {
        *out += "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\">\
                <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
                <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';\
                style-src 'unsafe-inline';script-src 'unsafe-inline';font-src data:;\
                img-src data:\"><meta name=\"color-scheme\" content=\"light dark\">";
        *out += &format!("<title>{}</title><style>", escaped(&self.title));
        *out += &font_faces();
        let (light, dark) = (Theme::Light.variables(), Theme::Dark.variables());
        *out += &format!(
            ":root{{{light}color-scheme:light}}\
             @media(prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}\
             color-scheme:dark}}}}:root[data-theme=dark]{{{dark}color-scheme:dark}}"
        );
        *out += STYLE;
        *out += "</style></head><body>";
    }

    fn top(&self, out: &mut String) {
        *out += "<header><div class=\"bar\"><nav>";
        for (k, section) in self.sections.iter().enumerate() {
            *out += &format!("<a href=\"#s{k}\">{}</a>", escaped(&section.title));
        }
        *out += "</nav><button id=\"theme\" hidden>Light / dark</button></div>";
        if !self.kind.is_empty() {
            *out += &format!("<p class=\"kind\">{}</p>", escaped(&self.kind));
        }
        *out += &format!("<h1>{}</h1>", escaped(&self.title));
        if !self.facts.is_empty() {
            *out += "<ul class=\"facts\">";
            for (name, value) in &self.facts {
                let (name, value) = (escaped(name), escaped(value));
                *out += &format!("<li><span>{name}</span> {value}</li>");
            }
            *out += "</ul>";
        }
        *out += "</header><main>";
        if let Some(verdict) = &self.verdict {
            verdict.write(out);
        }
        if !self.cards.is_empty() {
            *out += "<div class=\"cards\">";
            self.cards.iter().for_each(|card| card.write(out));
            *out += "</div>";
        }
    }
}
