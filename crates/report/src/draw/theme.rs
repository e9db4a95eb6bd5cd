//! Colours by their role, in light and dark.

/// What a colour is for. A theme says which colour that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// The ground of the figure.
    Paper,
    /// Titles and names.
    Text,
    /// Tick labels and notes.
    Muted,
    /// Axis lines.
    Axis,
    /// Grid lines.
    Grid,
    /// The k-th series: the colours of Okabe and Ito, which all forms of colour blindness can tell
    /// apart. They repeat after seven.
    Series(usize),
    /// Series that are only background.
    Grey,
    /// Marks on top of everything: divergences, reference values.
    Mark,
    /// A check that passed.
    Good,
    /// Something to look at.
    Warn,
    /// A check that failed.
    Bad,
}

/// A set of colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// Dark on white.
    Light,
    /// Light on near black.
    Dark,
    /// CSS variables, which an HTML page defines for both.
    Page,
}

/// Series colours in light, and in dark, where blue and black would not be seen.
const SERIES: [[&str; 2]; 7] = [
    ["#0072b2", "#4ba6ea"],
    ["#d55e00", "#f2853b"],
    ["#009e73", "#2cc79b"],
    ["#cc79a7", "#e39cc4"],
    ["#56b4e9", "#9ad5f7"],
    ["#e69f00", "#f5c342"],
    ["#000000", "#ffffff"],
];

impl Ink {
    /// Roles that a page defines as variables, with their names.
    pub(crate) const NAMED: [(Ink, &'static str); 10] = [
        (Ink::Paper, "--paper"),
        (Ink::Text, "--text"),
        (Ink::Muted, "--muted"),
        (Ink::Axis, "--axis"),
        (Ink::Grid, "--grid"),
        (Ink::Grey, "--grey"),
        (Ink::Mark, "--mark"),
        (Ink::Good, "--good"),
        (Ink::Warn, "--warn"),
        (Ink::Bad, "--bad"),
    ];

    /// Colours in light and dark.
    const fn pair(self) -> [&'static str; 2] {
        match self {
            Ink::Paper => ["#ffffff", "#15181b"],
            Ink::Text => ["#212529", "#e9ecef"],
            Ink::Muted => ["#5c636a", "#a5adb5"],
            Ink::Axis => ["#868e96", "#737b83"],
            Ink::Grid => ["#e9ecef", "#2b3035"],
            Ink::Series(k) => SERIES[k % SERIES.len()],
            Ink::Grey => ["#b4bbc2", "#5a626a"],
            Ink::Mark => ["#000000", "#ffffff"],
            Ink::Good => ["#2b8a3e", "#51cf66"],
            Ink::Warn => ["#b35900", "#ffa94d"],
            Ink::Bad => ["#c92a2a", "#ff6b6b"],
        }
    }
}

impl Theme {
    /// The colour as it stands in SVG.
    pub fn colour(self, ink: Ink) -> String {
        match self {
            Theme::Light => ink.pair()[0].into(),
            Theme::Dark => ink.pair()[1].into(),
            Theme::Page => match ink {
                Ink::Series(k) => format!("var(--series{})", k % SERIES.len()),
                _ => {
                    let named = Ink::NAMED.iter().find(|(other, _)| *other == ink);
                    format!("var({})", named.expect("every role has a name").1)
                }
            },
        }
    }

    /// Red, green and blue, 0 to 255. A page has none of its own and is taken as light.
    pub(crate) fn rgb(self, ink: Ink) -> [u8; 3] {
        let hex = match self {
            Theme::Dark => ink.pair()[1],
            Theme::Light | Theme::Page => ink.pair()[0],
        };
        let part = |k: usize| u8::from_str_radix(&hex[1 + 2 * k..3 + 2 * k], 16);
        [0, 1, 2].map(|k| part(k).expect("colours are written as six hexadecimal digits"))
    }

    /// The CSS variables of a page for this theme, `--paper: #ffffff; ...`.
    pub(crate) fn variables(self) -> String {
        let mut out = String::new();
        for (ink, name) in Ink::NAMED {
            out += &format!("{name}:{};", self.colour(ink));
        }
        for k in 0..SERIES.len() {
            out += &format!("--series{k}:{};", self.colour(Ink::Series(k)));
        }
        out
    }
}
