//! Families of waves.

use super::*;

/// 1 to 100 cycles, 200 to 1,000 rows, noise of a twentieth to a fifth of the amplitude.
pub(super) struct Sine {
    pub(super) x: Vec<f64>,
    pub(super) span: f64,
    pub(super) cycles: f64,
    pub(super) amplitude: f64,
    pub(super) noise: f64,
    pub(super) level: f64,
    pub(super) phase: f64,
}

pub(super) fn sine(chance: &mut Chance, even: bool) -> Sine {
    let (n, span) = (chance.count(200, 1000), chance.scale(1e-3, 1e3));
    let amplitude = chance.scale(0.1, 100.0);
    Sine {
        x: chance.rows(n, span, even),
        span,
        cycles: chance.scale(1.0, (n as f64 / 2.5).min(100.0)),
        amplitude,
        noise: amplitude * chance.between(0.05, 0.2),
        level: amplitude * chance.between(-3.0, 3.0),
        phase: chance.between(-3.0, 3.0),
    }
}

pub(super) fn plain_sine(chance: &mut Chance, even: bool) -> Problem {
    let s = sine(chance, even);
    let w = TAU * s.cycles / s.span;
    let y = chance.noisy(&s.x, s.noise, |x| {
        s.amplitude * (w * x + s.phase).sin() + s.level
    });
    Problem {
        text: "a*sin(w*x+p)+c".into(),
        x: s.x,
        y,
        truth: truth(&[("a", s.amplitude), ("w", w), ("p", s.phase), ("c", s.level)]),
    }
}

pub(super) fn even_sine(chance: &mut Chance) -> Problem {
    plain_sine(chance, true)
}

pub(super) fn uneven_sine(chance: &mut Chance) -> Problem {
    plain_sine(chance, false)
}

pub(super) fn period(chance: &mut Chance) -> Problem {
    let even = chance.coin();
    let s = sine(chance, even);
    let period = s.span / s.cycles;
    let y = chance.noisy(&s.x, s.noise, |x| {
        s.amplitude * (TAU * x / period + s.phase).cos() + s.level
    });
    Problem {
        text: "a*cos(2*pi*x/P+p)+c".into(),
        x: s.x,
        y,
        truth: truth(&[
            ("a", s.amplitude),
            ("P", period),
            ("p", s.phase),
            ("c", s.level),
        ]),
    }
}

pub(super) fn sine_on_a_line(chance: &mut Chance) -> Problem {
    let even = chance.coin();
    let s = sine(chance, even);
    let (f, k) = (s.cycles / s.span, 3.0 * s.amplitude / s.span);
    let y = chance.noisy(&s.x, s.noise, |x| {
        s.amplitude * (TAU * f * x + s.phase).sin() + s.level + k * x
    });
    Problem {
        text: "a*sin(2*pi*f*x+phi)+c+k*x".into(),
        x: s.x,
        y,
        truth: truth(&[
            ("a", s.amplitude),
            ("f", f),
            ("phi", s.phase),
            ("c", s.level),
            ("k", k),
        ]),
    }
}

pub(super) fn pair(chance: &mut Chance) -> Problem {
    let even = chance.coin();
    let s = sine(chance, even);
    let (w, a) = (TAU * s.cycles / s.span, s.amplitude * s.phase.cos());
    let b = s.amplitude * s.phase.sin();
    let y = chance.noisy(&s.x, s.noise, |x| {
        a * (w * x).cos() + b * (w * x).sin() + s.level
    });
    Problem {
        text: "a*cos(w*x)+b*sin(w*x)+c".into(),
        x: s.x,
        y,
        truth: truth(&[("a", a), ("w", w), ("b", b), ("c", s.level)]),
    }
}

pub(super) fn damped(chance: &mut Chance) -> Problem {
    let even = chance.coin();
    let s = sine(chance, even);
    let w = TAU * s.cycles / s.span;
    // From nearly undamped to gone after a third of the rows.
    let b = chance.scale(0.2, 9.0) / s.span;
    let noise = s.noise / 2.0;
    let y = chance.noisy(&s.x, noise, |x| {
        s.amplitude * (-b * x).exp() * (w * x + s.phase).sin() + s.level
    });
    Problem {
        text: "a*exp(-b*x)*sin(w*x+p)+c".into(),
        x: s.x,
        y,
        truth: truth(&[
            ("a", s.amplitude),
            ("b", b),
            ("w", w),
            ("p", s.phase),
            ("c", s.level),
        ]),
    }
}

pub(super) fn sum_of_sines(chance: &mut Chance, count: usize) -> Problem {
    let even = chance.coin();
    let s = sine(chance, even);
    let most = (s.x.len() as f64 / 2.5).min(100.0);
    let mut cycles: Vec<f64> = Vec::new();
    while cycles.len() < count {
        let one = chance.scale(1.0, most);
        // Apart by more than the resolution.
        if cycles.iter().all(|c| (c - one).abs() > 2.0) {
            cycles.push(one);
        }
    }
    let (mut terms, mut named, mut waves) = (Vec::new(), Vec::new(), Vec::new());
    for (k, cycles) in cycles.iter().enumerate() {
        let (a, p) = (
            s.amplitude * chance.between(0.6, 1.4),
            chance.between(-3.0, 3.0),
        );
        let w = TAU * cycles / s.span;
        terms.push(format!("a{k}*sin(w{k}*x+p{k})"));
        let own = [("a", a), ("w", w), ("p", p)];
        named.extend(own.map(|(name, x)| (format!("{name}{k}"), x)));
        waves.push((a, w, p));
    }
    named.push(("c".into(), s.level));
    let y = chance.noisy(&s.x, s.noise, |x| {
        waves
            .iter()
            .map(|(a, w, p)| a * (w * x + p).sin())
            .sum::<f64>()
            + s.level
    });
    Problem {
        text: format!("{}+c", terms.join("+")),
        x: s.x,
        y,
        truth: named,
    }
}

pub(super) fn two_sines(chance: &mut Chance) -> Problem {
    sum_of_sines(chance, 2)
}

pub(super) fn three_sines(chance: &mut Chance) -> Problem {
    sum_of_sines(chance, 3)
}
