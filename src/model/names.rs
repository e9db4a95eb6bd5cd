//! Finding what a misspelt name was meant to be.

/// The candidate nearest to `name`, if one is near enough to be what was meant.
///
/// Letter case is free; a third of the letters (at least one, at most three) may differ by
/// insertion, deletion, replacement or an exchange of neighbours. Ties go to the first.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let wanted: Vec<char> = name.to_lowercase().chars().collect();
    let allowed = (wanted.len() / 3).clamp(1, 3);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let other: Vec<char> = candidate.to_lowercase().chars().collect();
        if other.len().abs_diff(wanted.len()) > allowed {
            continue;
        }
        let d = distance(&wanted, &other);
        let whole = wanted.len().max(other.len());
        if d <= allowed && d < whole && best.is_none_or(|(least, _)| d < least) {
            best = Some((d, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// `; did you mean ...?`, or nothing.
pub(crate) fn did_you_mean<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> String {
    nearest(name, candidates).map_or_else(String::new, |n| format!("; did you mean `{n}`?"))
}

/// Names in backquotes, separated by commas; at most `limit` of them.
pub(crate) fn list<'a>(names: impl IntoIterator<Item = &'a str>, limit: usize) -> String {
    let all: Vec<&str> = names.into_iter().collect();
    let shown: Vec<String> = all.iter().take(limit).map(|n| format!("`{n}`")).collect();
    let more = all.len().saturating_sub(limit);
    match (shown.is_empty(), more) {
        (true, _) => "nothing".into(),
        (false, 0) => shown.join(", "),
        (false, _) => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Optimal string alignment distance (Levenshtein with exchanges of neighbours).
fn distance(a: &[char], b: &[char]) -> usize {
    let columns = b.len() + 1;
    let mut table = vec![0usize; (a.len() + 1) * columns];
    for j in 0..columns {
        table[j] = j;
    }
    for i in 1..=a.len() {
        table[i * columns] = i;
        for j in 1..=b.len() {
            let at = |i: usize, j: usize| table[i * columns + j];
            let change = at(i - 1, j - 1) + usize::from(a[i - 1] != b[j - 1]);
            let mut least = change.min(at(i - 1, j) + 1).min(at(i, j - 1) + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(at(i - 2, j - 2) + 1);
            }
            table[i * columns + j] = least;
        }
    }
    table[a.len() * columns + b.len()]
}
