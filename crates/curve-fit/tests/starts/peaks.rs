//! Families of peaks.

use super::*;

/// A peak of height 1 at 0: its formula with names for place and width, its value, and its full width at
/// half height in widths.
pub(super) type Shape = (&'static str, fn(f64) -> f64, f64);

pub(super) const GAUSSIAN: Shape = ("exp(-(x-M)^2/(2*S^2))", |u| (-0.5 * u * u).exp(), 2.3548);

pub(super) const LORENTZIAN: Shape = ("1/(1+((x-M)/S)^2)", |u| 1.0 / (1.0 + u * u), 2.0);

pub(super) const SECH: Shape = ("1/cosh((x-M)/S)", |u| 1.0 / u.cosh(), 2.634);

/// Peaks at least `apart` full widths from each other, on a constant.
pub(super) fn sum_of_peaks(
    chance: &mut Chance,
    count: usize,
    shape: Shape,
    apart: [f64; 2],
) -> Problem {
    let (formula, value, fwhm) = shape;
    let (n, span) = (chance.count(200, 1000), chance.scale(1e-2, 1e3));
    let first = span * chance.between(-2.0, 2.0);
    let width = |chance: &mut Chance| chance.between(0.25, 1.0);
    let widths: Vec<f64> = (0..count).map(|_| width(chance)).collect();
    // Places in widths, then scaled into the span.
    let mut at = vec![chance.between(1.0, 3.0)];
    for k in 1..count {
        let mean = fwhm * (widths[k - 1] + widths[k]) / 2.0;
        at.push(at[k - 1] + mean * chance.between(apart[0], apart[1]));
    }
    let all = at[count - 1] + chance.between(1.0, 3.0);
    let unit = span / all.max(6.0);
    let peaks: Vec<[f64; 3]> = (0..count)
        .map(|k| {
            [
                chance.between(0.5, 2.0),
                first + unit * at[k],
                unit * widths[k],
            ]
        })
        .collect();
    let x: Vec<f64> = chance
        .rows(n, span, true)
        .iter()
        .map(|x| x + first)
        .collect();
    let noise = chance.between(0.01, 0.05);
    let y = chance.noisy(&x, noise, |x| {
        1.0 + peaks
            .iter()
            .map(|[a, m, s]| a * value((x - m) / s))
            .sum::<f64>()
    });
    let term = |k: usize| {
        let own = formula
            .replace('M', &format!("m{k}"))
            .replace('S', &format!("s{k}"));
        format!("a{k}*{own}")
    };
    let terms: Vec<String> = (0..count).map(term).collect();
    let mut named: Vec<(String, f64)> = vec![("c".into(), 1.0)];
    for (k, peak) in peaks.iter().enumerate() {
        let own = ["a", "m", "s"].iter().zip(peak);
        named.extend(own.map(|(name, x)| (format!("{name}{k}"), *x)));
    }
    Problem {
        text: format!("{} + c", terms.join(" + ")),
        x,
        y,
        truth: named,
    }
}

pub(super) const APART: [f64; 2] = [2.0, 4.0];

pub(super) fn few_peaks(chance: &mut Chance) -> Problem {
    let count = chance.count(1, 2);
    sum_of_peaks(chance, count, GAUSSIAN, APART)
}

pub(super) fn some_peaks(chance: &mut Chance) -> Problem {
    let count = chance.count(3, 5);
    sum_of_peaks(chance, count, GAUSSIAN, APART)
}

pub(super) fn many_peaks(chance: &mut Chance) -> Problem {
    let count = chance.count(6, 8);
    sum_of_peaks(chance, count, GAUSSIAN, APART)
}

pub(super) fn lorentzians(chance: &mut Chance) -> Problem {
    let count = chance.count(1, 8);
    sum_of_peaks(chance, count, LORENTZIAN, APART)
}

pub(super) fn sechs(chance: &mut Chance) -> Problem {
    let count = chance.count(1, 8);
    sum_of_peaks(chance, count, SECH, APART)
}

pub(super) fn overlapping(chance: &mut Chance) -> Problem {
    let count = chance.count(2, 5);
    sum_of_peaks(chance, count, GAUSSIAN, [1.0, 1.5])
}

/// Mixtures of Gaussian and Lorentzian lines, whose parts are hard to tell.
pub(super) fn mixed_lines(chance: &mut Chance) -> Problem {
    let count = chance.count(1, 5);
    let mut p = sum_of_peaks(chance, count, LORENTZIAN, [2.0, 4.0]);
    let (mut terms, mut named) = (Vec::new(), truth(&[("c", 1.0)]));
    let mut lines = Vec::new();
    for (k, own) in p.truth[1..].chunks(3).enumerate() {
        let [a, m, w, part] = [own[0].1, own[1].1, 2.0 * own[2].1, chance.between(0.2, 0.8)];
        terms.push(format!("pseudo_voigt(x, a{k}, m{k}, w{k}, e{k})"));
        let own = [("a", a), ("m", m), ("w", w), ("e", part)];
        named.extend(own.map(|(name, x)| (format!("{name}{k}"), x)));
        lines.push([a, m, w, part]);
    }
    let x = p.x.clone();
    p.y = chance.noisy(&x, 0.02, |x| {
        let line = |[a, m, w, part]: &[f64; 4]| {
            let u = 2.0 * (x - m) / w;
            a * (part / (1.0 + u * u) + (1.0 - part) * (-(2f64.ln()) * u * u).exp())
        };
        1.0 + lines.iter().map(line).sum::<f64>()
    });
    p.text = format!("{} + c", terms.join(" + "));
    p.truth = named;
    p
}

/// Lines at even distances, of one width.
pub(super) fn comb(chance: &mut Chance) -> Problem {
    let (n, span) = (chance.count(300, 1000), chance.scale(1e-2, 1e3));
    let x = chance.rows(n, span, true);
    let (d, m) = (
        span * chance.between(0.1, 0.25),
        span * chance.between(0.1, 0.4),
    );
    let s = d * chance.between(0.1, 0.25);
    let a: Vec<f64> = (0..3).map(|_| chance.between(0.5, 2.0)).collect();
    let y = chance.noisy(&x, 0.03, |x| {
        let line = |k: usize| a[k] * (-(x - m - k as f64 * d).powi(2) / (2.0 * s * s)).exp();
        0.5 + (0..3).map(line).sum::<f64>()
    });
    Problem {
        text: "a*exp(-(x-m)^2/(2*s^2)) + b*exp(-(x-(m+d))^2/(2*s^2)) + e2*exp(-(x-(m+2*d))^2/(2*s^2)) + c"
            .into(),
        x,
        y,
        truth: truth(&[
            ("a", a[0]),
            ("m", m),
            ("s", s),
            ("b", a[1]),
            ("d", d),
            ("e2", a[2]),
            ("c", 0.5),
        ]),
    }
}

/// Two lines at `x0-d/2` and `x0+d/2`, far from 0.
pub(super) fn doublet(chance: &mut Chance) -> Problem {
    let mut p = sum_of_peaks(chance, 2, LORENTZIAN, [1.5, 4.0]);
    let get = |name: &str| p.truth.iter().find(|(n, _)| n == name).unwrap().1;
    let (m0, m1, s, a, b) = (get("m0"), get("m1"), get("s0"), get("a0"), get("a1"));
    let far = 1e3 * (m1 - m0);
    p.x.iter_mut().for_each(|x| *x += far);
    let (x0, d) = ((m0 + m1) / 2.0 + far, m1 - m0);
    let x = p.x.clone();
    p.y = chance.noisy(&x, 0.02, |x| {
        let line = |m: f64| 1.0 / (1.0 + ((x - m) / s).powi(2));
        a * line(x0 - d / 2.0) + b * line(x0 + d / 2.0) + 1.0
    });
    p.text = "a/(1+((x-(x0-d/2))/s)^2) + b/(1+((x-(x0+d/2))/s)^2) + c".into();
    p.truth = truth(&[
        ("a", a),
        ("x0", x0),
        ("d", d),
        ("s", s),
        ("b", b),
        ("c", 1.0),
    ]);
    p
}

/// Peaks on a background that decays, and on a slope.
pub(super) fn peaks_on_a_decay(chance: &mut Chance) -> Problem {
    let count = chance.count(1, 4);
    let mut p = sum_of_peaks(chance, count, GAUSSIAN, APART);
    let (first, last) = (p.x[0], p.x[p.x.len() - 1]);
    let (height, t) = (
        chance.between(1.0, 4.0),
        chance.between(0.15, 0.6) * (last - first),
    );
    let own = p.x.iter().map(|x| height * (-(x - first) / t).exp());
    p.y.iter_mut().zip(own).for_each(|(y, more)| *y += more);
    p.text = format!("{} + h*exp(-(x-({first}))/t)", p.text);
    p.truth.extend(truth(&[("h", height), ("t", t)]));
    p
}

pub(super) fn peaks_on_a_slope(chance: &mut Chance) -> Problem {
    let count = chance.count(1, 4);
    let mut p = sum_of_peaks(chance, count, LORENTZIAN, APART);
    let k = chance.between(-4.0, 4.0) / (p.x[p.x.len() - 1] - p.x[0]);
    let own = p.x.iter().map(|x| k * x);
    p.y.iter_mut().zip(own).for_each(|(y, more)| *y += more);
    p.text = format!("{} + k*x", p.text);
    p.truth.push(("k".into(), k));
    p
}
