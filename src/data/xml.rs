//! As much of XML as workbooks are made of: tags, attributes and text, one after the other.

/// What comes next in a document.
pub(super) enum Event<'x> {
    /// A tag that opens an element.
    Open(Tag<'x>),
    /// The name of an element that ends; one that is empty ends at once.
    Close(&'x str),
    /// Text between tags, with its escapes.
    Text(&'x str),
}

/// A tag, as it is written between its brackets.
#[derive(Clone, Copy)]
pub(super) struct Tag<'x>(&'x str);

impl<'x> Tag<'x> {
    /// Its name, without the name of its space.
    pub(super) fn name(self) -> &'x str {
        let end = self.0.find(|c: char| c.is_ascii_whitespace() || c == '/');
        local(&self.0[..end.unwrap_or(self.0.len())])
    }

    /// True for an element without content.
    pub(super) fn is_empty(self) -> bool {
        self.0.ends_with('/')
    }

    /// The value of an attribute, whatever space its name is of.
    pub(super) fn attribute(self, name: &str) -> Option<String> {
        let mut rest = self.0;
        while let Some(at) = rest.find('=') {
            let before = rest[..at].trim_end();
            let start = before.rfind(|c: char| c.is_ascii_whitespace());
            let found = local(&before[start.map_or(0, |s| s + 1)..]);
            let after = rest[at + 1..].trim_start();
            let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''))?;
            let (value, behind) = after[1..].split_once(quote)?;
            if found == name {
                return Some(unescaped(value));
            }
            rest = behind;
        }
        None
    }
}

fn local(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

/// The events of a document.
pub(super) struct Events<'x> {
    rest: &'x str,
    /// An empty element that was opened.
    empty: Option<&'x str>,
}

impl<'x> Events<'x> {
    pub(super) fn of(document: &'x str) -> Self {
        Events {
            rest: document,
            empty: None,
        }
    }
}

impl<'x> Iterator for Events<'x> {
    type Item = Event<'x>;

    fn next(&mut self) -> Option<Event<'x>> {
        if let Some(name) = self.empty.take() {
            return Some(Event::Close(name));
        }
        loop {
            let Some(rest) = self.rest.strip_prefix('<') else {
                let end = self.rest.find('<').unwrap_or(self.rest.len());
                let (text, rest) = self.rest.split_at(end);
                self.rest = rest;
                return (!text.is_empty()).then_some(Event::Text(text));
            };
            let skipped = [("!--", "-->"), ("![CDATA[", "]]>"), ("?", "?>"), ("!", ">")];
            let found = skipped.iter().find(|(open, _)| rest.starts_with(open));
            if let Some((_, close)) = found {
                self.rest = rest.split_once(close)?.1;
                continue;
            }
            let (tag, behind) = rest.split_at(tag_end(rest)?);
            self.rest = &behind[1..];
            if let Some(name) = tag.strip_prefix('/') {
                return Some(Event::Close(local(name.trim())));
            }
            let tag = Tag(tag);
            self.empty = tag.is_empty().then(|| tag.name());
            return Some(Event::Open(tag));
        }
    }
}

/// Where a tag ends: a bracket in a value is none of its own.
fn tag_end(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, c) in text.bytes().enumerate() {
        match (quote, c) {
            (None, b'>') => return Some(at),
            (None, b'"' | b'\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
    }
    None
}

/// Text without escapes.
pub(super) fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out += before;
        let Some((name, behind)) = after.split_once(';').filter(|(name, _)| name.len() < 10) else {
            out.push('&');
            rest = after;
            continue;
        };
        let number = |digits: &str, radix| u32::from_str_radix(digits, radix).ok();
        let code = match name.strip_prefix("#x").or(name.strip_prefix("#X")) {
            Some(hex) => number(hex, 16),
            None => name.strip_prefix('#').and_then(|digits| number(digits, 10)),
        };
        let letter = match name {
            "lt" => Some('<'),
            "gt" => Some('>'),
            "amp" => Some('&'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            _ => code.and_then(char::from_u32),
        };
        out.push(letter.unwrap_or('\u{fffd}'));
        rest = behind;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_attributes_and_text_come_in_their_order() {
        let document = "<?xml version='1.0'?><!-- a > b --><x:a r:id = \"1 &gt; 0\" t='s'>p &amp; &#x41;\
                        <v/></x:a>";
        let shown: Vec<String> = Events::of(document)
            .map(|event| match event {
                Event::Open(tag) => format!("<{} {:?}>", tag.name(), tag.attribute("id")),
                Event::Close(name) => format!("</{name}>"),
                Event::Text(text) => unescaped(text),
            })
            .collect();
        let want = ["<a Some(\"1 > 0\")>", "p & A", "<v None>", "</v>", "</a>"];
        assert_eq!(shown, want);
        assert_eq!(Events::of("<a href='").count(), 0);
    }
}
