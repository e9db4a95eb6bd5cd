//! The table of built-in curves.

use super::{Entry, Sample};

const INF: f64 = f64::INFINITY;
/// Full width at half height of a Gaussian, in standard deviations.
const FWHM: f64 = 2.354_820_045_030_949_3;

fn e(
    name: &'static str,
    parameters: &'static [&'static str],
    formula: &'static str,
    about: &'static str,
    start: fn(&Sample) -> Vec<f64>,
) -> Entry {
    Entry {
        name,
        predictors: &["x"],
        parameters,
        formula,
        start,
        bounds: &[],
        about,
    }
}

/// Every built-in curve.
pub static ENTRIES: std::sync::LazyLock<Vec<Entry>> = std::sync::LazyLock::new(|| {
    let mut all = plain();
    all.extend(peaks());
    all.extend(steps());
    all.extend(planes());
    all
});

fn plain() -> Vec<Entry> {
    vec![
        e("linear", &["a", "b"], "a*x + b", "A straight line.", |s| {
            let line = Sample::line(s.x[0].iter().copied(), s.y.iter().copied());
            let (slope, at_zero) = line.unwrap_or((0.0, s.y[0]));
            vec![slope, at_zero]
        }),
        e(
            "exponential_decay",
            &["a", "b", "c"],
            "a*exp(-b*x) + c",
            "Decay at rate b towards c.",
            |s| {
                let (a, b, c) = s.decay();
                vec![a, b, c]
            },
        ),
        e(
            "exponential_growth",
            &["a", "b", "c"],
            "a*exp(b*x) + c",
            "Growth at rate b from c.",
            |s| {
                let (a, b, c) = s.decay();
                vec![a, -b, c]
            },
        ),
        e(
            "double_exponential",
            &["a1", "b1", "a2", "b2"],
            "a1*exp(-b1*x) + a2*exp(-b2*x)",
            "Two decays side by side.",
            |s| {
                let b = 3.0 / s.span(0);
                let half = s.edge(false) / 2.0;
                vec![half, 3.0 * b, half, b / 3.0]
            },
        ),
        e(
            "power_law",
            &["a", "b"],
            "a*x^b",
            "A power of x > 0.",
            |s| {
                let logs = s.x[0].iter().map(|x| x.ln());
                let line = Sample::line(logs, s.y.iter().map(|y| y.abs().ln()));
                let (b, a) = line.unwrap_or((1.0, 0.0));
                let sign = if s.y[s.y.len() / 2] < 0.0 { -1.0 } else { 1.0 };
                vec![sign * a.exp(), b]
            },
        ),
        e(
            "michaelis_menten",
            &["vmax", "km"],
            "vmax*x/(km + x)",
            "Rate of an enzyme at concentration x (Michaelis and Menten 1913).",
            |s| {
                let (_, high) = s.y_range();
                let reached = |i: &usize| s.y[*i] >= high / 2.0;
                let at = (0..s.y.len()).find(reached).unwrap_or(0);
                vec![1.2 * high, s.x[0][at].abs().max(1e-3 * s.span(0))]
            },
        ),
        e(
            "hill",
            &["ymax", "k", "n"],
            "ymax*x^n/(k^n + x^n)",
            "Binding with cooperativity n at concentration x > 0 (Hill 1910).",
            |s| {
                let k = s.middle().abs().max(1e-3 * s.span(0));
                vec![s.y_range().1, k, 1.0]
            },
        ),
        e(
            "damped_sine",
            &["a", "b", "w", "p", "c"],
            "a*exp(-b*x)*sin(w*x + p) + c",
            "An oscillation of angular frequency w that decays at rate b.",
            |s| {
                let (low, high) = s.y_range();
                let mean = s.y.iter().sum::<f64>() / s.y.len() as f64;
                vec![
                    (high - low) / 2.0,
                    1.0 / s.span(0),
                    s.frequency(),
                    0.0,
                    mean,
                ]
            },
        ),
    ]
}

