//! Settings in sentences: a library names a setting, a face spells it.
//!
//! A message that names a setting writes it between `⟨` and `⟩`, with its value if it has one:
//! `more ⟨draws⟩`, `try ⟨target_accept 0.95⟩`. The program shows `more --draws` and
//! `try --target-accept 0.95`, a language with named arguments shows `more draws` and
//! `try target_accept=0.95`.

use std::borrow::Cow;

/// The way in which a face writes a setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spelling {
    /// As a flag of the program: `--target-accept 0.95`.
    Flags,
    /// As a named argument: `target_accept=0.95`, `device='cpu'`.
    #[default]
    Arguments,
}

impl Spelling {
    /// `text` with all settings spelled.
    ///
    /// ```
    /// use fitzroy_graph::Spelling;
    /// let advice = "try ⟨target_accept 0.95⟩, or more ⟨draws⟩";
    /// assert_eq!(Spelling::Flags.spell(advice), "try --target-accept 0.95, or more --draws");
    /// assert_eq!(Spelling::Arguments.spell(advice), "try target_accept=0.95, or more draws");
    /// ```
    pub fn spell(self, text: &str) -> Cow<'_, str> {
        let Some(start) = text.find(OPEN) else {
            return Cow::Borrowed(text);
        };
        let (before, rest) = text.split_at(start);
        let mut out = String::with_capacity(text.len() + 8);
        out += before;
        let mut parts = rest.split(OPEN);
        parts.next(); // What stands before the first sign.
        for part in parts {
            match part.split_once(CLOSE) {
                Some((setting, after)) if is_setting(setting) => {
                    self.push(&mut out, setting);
                    out += after;
                }
                // A sign that somebody else wrote.
                _ => {
                    out.push(OPEN);
                    out += part;
                }
            }
        }
        Cow::Owned(out)
    }

    /// The same for what may be text; what is not stays as it is.
    pub fn spell_bytes(self, bytes: &[u8]) -> Cow<'_, [u8]> {
        match str::from_utf8(bytes).map(|text| self.spell(text)) {
            Ok(Cow::Owned(text)) => Cow::Owned(text.into_bytes()),
            _ => Cow::Borrowed(bytes),
        }
    }

    fn push(self, out: &mut String, setting: &str) {
        // A table may have broken the line before the value.
        let (name, value) = setting.split_at(name(setting).len());
        match self {
            Spelling::Flags => {
                out.push_str("--");
                out.push_str(&name.replace('_', "-"));
                let word = value.trim_start();
                match word.chars().any(|c| " ()'\"$&;|*<>".contains(c)) {
                    // A shell would take it for several words, or for more than a word.
                    true => out.push_str(&format!(" '{}'", word.replace('\'', r"'\''"))),
                    false => out.push_str(value),
                }
            }
            Spelling::Arguments => {
                out.push_str(name);
                let value = value.trim_start();
                if value.parse::<f64>().is_ok() {
                    out.push_str(&format!("={value}"));
                } else if !value.is_empty() {
                    out.push_str(&format!("='{value}'"));
                }
            }
        }
    }
}

const OPEN: char = '⟨';
const CLOSE: char = '⟩';

/// What stands before the value of a setting.
fn name(setting: &str) -> &str {
    setting
        .split(char::is_whitespace)
        .next()
        .unwrap_or_default()
}

/// Whether what stands between the signs begins with the name of a setting.
fn is_setting(text: &str) -> bool {
    let name = name(text);
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    begins
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_spelled_wherever_they_stand() {
        let cases = [
            ("", "", ""),
            ("⟨out⟩", "--out", "out"),
            (
                "⟨out DIR⟩ and ⟨f_scale 2⟩.",
                "--out DIR and --f-scale 2.",
                "out='DIR' and f_scale=2.",
            ),
            ("⟨metric\n  dense⟩", "--metric\n  dense", "metric='dense'"),
            ("⟨bound a=0:1⟩", "--bound a=0:1", "bound='a=0:1'"),
            ("⟨x t=t (s)⟩", "--x 't=t (s)'", "x='t=t (s)'"),
        ];
        for (text, flags, arguments) in cases {
            assert_eq!(Spelling::Flags.spell(text), flags);
            assert_eq!(Spelling::Arguments.spell(text), arguments);
        }
    }

    /// Catches: text of users that is taken for a setting, or is lost.
    #[test]
    fn signs_of_others_stay_as_they_are() {
        for text in ["⟨x|y⟩", "a ⟨ b", "⟩⟨", "⟨⟩", "⟨é⟩ ⟨", "⟨A b⟩", "⟨draws"]
        {
            assert_eq!(Spelling::Flags.spell(text), text);
        }
        assert_eq!(Spelling::Flags.spell("⟨x|y⟩ ⟨draws⟩"), "⟨x|y⟩ --draws");
    }
}
