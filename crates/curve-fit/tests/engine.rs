//! What runs the formula changes no bit of a result.
#![allow(clippy::unwrap_used)]

use fitzroy::rng::{Purpose, Rng};
use fitzroy_curve_fit::batch::{Groups, fit_many};
use fitzroy_curve_fit::fit::Plan;
use fitzroy_curve_fit::pass::Columns;
use fitzroy_curve_fit::{CurveFit, Data, Formula, Loss, Options, Sigma, values};
use fitzroy_device::cpu::Engine;
use std::borrow::Cow;
use std::sync::atomic::AtomicBool;

const ENGINES: [Engine; 3] = [Engine::Interpreter, Engine::Emitter, Engine::Auto];

fn bits<'a>(numbers: impl IntoIterator<Item = &'a f64>) -> Vec<u64> {
    numbers.into_iter().map(|x| x.to_bits()).collect()
}

/// Damped sines of lengths below and above that of a block, a subsample and the rows after which
/// machine code is made; with σ, robust and plain.
#[test]
fn single_fits_have_the_same_bits_with_every_engine() {
    let start = values([("a", 1.5), ("b", 0.2), ("w", 2.9), ("p", 0.3), ("c", 0.0)]);
    for (n, loss) in [
        (201, Loss::Linear),
        (1000, Loss::Cauchy),
        (60_011, Loss::Linear),
    ] {
        let x: Vec<f64> = (0..n).map(|i| 10.0 * f64::from(i) / f64::from(n)).collect();
        let mut rng = Rng::new(5, 0, 0, 0, Purpose::Test);
        let curve = |x: f64| 2.0 * (-0.3 * x).exp() * (3.0 * x + 0.5).sin() + 0.5;
        let y: Vec<f64> = x.iter().map(|&x| curve(x) + 0.1 * rng.normal()).collect();
        let sigma: Vec<f64> = x.iter().map(|x| 0.1 + 0.01 * x).collect();
        let found = ENGINES.map(|engine| {
            let options = Options {
                p0: start.clone(),
                loss,
                engine,
                ..Options::default()
            };
            let fitter = CurveFit::compile("a*exp(-b*x)*sin(w*x+p)+c").unwrap();
            let data = Data::new(&y).with("x", &x);
            let data = data.with_sigma(Sigma::Each(Cow::Borrowed(&sigma)));
            let found = fitter.fit(&data, &options).unwrap();
            assert!(found.converged(), "{n} rows: {:?}", found.status);
            bits(found.popt.iter().chain(&found.pcov))
        });
        assert!(found.iter().all(|f| *f == found[0]), "{n} rows, {loss:?}");
    }
}

/// Enough small fits that machine code is made on the way.
#[test]
fn batches_have_the_same_bits_with_every_engine() {
    let n_fits = 4000;
    let (mut x, mut y) = (Vec::new(), Vec::new());
    let mut rng = Rng::new(6, 0, 0, 0, Purpose::Test);
    for k in 0..n_fits {
        for i in 0..43 {
            let at = f64::from(i) * 0.1;
            x.push(at);
            y.push((1.0 + f64::from(k % 7)) * (-at).exp() + 0.3 + 0.05 * rng.normal());
        }
    }
    let formula = Formula::parse("a*exp(-b*x)+c").unwrap();
    let roles = formula.roles(&["x"], &[]).unwrap();
    let table = Columns::new([x, y].into_iter().map(Cow::Owned).collect());
    let groups = Groups::equal(n_fits as usize, 43);
    let found = ENGINES.map(|engine| {
        let options = Options {
            p0: values([("a", 1.0), ("b", 0.7), ("c", 0.0)]),
            engine,
            ..Options::default()
        };
        let plan = Plan::new(&formula, roles.clone(), false, &options).unwrap();
        let stop = AtomicBool::new(false);
        let found = fit_many(&plan, &table, &groups, &options, &stop).unwrap();
        let used = plan.programs.pass.engine();
        let native = cfg!(all(unix, target_arch = "x86_64")) && engine != Engine::Interpreter;
        let native = native && fitzroy_device::lanes::Level::detect().lanes() > 1;
        assert_eq!(used.0 == Engine::Emitter, native, "{used:?}");
        bits(found.theta.iter().chain(&found.se).chain(&found.cost))
    });
    assert!(found.iter().all(|f| *f == found[0]));
}
