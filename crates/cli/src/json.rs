//! JSON as the program writes it.

use crate::terminal;
use serde_json::Value;

/// A number at full precision; what JSON cannot say becomes "NaN", "Infinity" or "-Infinity".
pub(crate) fn number(x: f64) -> Value {
    match serde_json::Number::from_f64(x) {
        Some(number) => Value::Number(number),
        None if x.is_nan() => Value::from("NaN"),
        None if x > 0.0 => Value::from("Infinity"),
        None => Value::from("-Infinity"),
    }
}

/// Prints one document on stdout.
pub(crate) fn print(document: &Value) {
    terminal::out(format_args!("{document:#}"));
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_keep_their_precision_and_the_rest_becomes_words() {
        assert_eq!(number(0.1 + 0.2).to_string(), "0.30000000000000004");
        assert_eq!(number(f64::NAN), "NaN");
        assert_eq!(number(f64::INFINITY), "Infinity");
        assert_eq!(number(f64::NEG_INFINITY), "-Infinity");
    }
}
