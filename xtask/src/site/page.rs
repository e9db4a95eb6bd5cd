//! One page: Markdown in, HTML out, with links to other pages instead of their sources.

use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};
use std::path::{Path, PathBuf};

/// A page of the documentation.
pub(super) struct Page {
    /// The file from the root of the repository.
    source: String,
    text: String,
    root: PathBuf,
}

impl Page {
    /// A page from its file and text.
    pub(super) fn new(root: &Path, source: String, text: String) -> Self {
        let root = root.into();
        Page { source, text, root }
    }

    /// Its file in the site.
    pub(super) fn target(&self) -> String {
        target(&self.source)
    }

    /// Its first heading.
    pub(super) fn title(&self) -> &str {
        let mut lines = self.text.lines();
        let heading = lines.find_map(|line| line.strip_prefix("# "));
        heading.unwrap_or(&self.source)
    }

    /// Files and folders of the repository that it links to.
    pub(super) fn files(&self) -> Vec<String> {
        let links = Parser::new_ext(&self.text, options()).filter_map(|event| match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                self.inside(&dest_url)
            }
            _ => None,
        });
        links.collect()
    }

    /// The path from the root that a link leads to; none if it leads elsewhere.
    fn inside(&self, link: &str) -> Option<String> {
        let file = link.split('#').next().unwrap_or_default();
        if file.is_empty() || link.contains(':') {
            return None;
        }
        let mut parts: Vec<&str> = self.source.split('/').collect();
        parts.pop();
        for part in file.split('/') {
            match part {
                ".." => drop(parts.pop()),
                "." | "" => (),
                name => parts.push(name),
            }
        }
        let path = parts.join("/");
        self.root.join(&path).exists().then_some(path)
    }

    /// The whole page; `contents` are titles and targets of all of them.
    pub(super) fn html(&self, contents: &[(String, String)]) -> String {
        let up = "../".repeat(self.target().matches('/').count());
        let own = self.target();
        let mut list = String::new();
        for (title, target) in contents {
            let here = if *target == own {
                " aria-current=\"page\""
            } else {
                ""
            };
            list += &format!(
                "<li><a href=\"{up}{target}\"{here}>{}</a></li>\n",
                escaped(title)
            );
        }
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n<title>{}</title>\n\
             <link rel=\"stylesheet\" href=\"{up}site.css\">\n<nav><ul>\n{list}</ul></nav>\n\
             <main>\n{}</main>\n</html>\n",
            escaped(self.title()),
            self.body()
        )
    }

    fn body(&self) -> String {
        let mut events: Vec<Event<'_>> = Parser::new_ext(&self.text, options()).collect();
        let mut opened = None;
        for at in 0..events.len() {
            match &mut events[at] {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    *dest_url = CowStr::from(linked(dest_url));
                }
                Event::Start(Tag::Heading { .. }) => opened = Some((at, String::new())),
                Event::End(TagEnd::Heading(level)) => {
                    let (start, words) = opened.take().expect("it was opened");
                    let level = *level;
                    events[start] = heading(level, &words);
                }
                Event::Text(words) | Event::Code(words) => {
                    if let Some((_, heading)) = &mut opened {
                        *heading += words;
                    }
                }
                _ => (),
            }
        }
        let mut out = String::new();
        html::push_html(&mut out, events.into_iter());
        out
    }
}

fn options() -> Options {
    Options::ENABLE_TABLES
}

fn heading(level: HeadingLevel, words: &str) -> Event<'static> {
    Event::Start(Tag::Heading {
        level,
        id: Some(CowStr::from(anchor(words))),
        classes: Vec::new(),
        attrs: Vec::new(),
    })
}

/// Where the page of a source lies in the site.
fn target(source: &str) -> String {
    match source.strip_suffix("README.md") {
        Some(folder) => format!("{folder}index.html"),
        None => format!("{}.html", source.trim_end_matches(".md")),
    }
}

/// A link to the page of what it led to the source of.
fn linked(link: &str) -> String {
    let (file, place) = match link.split_once('#') {
        Some((file, place)) => (file, format!("#{place}")),
        None => (link, String::new()),
    };
    match file.ends_with(".md") && !file.contains(':') {
        true => target(file) + &place,
        false => link.into(),
    }
}

/// The anchor of a heading, as the hosts of repositories make it.
fn anchor(heading: &str) -> String {
    let text = heading.trim().to_lowercase();
    let kept = text
        .chars()
        .filter(|&c| c.is_alphanumeric() || "-_ ".contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_pages_and_headings_have_anchors() {
        let text = "# A & B\n\nSee [x](../README.md#to-do), [y](other.md) and [z](https://a.b/c.md).\n\n\
            ## What `it` is: more\n";
        let page = Page::new(Path::new("."), "docs/a.md".into(), text.into());
        let html = page.html(&[("A & B".into(), "docs/a.html".into())]);
        for part in [
            "href=\"../index.html#to-do\"",
            "href=\"other.html\"",
            "href=\"https://a.b/c.md\"",
            "<h2 id=\"what-it-is-more\">",
            "<a href=\"../docs/a.html\" aria-current=\"page\">A &amp; B</a>",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
    }
}
