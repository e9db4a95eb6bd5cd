//! What a report is made of: verdict, cards, sections and what stands in them.

use super::table::Table;
use crate::draw::{Scene, Theme, escaped, inline_svg};
use serde_json::Value;

/// How good something is. It is said in words or by a sign as well, never by colour alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Nothing to say.
    #[default]
    Plain,
    /// As it should be.
    Good,
    /// To be looked at.
    Warn,
    /// Not as it should be.
    Bad,
}

impl State {
    pub(super) fn class(self) -> &'static str {
        match self {
            State::Plain => "plain",
            State::Good => "good",
            State::Warn => "warn",
            State::Bad => "bad",
        }
    }

    pub(super) fn sign(self) -> &'static str {
        match self {
            State::Plain => "",
            State::Good => "✓ ",
            State::Warn => "! ",
            State::Bad => "✗ ",
        }
    }
}

/// The first thing one reads: is it good, and what is to be known.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// How good.
    pub state: State,
    /// The answer in words.
    pub headline: String,
    /// The numbers behind it, in a sentence.
    pub detail: String,
    /// Findings, the gravest first: the fact, and what to do. Three are shown, the rest folded.
    pub findings: Vec<(String, String)>,
}

/// Findings shown at once.
const SHOWN: usize = 3;

impl Verdict {
    /// A verdict without findings.
    pub fn new(state: State, headline: &str, detail: &str) -> Self {
        Verdict {
            state,
            headline: headline.into(),
            detail: detail.into(),
            findings: Vec::new(),
        }
    }

    pub(super) fn write(&self, out: &mut String) {
        let (class, sign) = (self.state.class(), self.state.sign());
        let (headline, detail) = (escaped(&self.headline), escaped(&self.detail));
        *out += &format!("<section class=\"verdict {class}\"><h2>{sign}{headline}</h2>");
        *out += &format!("<p>{detail}</p>");
        let list = |some: &[(String, String)]| {
            let item = |(fact, advice): &(String, String)| {
                let (fact, advice) = (escaped(fact), escaped(advice));
                let arrow = if advice.is_empty() { "" } else { "→ " };
                format!("<li>{fact}<span class=\"advice\">{arrow}{advice}</span></li>")
            };
            some.iter().map(item).collect::<String>()
        };
        let (first, rest) = self.findings.split_at(self.findings.len().min(SHOWN));
        if !first.is_empty() {
            *out += &format!("<ul>{}</ul>", list(first));
        }
        if !rest.is_empty() {
            let (n, rest) = (rest.len(), list(rest));
            *out += &format!("<details><summary>{n} more</summary><ul>{rest}</ul></details>");
        }
        *out += "</section>";
    }
}

/// A number with its name.
#[derive(Clone, Debug, Default)]
pub struct Card {
    /// What it is.
    pub label: String,
    /// The number with its unit.
    pub value: String,
    /// What it should be, or where it is.
    pub note: String,
    /// How good it is.
    pub state: State,
}

impl Card {
    /// A card without note or judgement.
    pub fn new(label: &str, value: &str) -> Self {
        Card {
            label: label.into(),
            value: value.into(),
            ..Card::default()
        }
    }

    /// The same with a note.
    #[must_use]
    pub fn note(self, note: impl Into<String>) -> Self {
        Card {
            note: note.into(),
            ..self
        }
    }

    /// The same, judged.
    #[must_use]
    pub fn state(self, state: State) -> Self {
        Card { state, ..self }
    }

    pub(super) fn write(&self, out: &mut String) {
        let (class, sign) = (self.state.class(), self.state.sign());
        let (label, value, note) = (
            escaped(&self.label),
            escaped(&self.value),
            escaped(&self.note),
        );
        *out += &format!(
            "<div class=\"card {class}\"><div class=\"label\">{label}</div>\
             <div class=\"value\">{sign}{value}</div><div class=\"note\">{note}</div></div>"
        );
    }
}

/// A part of a section.
#[derive(Clone, Debug)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// A figure with a sentence on how to read it.
    Figure {
        /// The figure.
        scene: Scene,
        /// How to read it.
        caption: String,
    },
    /// A table.
    Table(Table),
    /// Text as it is, with its name: a model, a file.
    Code {
        /// What it is.
        name: String,
        /// The text.
        text: String,
    },
    /// Names and values.
    Facts(Vec<(String, String)>),
    /// Offers a file of [`super::Page::downloads`] by its name. Hidden while scripts are off.
    Download(String),
    /// A place where a click on a row of a table draws that number, where scripts run.
    Explorer,
}

/// A part of a page with a title, to which the navigation leads.
#[derive(Clone, Debug)]
pub struct Section {
    /// Its title.
    pub title: String,
    /// What stands in it.
    pub blocks: Vec<Block>,
    /// Whether only the title is seen at first.
    pub folded: bool,
}

impl Section {
    /// An open section.
    pub fn new(title: &str, blocks: Vec<Block>) -> Self {
        Section {
            title: title.into(),
            blocks,
            folded: false,
        }
    }

    /// The command that made the page, folded.
    pub fn command(command: &str) -> Self {
        let (name, text) = ("command".into(), command.into());
        Section::new("Command", vec![Block::Code { name, text }]).folded()
    }

    /// A model, and the command that fitted it unless that is empty, folded.
    pub fn model(model: &str, command: &str) -> Self {
        let code = |name: &str, text: &str| Block::Code {
            name: name.into(),
            text: text.into(),
        };
        let mut blocks = vec![code("Model", model)];
        if !command.is_empty() {
            blocks.push(code("Command", command));
        }
        Section::new("Model", blocks).folded()
    }

    /// The same, folded.
    #[must_use]
    pub fn folded(self) -> Self {
        Section {
            folded: true,
            ..self
        }
    }

    pub(super) fn write(&self, k: usize, out: &mut String, tables: &mut Vec<Value>) {
        let title = escaped(&self.title);
        if self.folded {
            *out += &format!("<details class=\"section\" id=\"s{k}\"><summary>{title}</summary>");
        } else {
            *out += &format!("<section id=\"s{k}\"><h2>{title}</h2>");
        }
        self.blocks
            .iter()
            .for_each(|block| block.write(out, tables));
        *out += if self.folded {
            "</details>"
        } else {
            "</section>"
        };
    }
}

impl Block {
    fn write(&self, out: &mut String, tables: &mut Vec<Value>) {
        match self {
            Block::Text(text) => *out += &format!("<p>{}</p>", escaped(text)),
            Block::Figure { scene, caption } => {
                *out += "<figure><div class=\"scroll\">";
                *out += &inline_svg(scene, Theme::Page);
                *out += &format!(
                    "</div><figcaption>{}</figcaption></figure>",
                    escaped(caption)
                );
            }
            Block::Table(table) => table.write(out, tables),
            Block::Code { name, text } => {
                let (name, text) = (escaped(name), escaped(text));
                *out += &format!("<h3>{name}</h3><pre>{text}</pre>");
            }
            Block::Facts(facts) => {
                *out += "<dl>";
                for (name, value) in facts {
                    let (name, value) = (escaped(name), escaped(value));
                    *out += &format!("<dt>{name}</dt><dd>{value}</dd>");
                }
                *out += "</dl>";
            }
            Block::Download(name) => {
                let name = escaped(name);
                *out += &format!(
                    "<p><button class=\"download\" data-file=\"{name}\" hidden>Download \
                     {name}</button></p>"
                );
            }
            Block::Explorer => *out += "<div id=\"explorer\" hidden></div>",
        }
    }
}
