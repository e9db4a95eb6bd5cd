//! Which columns of a file hold what, and what its codes mean.

use crate::config::{only, parse, wrong};
use fitzroy::Result;
use serde_json::Value;

/// What a column is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Whose trial it is.
    Subject,
    /// Which of several visits it belongs to; part of the subject's name.
    Session,
    /// What was shown.
    Stimulus,
    /// What was pressed.
    Response,
    /// When, after the picture.
    Rt,
    /// When the stop signal came, after the picture.
    Ssd,
    /// Go or stop.
    TrialType,
}

/// All roles, their names in files, and the meanings that codes in such a column may have.
const ROLES: [(Role, &str, &[&str]); 7] = [
    (Role::Subject, "subject", &["leave_out"]),
    (Role::Session, "session", &["leave_out"]),
    (Role::Stimulus, "stimulus", &["left", "right", "leave_out"]),
    (
        Role::Response,
        "response",
        &["none", "left", "right", "leave_out"],
    ),
    (Role::Rt, "rt", &["none"]),
    (Role::Ssd, "ssd", &["none"]),
    (Role::TrialType, "trial_type", &["go", "stop", "leave_out"]),
];

impl Role {
    /// Its name in files and messages.
    pub fn name(self) -> &'static str {
        ROLES[self as usize].1
    }

    fn named(name: &str) -> Option<Role> {
        ROLES.iter().find(|r| r.1 == name).map(|r| r.0)
    }

    fn meanings(self) -> &'static [&'static str] {
        ROLES[self as usize].2
    }
}

/// What to do with something that may be a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubtful {
    /// It is an error.
    Refuse,
    /// It is left out, and counted.
    Drop,
}

