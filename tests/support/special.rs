//! Models that use the special functions of physics: Γ, Bessel functions, the Faddeeva function.

use fitzroy::data::Dataset;

const ROWS: usize = 37;

const BESSEL: &str = "data z[obs]
a ~ Normal(0, 1)
u ~ Beta(2, 2)
let t[obs] = z * a + u
target += sum(j0(t) + j1(t) + y0(1 + t^2) + y1(1 + t^2) + k0(1 + t^2) + k1(1 + t^2) + gamma(1.5 + 0.4 * t)) / 9
";

const PROFILES: &str = "data z[obs]
a ~ Normal(0, 1)
u ~ Beta(2, 2)
let t[obs] = z * a + u
target += sum(wofz_real(t, u) + wofz_imag(t, a) + voigt_profile(t, u, 1 + a^2)) / 9
";

/// Their names, texts and data.
pub(crate) fn models() -> Vec<(&'static str, String, Dataset)> {
    let made = |name, text: &str| {
        let mut data = Dataset::new();
        let wave = (0..ROWS).map(|i| (1.3 * i as f64).sin()).collect();
        data.insert_real("z", &[ROWS], wave);
        (name, text.to_string(), data)
    };
    vec![made("waves", BESSEL), made("profiles", PROFILES)]
}
