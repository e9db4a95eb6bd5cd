//! `cargo xtask site`: the documentation and the API as one folder of HTML, its links checked.

mod links;
mod page;

use page::Page;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What every page looks like.
const STYLE: &str = include_str!("site.css");
/// Pages at the top of the repository and in folders of their own; those of `docs` are all there are.
const PAGES: [&str; 9] = [
    "README.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "GOVERNANCE.md",
    "CONTRIBUTING.md",
    "ARCHITECTURE.md",
    "COMPARE.md",
    "models/README.md",
    "benches/README.md",
];
/// The crates whose API is for others.
const CRATES: [&str; 5] = [
    "fitzroy-graph",
    "fitzroy-device",
    "fitzroy",
    "fitzroy-curve-fit",
    "fitzroy-session",
];

/// Makes the site in `target/site`. True if every link in it leads somewhere.
pub(crate) fn make(root: &Path) -> bool {
    match written(root) {
        Ok((folder, n_pages, dead)) if dead.is_empty() => {
            println!("==> {n_pages} pages in {}, no dead link", folder.display());
            true
        }
        Ok((_, _, dead)) => {
            for link in &dead {
                println!("FAIL     {link}");
            }
            false
        }
        Err(error) => {
            eprintln!("site: {error}");
            false
        }
    }
}

/// Writes everything. Gives the folder, the number of pages, and the dead links.
fn written(root: &Path) -> Result<(PathBuf, usize, Vec<String>), String> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or_else(|| root.join("target"));
    let out = target.join("site");
    if out.exists() {
        fs::remove_dir_all(&out).map_err(|e| format!("{}: {e}", out.display()))?;
    }
    let (pages, n_listed) = pages(root)?;
    let contents = contents(&pages[..n_listed]);
    for page in &pages {
        put(&out.join(page.target()), page.html(&contents).as_bytes())?;
        for file in page.files().iter().filter(|file| !file.ends_with(".md")) {
            copy(&root.join(file), &out.join(file))?;
        }
    }
    put(&out.join("site.css"), STYLE.as_bytes())?;
    api(root, &target)?;
    copy(&target.join("doc"), &out.join("api"))?;
    put(&out.join("api/index.html"), crates().as_bytes())?;
    let dead = links::dead(&out)?;
    Ok((out, pages.len(), dead))
}

/// Every page: those that are listed, then others that these lead to. Gives the number of the former, too.
fn pages(root: &Path) -> Result<(Vec<Page>, usize), String> {
    let docs = fs::read_dir(root.join("docs")).map_err(|e| format!("docs: {e}"))?;
    let names = docs.flatten().map(|entry| entry.file_name());
    let mut docs: Vec<String> = names
        .map(|name| format!("docs/{}", name.to_string_lossy()))
        .filter(|name| name.ends_with(".md"))
        .collect();
    docs.sort();
    let mut names: Vec<String> = PAGES.iter().map(|name| name.to_string()).collect();
    names.extend(docs);
    let n_listed = names.len();
    let mut pages: Vec<Page> = Vec::new();
    while let Some(name) = names.get(pages.len()) {
        let path = root.join(name);
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let page = Page::new(root, name.clone(), text);
        for more in page
            .files()
            .into_iter()
            .filter(|file| file.ends_with(".md"))
        {
            if !names.contains(&more) {
                names.push(more);
            }
        }
        pages.push(page);
    }
    Ok((pages, n_listed))
}

/// The list of pages that stands beside each of them: title and target.
fn contents(pages: &[Page]) -> Vec<(String, String)> {
    let named = |p: &Page| (p.title().to_string(), p.target());
    let mut all: Vec<_> = pages.iter().map(named).collect();
    let start = all.remove(0);
    // What people read comes before what is about the project.
    all.rotate_left(PAGES.len() - 1);
    all.insert(0, start);
    all.push(("API".into(), "api/index.html".into()));
    all
}

/// The page that leads to the crates.
fn crates() -> String {
    let item = |name: &str| {
        let folder = name.replace('-', "_");
        format!("<li><a href=\"{folder}/index.html\">{name}</a></li>\n")
    };
    let items: String = CRATES.iter().map(|name| item(name)).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Fitzroy: API</title>\n\
         <link rel=\"stylesheet\" href=\"../site.css\">\n<main>\n<h1>API</h1>\n<ul>\n{items}</ul>\n</main>\n"
    )
}

/// The pages of rustdoc.
fn api(root: &Path, target: &Path) -> Result<(), String> {
    let old = target.join("doc");
    if old.exists() {
        fs::remove_dir_all(&old).map_err(|e| format!("{}: {e}", old.display()))?;
    }
    let mut doc = Command::new("cargo");
    doc.args(["doc", "--no-deps", "--lib"]).current_dir(root);
    for name in CRATES {
        doc.args(["-p", name]);
    }
    match crate::steps::timed(doc) {
        true => Ok(()),
        false => Err("cargo doc failed".into()),
    }
}

fn put(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let folder = path.parent().expect("it lies in the site");
    let put = fs::create_dir_all(folder).and_then(|()| fs::write(path, bytes));
    put.map_err(|e| format!("{}: {e}", path.display()))
}

/// Copies a file, or a folder with everything below it.
fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let said = |e: std::io::Error| format!("{}: {e}", from.display());
    if !from.is_dir() {
        return put(to, &fs::read(from).map_err(said)?);
    }
    for entry in fs::read_dir(from).map_err(said)? {
        let name = entry.map_err(said)?.file_name();
        copy(&from.join(&name), &to.join(&name))?;
    }
    Ok(())
}