/// Which columns hold what, and what their codes mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// Names of columns for each role: the first that is there counts.
    columns: [Vec<String>; 7],
    /// Codes of each role, as [`code`] writes them, and their meanings.
    codes: [Vec<(String, &'static str)>; 7],
    /// Seconds in a unit of rt and of ssd; none if all times of the file have one unit.
    units: [Option<f64>; 2],
    /// A delay on a go trial.
    pub ssd_on_go: Doubtful,
    /// A response that does not come after the picture.
    pub premature: Doubtful,
}

/// Layouts that come along.
const PROFILES: [(&str, &str); 2] = [
    ("fitzroy", include_str!("profiles/fitzroy.toml")),
    ("abcd", include_str!("profiles/abcd.toml")),
];

impl Default for Layout {
    fn default() -> Self {
        Layout::profile("fitzroy").expect("it comes along")
    }
}

/// A code without what may differ in writing: spaces, capitals, a decimal point with zeros.
pub(crate) fn code(cell: &str) -> String {
    let cell = cell.trim();
    let whole = cell
        .parse::<f64>()
        .ok()
        .filter(|x| x.fract() == 0.0 && x.abs() < 1e15);
    whole.map_or_else(|| cell.to_lowercase(), |x| format!("{}", x as i64))
}

impl Layout {
    /// A layout that comes along: `fitzroy`, or `abcd`.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn profile(name: &str) -> Result<Layout> {
        let Some((_, text)) = PROFILES.iter().find(|(known, _)| *known == name) else {
            let all: Vec<&str> = PROFILES.iter().map(|p| p.0).collect();
            return Err(wrong(format!(
                "⟨profile {name}⟩: there is none; there are {}",
                all.join(", ")
            )));
        };
        let empty = Layout {
            columns: Default::default(),
            codes: Default::default(),
            units: [None; 2],
            ssd_on_go: Doubtful::Refuse,
            premature: Doubtful::Refuse,
        };
        empty.with(&parse(text)?)
    }

    /// The text of a layout, in TOML, JSON or YAML, over this one, or over the profile that it names.
    ///
    /// # Errors
    /// It is none of the three, or holds what nothing would be done with.
    pub fn read(&self, text: &str) -> Result<Layout> {
        let is_toml = text.lines().any(|line| {
            let line = line.trim();
            line.starts_with('[') || line.starts_with('{') || line.contains('=')
        });
        let tree = match is_toml {
            true => parse(text)?,
            false => yaml(text)?,
        };
        match tree.get("profile") {
            Some(Value::String(name)) => Layout::profile(name)?.with(&tree),
            Some(other) => Err(wrong(format!("profile is {other}; it must be a name"))),
            None => self.clone().with(&tree),
        }
    }

    /// This layout with another column for a role, as `rt=Go.RT` says it.
    ///
    /// # Errors
    /// The text has another form, or names no role.
    pub fn with_column(mut self, text: &str) -> Result<Layout> {
        let pair = text
            .split_once('=')
            .filter(|(_, column)| !column.trim().is_empty());
        let found =
            pair.and_then(|(role, column)| Some((Role::named(role.trim())?, column.trim())));
        let Some((role, column)) = found else {
            let all: Vec<&str> = ROLES.iter().map(|r| r.1).collect();
            return Err(wrong(format!(
                "⟨columns⟩ is `{text}`; give a file, or ROLE=COLUMN with a role of {}",
                all.join(", ")
            )));
        };
        self.columns[role as usize] = vec![column.into()];
        Ok(self)
    }

    fn with(mut self, tree: &Value) -> Result<Layout> {
        let known = [
            "profile",
            "columns",
            "codes",
            "units",
            "ssd_on_go",
            "premature",
        ];
        only(tree, "a layout", &known)?;
        let part = |key: &str| tree.get(key).filter(|v| !v.is_null());
        if let Some(columns) = part("columns") {
            let names: Vec<&str> = ROLES.iter().map(|r| r.1).collect();
            only(columns, "[columns]", &names)?;
            for (role, name, _) in ROLES {
                if let Some(value) = columns.get(name) {
                    self.columns[role as usize] = texts(value, &format!("columns.{name}"))?;
                }
            }
        }
        if let Some(codes) = part("codes") {
            let names: Vec<&str> = ROLES.iter().map(|r| r.1).collect();
            only(codes, "[codes]", &names)?;
            for (role, name, _) in ROLES {
                if let Some(table) = codes.get(name) {
                    self.codes[role as usize] = codes_of(role, table)?;
                }
            }
        }
        if let Some(units) = part("units") {
            only(units, "[units]", &["rt", "ssd"])?;
            for (k, name) in ["rt", "ssd"].into_iter().enumerate() {
                if let Some(value) = units.get(name) {
                    self.units[k] = Some(unit(value, name)?);
                }
            }
        }
        let doubtful = |key: &str, drop: &str, usual: Doubtful| match part(key) {
            None => Ok(usual),
            Some(Value::String(s)) if s == "refuse" => Ok(Doubtful::Refuse),
            Some(Value::String(s)) if s == drop => Ok(Doubtful::Drop),
            Some(other) => Err(wrong(format!("{key} is {other}; use refuse or {drop}"))),
        };
        self.ssd_on_go = doubtful("ssd_on_go", "ignore", self.ssd_on_go)?;
        self.premature = doubtful("premature", "drop", self.premature)?;
        Ok(self)
    }

    /// The place of a role among `names`; capitals do not matter where nothing is called exactly so.
    pub(crate) fn place(&self, role: Role, names: &[String]) -> Option<usize> {
        let wanted = &self.columns[role as usize];
        let exact = |w: &String| names.iter().position(|n| n == w);
        let alike = |w: &String| names.iter().position(|n| n.eq_ignore_ascii_case(w));
        wanted
            .iter()
            .find_map(exact)
            .or_else(|| wanted.iter().find_map(alike))
    }

    /// The column that a role is looked for in.
    pub(crate) fn column(&self, role: Role) -> &str {
        self.columns[role as usize]
            .first()
            .map_or("", String::as_str)
    }

    /// What a cell means; none if its code is not known.
    pub(crate) fn meaning(&self, role: Role, cell: &str) -> Option<&'static str> {
        let cell = code(cell);
        let found = self.codes[role as usize]
            .iter()
            .find(|(code, _)| *code == cell);
        found.map(|(_, meaning)| *meaning)
    }

    /// The codes of a role, for messages: `left_arrow for left, ...`.
    pub(crate) fn codes(&self, role: Role) -> String {
        let each = role.meanings().iter().filter_map(|meaning| {
            let of = self.codes[role as usize].iter().filter(|c| c.1 == *meaning);
            let shown: Vec<&str> = of
                .map(|c| c.0.as_str())
                .filter(|c| !c.is_empty())
                .take(3)
                .collect();
            (!shown.is_empty()).then(|| format!("{} for {meaning}", shown.join(" or ")))
        });
        each.collect::<Vec<_>>().join(", ")
    }

    /// Seconds in a unit of `role`; `usual` where the layout does not say.
    pub(crate) fn unit_s(&self, role: Role, usual: f64) -> f64 {
        let own = match role {
            Role::Rt => self.units[0],
            Role::Ssd => self.units[1],
            _ => None,
        };
        own.unwrap_or(usual)
    }

    /// Whether the layout says the units of its times.
    pub(crate) fn has_units(&self) -> bool {
        self.units != [None; 2]
    }
}

