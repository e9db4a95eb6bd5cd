//! The table of distributions in words, for people.

use super::{Arg, ArgKind, Bound, Entry, Form, Structured, Support};

impl Arg {
    /// As it stands in a call: `mu`, `sigma=1`, `init_dist=Dist(...)`.
    fn usage(&self, by_name: bool) -> String {
        let name = self.name;
        match (self.kind, self.default) {
            (ArgKind::Distributions, _) => "Dist(...), ...".into(),
            (ArgKind::Distribution, None) => "Dist(...)".into(),
            (ArgKind::Distribution, Some(_)) => format!("{name}=Dist(...)"),
            (_, Some(x)) => format!("{name}={x}"),
            (_, None) if by_name => format!("{name}=..."),
            (_, None) => name.into(),
        }
    }
}

impl Form {
    /// How it is called: `Normal(mu=0, sigma=1)`; with `by_name`, `Normal(mu=0, tau=...)`.
    pub fn usage(self, by_name: bool) -> String {
        let args = self.args().iter().map(|arg| arg.usage(by_name));
        format!("{}({})", self.name(), args.collect::<Vec<_>>().join(", "))
    }

    /// Where it has mass: `y ≥ m`, `0, 1, …, n`.
    pub fn support_in_words(self) -> String {
        let name = |k: usize| self.args()[k].name;
        let end = |bound: Bound| match bound {
            Bound::Arg(k) => name(k).to_string(),
            Bound::At(x) => format!("{x}"),
            Bound::Least(a, b) => format!("min({}, {})", name(a), name(b)),
            Bound::Excess([a, b], c) => format!("max(0, {} + {} − {})", name(a), name(b), name(c)),
        };
        match self.support() {
            Support::Real => "real numbers".into(),
            Support::LowerBounded(a) => format!("y > {}", end(a)),
            Support::Interval(a, b) => format!("{} < y < {}", end(a), end(b)),
            Support::ZeroOrPositive => "y ≥ 0".into(),
            Support::Circular => "angles from −π to π".into(),
            Support::NonNegativeInteger => "0, 1, 2, …".into(),
            Support::PositiveInteger => "1, 2, 3, …".into(),
            Support::IntegerRange(Bound::At(a), Bound::At(b)) if b == a + 1.0 => {
                format!("{a} and {b}")
            }
            Support::IntegerRange(a, b) => format!("{}, …, {}", end(a), end(b)),
            Support::Category(0) => "0, …, K − 1 for K categories".into(),
            Support::Category(_) => "0, …, K for K cutpoints".into(),
            Support::Counts(k) => format!("vectors of counts that sum to {}", self.args()[k].name),
            Support::RealVector => "vectors of real numbers".into(),
            Support::Simplex => "vectors of positive numbers that sum to 1".into(),
            Support::ZeroSum => "vectors that sum to 0".into(),
            Support::CorrelationCholesky => "correlation matrices".into(),
            Support::CovarianceCholesky => "Cholesky factors of covariance matrices".into(),
            Support::OfComponents => "that of its parts".into(),
        }
    }

    /// Whether `truncated(lower, upper)` can have its normalising term: its distribution function
    /// is known.
    pub fn can_be_truncated(self) -> bool {
        match self {
            Form::Scalar(scalar) => {
                let args = vec![0.5; scalar.args().len()];
                scalar.log_cdf(0.5, &args).is_some()
            }
            // Of the parts.
            Form::Structured(form) => form == Structured::Mixture,
        }
    }
}

impl Entry {
    /// Every way to call it, the first by position.
    pub fn usages(&self) -> Vec<String> {
        let forms = self.forms.iter().enumerate();
        forms.map(|(k, form)| form.usage(k > 0)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry;

    #[track_caller]
    fn check(name: &str, usages: &[&str], support: &str) {
        let entry = entry(name).unwrap();
        assert_eq!(entry.usages(), usages);
        assert_eq!(entry.forms[0].support_in_words(), support);
    }

    #[test]
    fn calls_and_supports_read_as_people_write_them() {
        check(
            "Gamma",
            &["Gamma(alpha, beta)", "Gamma(mu=..., sigma=...)"],
            "y > 0",
        );
        check("Pareto", &["Pareto(alpha, m)"], "y > m");
        check(
            "Uniform",
            &["Uniform(lower=0, upper=1)"],
            "lower < y < upper",
        );
        check(
            "Binomial",
            &["Binomial(n, p)", "Binomial(n=..., logit_p=...)"],
            "0, …, n",
        );
        check(
            "Mixture",
            &["Mixture(w, Dist(...), ...)"],
            "that of its parts",
        );
    }

    #[test]
    fn what_can_be_truncated_has_a_distribution_function() {
        let can = |name: &str| entry(name).unwrap().forms[0].can_be_truncated();
        assert!(can("Normal") && can("Gamma") && can("Poisson") && can("StudentT"));
        assert!(can("VonMises") && can("SkewNormal") && !can("Flat"));
    }
}