fn peaks() -> Vec<Entry> {
    vec![
        e(
            "gaussian",
            &["a", "mu", "sigma"],
            "a*exp(-(x - mu)^2/(2*sigma^2))",
            "A bell of height a.",
            |s| {
                let (a, mu, width) = s.peak(0.0);
                vec![a, mu, width / FWHM]
            },
        ),
        e(
            "lorentzian",
            &["a", "x0", "gamma"],
            "a/(1 + ((x - x0)/gamma)^2)",
            "A line of height a and half width gamma at half height.",
            |s| {
                let (a, x0, width) = s.peak(0.0);
                vec![a, x0, width / 2.0]
            },
        ),
        e(
            "pseudo_voigt",
            &["a", "x0", "w", "eta"],
            "let u = (x - x0)/w; a*(eta/(1 + 4*u^2) + (1 - eta)*exp(-4*log(2)*u^2))",
            "A Lorentzian and a Gaussian of the same height and full width w (Wertheim 1974).",
            |s| {
                let (a, x0, width) = s.peak(0.0);
                vec![a, x0, width, 0.5]
            },
        ),
        e(
            "voigt",
            &["area", "x0", "sigma", "gamma"],
            // Fractions of the pseudo-Voigt by Thompson, Cox and Hastings: within 1.2 % of the
            // convolution everywhere.
            "let g = 2.3548200450309493*abs(sigma); let l = 2*abs(gamma); \
             let f = (g^5 + 2.69269*g^4*l + 2.42843*g^3*l^2 + 4.47163*g^2*l^3 + 0.07842*g*l^4 \
             + l^5)^0.2; let q = l/f; let eta = 1.36603*q - 0.47719*q^2 + 0.11116*q^3; \
             let u = (x - x0)/f; area*(eta*0.6366197723675814/(1 + 4*u^2) \
             + (1 - eta)*0.9394372786996513*exp(-2.772588722239781*u^2))/f",
            "A Gaussian line of standard deviation sigma broadened by a Lorentzian of half width \
             gamma: the pseudo-Voigt approximation of Thompson, Cox and Hastings 1987, within \
             1.2 % of the height.",
            |s| {
                let (a, x0, width) = s.peak(0.0);
                vec![1.2 * a * width, x0, width / FWHM / 1.5, width / 4.0]
            },
        ),
        e(
            "exgaussian",
            &["area", "mu", "sigma", "tau"],
            "let z = (x - mu)/sigma; \
             area/tau*exp(0.5*(sigma/tau)^2 - (x - mu)/tau + log_ndtr(z - sigma/tau))",
            "A Gaussian with an exponential tail of time tau, times its area (Grushka 1972).",
            |s| {
                let (a, mu, width) = s.peak(0.0);
                vec![a * width, mu - width / 4.0, width / FWHM / 1.5, width / 2.0]
            },
        ),
    ]
}

fn steps() -> Vec<Entry> {
    vec![
        e(
            "sigmoid",
            &["l", "x0", "k", "b"],
            "l*inv_logit(k*(x - x0)) + b",
            "A step of height l at x0, steepness k.",
            |s| {
                let (first, last) = (s.edge(false), s.edge(true));
                vec![last - first, s.middle(), 8.0 / s.span(0), first]
            },
        ),
        e(
            "logistic4",
            &["a", "d", "c", "b"],
            "d + (a - d)/(1 + (x/c)^b)",
            "The four-parameter logistic of assays: a at 0, d at infinity, x > 0.",
            |s| {
                let c = s.middle().abs().max(1e-3 * s.span(0));
                vec![s.edge(false), s.edge(true), c, 1.5]
            },
        ),
        e(
            "erf_step",
            &["a", "x0", "w", "c"],
            "a*0.5*(1 + erf((x - x0)/w)) + c",
            "A step of height a blurred by a Gaussian.",
            |s| {
                let (first, last) = (s.edge(false), s.edge(true));
                vec![last - first, s.middle(), 0.2 * s.span(0), first]
            },
        ),
    ]
}

fn planes() -> Vec<Entry> {
    let round = |s: &Sample| {
        let (low, high) = s.y_range();
        let top = (0..s.y.len())
            .max_by(|&a, &b| s.y[a].total_cmp(&s.y[b]))
            .unwrap_or(0);
        let width = s.span(0).min(s.span(1)) / 5.0;
        vec![high - low, s.x[0][top], s.x[1][top], width, low]
    };
    let mut flat = e(
        "gaussian2d",
        &["a", "x0", "y0", "sigma", "c"],
        "a*exp(-((x - x0)^2 + (y - y0)^2)/(2*sigma^2)) + c",
        "A round spot on a background.",
        round,
    );
    flat.predictors = &["x", "y"];
    let mut turned = e(
        "gaussian2d_rotated",
        &["a", "x0", "y0", "sx", "sy", "angle", "c"],
        "let u = (x - x0)*cos(angle) + (y - y0)*sin(angle); \
         let v = (y - y0)*cos(angle) - (x - x0)*sin(angle); \
         a*exp(-(u/sx)^2/2 - (v/sy)^2/2) + c",
        "A spot with two widths, turned by an angle.",
        |s| {
            let (low, high) = s.y_range();
            let top = (0..s.y.len())
                .max_by(|&a, &b| s.y[a].total_cmp(&s.y[b]))
                .unwrap_or(0);
            let (x0, y0) = (s.x[0][top], s.x[1][top]);
            vec![
                high - low,
                x0,
                y0,
                s.span(0) / 5.0,
                s.span(1) / 7.0,
                0.1,
                low,
            ]
        },
    );
    turned.predictors = &["x", "y"];
    let mut all = vec![flat, turned];
    for entry in &mut all {
        entry.bounds = match entry.name {
            "gaussian2d" => &[("sigma", 0.0, INF)],
            _ => &[("sx", 0.0, INF), ("sy", 0.0, INF)],
        };
    }
    all
}
