//! Settings that are one of a few, by name.

/// A setting that is one of a few, which people choose by name: in a flag, an argument or a file.
///
/// ```
/// use fitzroy_graph::Named;
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// enum When {
///     Always,
///     Never,
/// }
///
/// impl Named for When {
///     const NAMES: &'static [(&'static str, Self)] =
///         &[("always", When::Always), ("never", When::Never)];
/// }
///
/// assert_eq!(When::named("never"), Some(When::Never));
/// assert_eq!(When::Always.setting(), "always");
/// assert_eq!(When::names().collect::<Vec<_>>(), ["always", "never"]);
/// ```
pub trait Named: Copy + PartialEq + Send + Sync + 'static {
    /// What there is to choose from, in the order in which it is listed. Several names may stand for
    /// one value; the first is its own.
    const NAMES: &'static [(&'static str, Self)];

    /// The value of that name.
    fn named(name: &str) -> Option<Self> {
        let found = Self::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| *value)
    }

    /// The name that people give; empty if this cannot be chosen by name.
    fn setting(self) -> &'static str {
        let found = Self::NAMES.iter().find(|(_, value)| *value == self);
        found.map_or("", |(name, _)| name)
    }

    /// What it means, in a few words for a list; empty if the name says it.
    fn meaning(self) -> &'static str {
        ""
    }

    /// All names.
    fn names() -> impl Iterator<Item = &'static str> {
        Self::NAMES.iter().map(|(name, _)| *name)
    }
}
