//! Links of a folder of HTML that lead nowhere.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The folder of rustdoc's pages.
const API: &str = "api/";

/// Every link from a page to a file or an anchor that is not there.
pub(super) fn dead(folder: &Path) -> Result<Vec<String>, String> {
    let mut files = BTreeSet::new();
    let mut keep = |path: &str| {
        files.insert(path.to_string());
    };
    crate::release::walk(folder, "", &mut keep)?;
    let mut pages = BTreeMap::new();
    for file in files.iter().filter(|file| file.ends_with(".html")) {
        let path = folder.join(file);
        let text = std::fs::read_to_string(&path).map_err(|e| format!("{file}: {e}"))?;
        pages.insert(file.as_str(), text);
    }
    let mut found = Vec::new();
    for (page, text) in &pages {
        let text = without_scripts(text);
        // Sources of rustdoc's pages are scripts that may not be there; its own lint knows anchors.
        let is_api = page.starts_with(API);
        let sources = values(&text, "src").filter(|_| !is_api);
        for link in values(&text, "href").chain(sources) {
            let link = match is_api {
                true => link.split('#').next().unwrap_or_default(),
                false => link,
            };
            if let Some(why) = wrong(page, link, &files, &pages) {
                found.push(format!("{page}: {link}: {why}"));
            }
        }
    }
    Ok(found)
}

/// Why a link leads nowhere.
fn wrong(
    page: &str,
    link: &str,
    files: &BTreeSet<String>,
    pages: &BTreeMap<&str, String>,
) -> Option<&'static str> {
    let (path, place) = link.split_once('#').unwrap_or((link, ""));
    if link.contains(':') || path.starts_with("//") {
        return None;
    }
    let to = resolved(page, path.split('?').next().unwrap_or_default());
    if !files.contains(&to) {
        return Some("there is no such file");
    }
    let text = pages.get(to.as_str()).filter(|_| !place.is_empty())?;
    let named = [format!("id=\"{place}\""), format!("name=\"{place}\"")];
    let there = named.iter().any(|name| text.contains(name));
    (!there).then_some("the page has no such anchor")
}

/// A page without what its scripts say.
fn without_scripts(text: &str) -> String {
    let mut parts = text.split("<script");
    let mut kept = parts.next().unwrap_or_default().to_string();
    for part in parts {
        kept += part.split_once("</script>").map_or("", |(_, after)| after);
    }
    kept
}

/// The file that a link of `page` leads to.
fn resolved(page: &str, path: &str) -> String {
    if path.is_empty() {
        return page.into();
    }
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." => (),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// The values of an attribute.
fn values<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    let mut parts = text.split(name);
    let _ = parts.next();
    parts.filter_map(|rest| rest.strip_prefix("=\"")?.split('"').next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_found() {
        let files: BTreeSet<String> = ["a.html", "d/b.html"].map(String::from).into();
        let pages = BTreeMap::from([
            ("a.html", "<h2 id=\"top\">".to_string()),
            ("d/b.html", String::new()),
        ]);
        let check = |link| wrong("d/b.html", link, &files, &pages);
        assert_eq!(check("../a.html#top"), None);
        assert_eq!(check("https://example.org/x"), None);
        assert!(check("../a.html#bottom").is_some());
        assert!(check("a.html").is_some());
        assert!(check("#here").is_some());
        assert_eq!(without_scripts("a<script x>b</script>c<script>"), "ac");
    }
}