fn texts(value: &Value, key: &str) -> Result<Vec<String>> {
    let text = |v: &Value| match v {
        Value::String(s) => Ok(s.clone()),
        Value::Number(x) => Ok(code(&x.to_string())),
        other => Err(wrong(format!(
            "{key} holds {other}; it must be text or a list of texts"
        ))),
    };
    match value {
        Value::Array(items) => items.iter().map(text).collect(),
        one => Ok(vec![text(one)?]),
    }
}

fn codes_of(role: Role, table: &Value) -> Result<Vec<(String, &'static str)>> {
    let key = format!("[codes.{}]", role.name());
    only(table, &key, role.meanings())?;
    let mut out: Vec<(String, &'static str)> = Vec::new();
    for meaning in role.meanings() {
        let Some(value) = table.get(*meaning) else {
            continue;
        };
        for text in texts(value, &format!("{key} {meaning}"))? {
            let text = code(&text);
            if let Some((_, other)) = out.iter().find(|(known, _)| *known == text) {
                return Err(wrong(format!(
                    "{key}: `{text}` means {other} and {meaning}"
                )));
            }
            out.push((text, meaning));
        }
    }
    Ok(out)
}

fn unit(value: &Value, name: &str) -> Result<f64> {
    match value.as_str() {
        Some("s") => Ok(1.0),
        Some("ms") => Ok(0.001),
        _ => Err(wrong(format!(
            "units.{name} is {value}; use \"s\" or \"ms\""
        ))),
    }
}

/// YAML as a tree.
fn yaml(text: &str) -> Result<Value> {
    use yaml_rust2::{Yaml, YamlLoader};
    fn tree(value: &Yaml) -> Value {
        match value {
            Yaml::String(s) | Yaml::Real(s) => Value::from(s.as_str()),
            Yaml::Integer(n) => Value::from(*n),
            // `none: yes` and the like are words here.
            Yaml::Boolean(b) => Value::from(b.to_string()),
            Yaml::Array(items) => items.iter().map(tree).collect(),
            Yaml::Hash(map) => {
                let pairs = map.iter();
                let pairs =
                    pairs.map(|(k, v)| (k.as_str().unwrap_or_default().to_string(), tree(v)));
                Value::Object(pairs.collect())
            }
            _ => Value::Null,
        }
    }
    let documents = YamlLoader::load_from_str(text);
    let documents = documents.map_err(|e| wrong(format!("neither TOML nor YAML: {e}")))?;
    documents
        .first()
        .map(tree)
        .ok_or_else(|| wrong("the layout is empty".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_read_from_toml_and_yaml_and_what_is_wrong_is_named() {
        let toml = "[columns]\nrt = \"Go.RT\"\n[codes.response]\nnone = [\"\", 9]\nleft = 1\nright = 2\n\
                    [units]\nrt = \"ms\"\n";
        let yaml = "columns:\n  rt: Go.RT\ncodes:\n  response:\n    none: ['', 9]\n    left: 1\n    right: 2\n\
                    units: {rt: ms}\n";
        let usual = Layout::default();
        let read = usual.read(toml).unwrap();
        assert_eq!(read, usual.read(yaml).unwrap());
        assert_eq!(read.meaning(Role::Response, " 9.0"), Some("none"));
        assert_eq!(read.meaning(Role::Response, "left"), None);
        assert_eq!(
            read.codes(Role::Response),
            "9 for none, 1 for left, 2 for right"
        );
        assert_eq!(
            (read.unit_s(Role::Rt, 1.0), read.unit_s(Role::Ssd, 1.0)),
            (0.001, 1.0)
        );
        let names = ["GO.RT".to_string()];
        assert_eq!(read.place(Role::Rt, &names), Some(0));
        let abcd = usual.read("profile: abcd\n").unwrap();
        assert_eq!(abcd, Layout::profile("abcd").unwrap());
        let message = |text: &str| usual.read(text).unwrap_err().to_string();
        assert!(message("[columns]\nrts = \"x\"\n").contains("[columns] has no `rts`"));
        assert!(message("profile = \"abc\"\n").contains("there are fitzroy, abcd"));
        assert!(message("[units]\nrt = \"min\"\n").contains("use \"s\" or \"ms\""));
        assert!(message("premature: keep\n").contains("use refuse or drop"));
        let twice = "[codes.stimulus]\nleft = [1]\nright = [1.0]\n";
        assert!(
            message(twice).contains("`1` means left and right"),
            "{}",
            message(twice)
        );
        assert!(usual.clone().with_column("time=x").is_err());
    }
}
