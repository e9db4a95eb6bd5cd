//! Flags whose values are settings of the library by name.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use fitzroy::Named;

/// Takes the names of a setting, and lists them in the help.
pub(crate) fn named<T: Named>() -> impl TypedValueParser<Value = T> {
    let value = |(name, value): &(&'static str, T)| {
        let possible = PossibleValue::new(*name);
        match value.meaning() {
            "" => possible,
            meaning => possible.help(meaning),
        }
    };
    PossibleValuesParser::new(T::NAMES.iter().map(value))
        .map(|name: String| T::named(&name).expect("it is one of the names"))
}
