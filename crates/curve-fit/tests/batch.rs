//! Many small fits: as good as single ones, and independent of each other.
#![allow(clippy::unwrap_used)]

use fitzroy::rng::{Purpose, Rng};
use fitzroy_curve_fit::batch::{Batch, Groups, doubts, fit_many};
use fitzroy_curve_fit::fit::{CovarianceKind, Doubt, Plan, fit_table, quality};
use fitzroy_curve_fit::method::{Next, Status};
use fitzroy_curve_fit::pass::Columns;
use fitzroy_curve_fit::{Formula, Options, values};
use std::borrow::Cow;
use std::sync::atomic::AtomicBool;

/// Spots on a 7 × 7 grid; fit k has 49 − k mod 5 rows.
fn spots(fits: &[u32]) -> (Columns<'static>, Groups) {
    let (mut x, mut y, mut z, mut labels) = (vec![], vec![], vec![], vec![]);
    for &k in fits {
        let mut rng = Rng::new(11, 0, 0, k, Purpose::Test);
        let (x0, y0) = (3.0 + 0.5 * rng.normal(), 3.0 + 0.5 * rng.normal());
        for i in 0..49 - k % 5 {
            let (u, v) = (f64::from(i % 7), f64::from(i / 7));
            let r2 = (u - x0).powi(2) + (v - y0).powi(2);
            x.push(u);
            y.push(v);
            z.push(10.0 * (-r2 / (2.0 * 1.2 * 1.2)).exp() + 2.0 + 0.2 * rng.normal());
            labels.push(f64::from(k));
        }
    }
    let groups = Groups::by_number(&labels);
    (
        Columns::new([x, y, z].into_iter().map(Cow::Owned).collect()),
        groups,
    )
}

fn plan_and_options() -> (Plan, Options) {
    let options = Options {
        p0: values([("a", 8.0), ("x0", 3.0), ("y0", 3.0), ("s", 1.0), ("c", 1.0)]),
        ..Options::default()
    };
    let formula = Formula::parse("a*exp(-((x-x0)^2+(y-y0)^2)/(2*s^2))+c").unwrap();
    let roles = formula.roles(&["x", "y"], &[]).unwrap();
    (
        Plan::new(&formula, roles, false, &options).unwrap(),
        options,
    )
}

fn fit(fits: &[u32], threads: usize) -> Batch {
    let (table, groups) = spots(fits);
    let (plan, options) = plan_and_options();
    let options = Options { threads, ..options };
    fit_many(&plan, &table, &groups, &options, &AtomicBool::new(false)).unwrap()
}

#[test]
fn a_batch_gives_what_single_fits_give() {
    let all: Vec<u32> = (0..300).collect();
    let batch = fit(&all, 1);
    assert!(batch.n_alone < 3, "{} alone", batch.n_alone);
    // Eight a fit where steps learn nothing from the last.
    let evaluations: u32 = batch.evaluations.iter().sum();
    assert!(evaluations < 300 * 15 / 2, "{evaluations} evaluations");
    let (plan, options) = plan_and_options();
    for k in (0..300).step_by(7) {
        let (table, _) = spots(&[k]);
        let single = fit_table(&plan, &table, &options, &mut |_| Next::Continue).unwrap();
        let at = k as usize * 5;
        assert!(batch.status[k as usize].converged());
        for (got, want) in batch.theta[at..at + 5].iter().zip(&single.popt) {
            assert!(
                (got - want).abs() <= 1e-9 * want.abs(),
                "fit {k}: {got} {want}"
            );
        }
        for (got, want) in batch.se[at..at + 5].iter().zip(&single.se()) {
            assert!((got - want).abs() <= 1e-6 * want, "fit {k}: {got} {want}");
        }
    }
}

fn bits(batch: &Batch, k: usize) -> Vec<u64> {
    let theta = &batch.theta[5 * k..5 * k + 5];
    theta
        .iter()
        .chain(&batch.se[5 * k..5 * k + 5])
        .map(|x| x.to_bits())
        .collect()
}

#[test]
fn a_fit_does_not_depend_on_its_neighbours_nor_on_threads() {
    let forward: Vec<u32> = (0..100).collect();
    let backward: Vec<u32> = (0..100).rev().collect();
    let (one, two) = (fit(&forward, 1), fit(&backward, 3));
    for k in 0..100 {
        assert_eq!(bits(&one, k), bits(&two, 99 - k), "fit {k}");
    }
}

#[test]
fn a_spoilt_fit_leaves_the_others_untouched() {
    let all: Vec<u32> = (0..40).collect();
    let clean = fit(&all, 1);
    let (table, groups) = spots(&all);
    let (plan, options) = plan_and_options();
    let mut z = table.column(2).to_vec();
    z[groups.rows(13)[5] as usize] = f64::NAN;
    let columns = [table.column(0).to_vec(), table.column(1).to_vec(), z];
    let table = Columns::new(columns.into_iter().map(Cow::Owned).collect());
    let spoilt = fit_many(&plan, &table, &groups, &options, &AtomicBool::new(false)).unwrap();
    assert_eq!(spoilt.status[13], Status::NonFinite);
    assert!(spoilt.theta[13 * 5..][..5].iter().all(|x| x.is_nan()));
    for k in (0..40).filter(|&k| k != 13) {
        assert_eq!(bits(&clean, k), bits(&spoilt, k), "fit {k}");
    }
}

/// Catches: lanes that leave out what was asked for and say nothing.
#[test]
fn what_lanes_cannot_do_is_done_for_each_fit_alone() {
    let (table, groups) = spots(&[0, 1, 2]);
    let (plan, options) = plan_and_options();
    let robust = Options {
        covariance: CovarianceKind::Hc3,
        ..options
    };
    let found = fit_many(&plan, &table, &groups, &robust, &AtomicBool::new(false)).unwrap();
    assert_eq!(found.n_alone, 3);
    for k in 0..3 {
        let (own, _) = spots(&[k as u32]);
        let alone = fit_table(&plan, &own, &robust, &mut |_| Next::Continue).unwrap();
        assert_eq!(found.se[5 * k..][..5], alone.se(), "fit {k}");
        assert_eq!(found.chi2[k], alone.chi2, "fit {k}");
    }
}

/// A constant group: nothing determines the rate of a decay with no height, alone or in a lane.
#[test]
fn a_fit_that_its_rows_do_not_determine_has_no_errors() {
    let n = 25;
    let x: Vec<f64> = (0..20 * n).map(|i| 0.2 * f64::from(i % n)).collect();
    let of: Vec<f64> = (0..20 * n).map(|i| f64::from(i / n)).collect();
    let y = x.iter().zip(&of).enumerate().map(|(i, (x, k))| match *k {
        7.0 => 2.0,
        k => (2.0 + 0.1 * k) * (-0.8 * x).exp() + 0.5 + 0.01 * ((i * 7919) % 13) as f64,
    });
    let columns = [x.clone(), y.collect()];
    let table = Columns::new(columns.into_iter().map(Cow::Owned).collect());
    let formula = Formula::parse("a*exp(-b*x)+c").unwrap();
    let options = Options {
        p0: values([("a", 1.0), ("b", 1.0), ("c", 1.0)]),
        ..Options::default()
    };
    let roles = formula.roles(&["x"], &[]).unwrap();
    let plan = Plan::new(&formula, roles, false, &options).unwrap();
    let groups = Groups::by_number(&of);
    let found = fit_many(&plan, &table, &groups, &options, &AtomicBool::new(false)).unwrap();
    for k in 0..20 {
        let (se, status) = (&found.se[3 * k..][..3], found.covariance_status[k].name());
        assert!(found.status[k].converged(), "fit {k}");
        if k == 7 {
            assert_eq!(status, "rank_deficient");
            assert!(se.iter().all(|s| s.is_nan()), "{se:?}");
        } else {
            assert_eq!(status, "ok", "fit {k}");
            assert!(se.iter().all(|s| *s > 0.0), "{se:?}");
        }
    }
    assert_eq!(found.n_alone, 1);
}

#[test]
fn a_fit_with_too_few_rows_says_so() {
    let (table, _) = spots(&[0, 1]);
    let (plan, options) = plan_and_options();
    let of: Vec<f64> = (0..97).map(|i| if i < 3 { 7.0 } else { 8.0 }).collect();
    let groups = Groups::by_number(&of);
    let found = fit_many(&plan, &table, &groups, &options, &AtomicBool::new(false)).unwrap();
    assert_eq!(found.status[0], Status::TooFewRows);
    assert!(found.se[..5].iter().all(|s| s.is_nan()));
    assert!(
        found.theta[..5].iter().all(|x| x.is_nan()),
        "{:?}",
        found.theta
    );
}

/// Spots on grids of several shapes, whose rows stand in the order of `turn`.
fn spots_on_grids(turn: usize) -> (Columns<'static>, Groups) {
    let (mut x, mut y, mut z, mut labels) = (vec![], vec![], vec![], vec![]);
    for k in 0..60 {
        let (nx, ny) = [(7, 7), (6, 8), (7, 7), (9, 5), (7, 7)][k % 5];
        let mut rng = Rng::new(12, 0, 0, k as u32, Purpose::Test);
        let (x0, y0) = (3.0 + 0.5 * rng.normal(), 3.0 + 0.5 * rng.normal());
        // Where the first pixel stands.
        let (left, top) = (10.0 * (k / 9) as f64, 2.0 * (k / 5) as f64);
        let n = nx * ny;
        let noise: Vec<f64> = (0..n).map(|_| 0.2 * rng.normal()).collect();
        for at in (0..n).map(|i| (i * turn) % n) {
            let (u, v) = ((at % nx) as f64, (at / nx) as f64);
            let r2 = (u - x0).powi(2) + (v - y0).powi(2);
            x.push(u + left);
            y.push(v + top);
            z.push(10.0 * (-r2 / (2.0 * 1.2 * 1.2)).exp() + 2.0 + noise[at]);
            labels.push(k as f64);
        }
    }
    let groups = Groups::by_number(&labels);
    let columns = [x, y, z].into_iter().map(Cow::Owned).collect();
    (Columns::new(columns), groups)
}

#[test]
fn fits_on_grids_of_any_shape_and_order_are_those_of_single_fits() {
    let formula = "a*exp(-((x-x0)^2+(y-y0)^2)/(2*s^2))+c";
    let formula = Formula::parse(formula).unwrap();
    let roles = formula.roles(&["x", "y"], &[]).unwrap();
    // 11 and 13 share no factor with any number of points.
    let mut first: Option<Batch> = None;
    for turn in [1, 11, 13] {
        let (table, groups) = spots_on_grids(turn);
        let mut found: Vec<Batch> = Vec::new();
        for k in 0..60 {
            let (left, top) = (10.0 * (k / 9) as f64, 2.0 * (k / 5) as f64);
            let options = Options {
                p0: values([
                    ("a", 8.0),
                    ("x0", 3.0 + left),
                    ("y0", 3.0 + top),
                    ("s", 1.0),
                    ("c", 1.0),
                ]),
                ..Options::default()
            };
            let plan = Plan::new(&formula, roles.clone(), false, &options).unwrap();
            let stop = AtomicBool::new(false);
            let all = fit_many(&plan, &table, &groups.part(k..k + 1), &options, &stop).unwrap();
            assert!(all.status[0].converged() && all.n_alone == 0, "fit {k}");
            let own = |c: usize| -> Vec<f64> {
                let rows = groups.rows(k).iter();
                rows.map(|&r| table.column(c)[r as usize]).collect()
            };
            let own = Columns::new((0..3).map(own).map(Cow::Owned).collect());
            let single = fit_table(&plan, &own, &options, &mut |_| Next::Continue).unwrap();
            // Steps end where they are small beside places, which are far from 0 here.
            let both = all.theta.iter().zip(&single.popt).zip(single.se());
            for ((got, want), se) in both {
                assert!((got - want).abs() <= 1e-6 * se, "fit {k}: {got} {want}");
            }
            for (got, want) in all.se.iter().zip(&single.se()) {
                assert!((got - want).abs() <= 1e-6 * want, "fit {k}: {got} {want}");
            }
            found.push(all);
        }
        let (plan, options) = plan_and_options();
        let all = fit_many(&plan, &table, &groups, &options, &AtomicBool::new(false)).unwrap();
        // Those whose grid begins at 0 and that begin where they did alone have the same bits.
        for k in 0..5 {
            assert_eq!(bits(&all, k), bits(&found[k], 0), "fit {k} beside others");
        }
        match &first {
            None => first = Some(all),
            Some(first) => {
                for k in 0..5 {
                    let both = first.theta[5 * k..][..5]
                        .iter()
                        .zip(&all.theta[5 * k..][..5]);
                    for (a, b) in both {
                        assert!((a - b).abs() <= 1e-9 * a.abs(), "fit {k} in another order");
                    }
                }
            }
        }
    }
}

/// Each fit of a batch has the doubts that a single one has, in and out of order, with weights and without.
#[test]
fn a_batch_has_the_doubts_of_single_fits() {
    let mut raised = [0; 3];
    for weighted in [false, true] {
        let (mut x, mut y, mut w, mut labels) = (vec![], vec![], vec![], vec![]);
        for k in 0..120u32 {
            let mut rng = Rng::new(23, 0, 0, k, Purpose::Test);
            // One of them has more rows than a tile.
            let n = if k == 7 { 1500 } else { 8 + k as usize };
            for i in 0..n {
                let at = match k % 3 {
                    0 => 6.0 * rng.uniform(),
                    _ => 6.0 * i as f64 / n as f64,
                };
                // A wave that the curve lacks, a curve that is lost in noise, noise that is larger than said.
                let wave = if k % 4 == 1 { (4.0 * at).sin() } else { 0.0 };
                let noise = if k % 4 == 2 { 9.0 } else { 0.1 };
                x.push(at);
                y.push(2.0 * (-0.5 * at).exp() + 0.3 + wave + noise * rng.normal());
                w.push(5.0);
                labels.push(f64::from(k));
            }
        }
        let options = Options {
            p0: values([("a", 2.0), ("b", 0.5), ("c", 0.3)]),
            absolute_sigma: weighted,
            ..Options::default()
        };
        let formula = Formula::parse("a*exp(-b*x)+c").unwrap();
        let roles = formula.roles(&["x"], &[]).unwrap();
        let plan = Plan::new(&formula, roles, weighted, &options).unwrap();
        let groups = Groups::by_number(&labels);
        let mut columns = vec![Cow::Owned(x), Cow::Owned(y)];
        if weighted {
            columns.push(Cow::Owned(w));
        }
        let table = Columns::new(columns);
        let batch = fit_many(&plan, &table, &groups, &options, &AtomicBool::new(false)).unwrap();
        let found = doubts(&batch, &plan, &table, &groups, &options).each;
        for (k, found) in found.iter().enumerate() {
            let rows = groups.rows(k).iter().map(|&row| row as usize);
            let pick = |c: usize| rows.clone().map(|i| table.column(c)[i]).collect::<Vec<_>>();
            let own = (0..2 + usize::from(weighted)).map(|c| Cow::Owned(pick(c)));
            let own = Columns::new(own.collect());
            let mut alone = fit_table(&plan, &own, &options, &mut |_| Next::Continue).unwrap();
            let seen = quality(&plan, &own, &alone).unwrap();
            alone.weigh(&seen);
            let names: Vec<&str> = found.each().map(Doubt::name).collect();
            let single = |flag: &&&str| Doubt::ALL.iter().any(|d| d.name() == **flag);
            let single: Vec<&str> = alone.flags.iter().filter(single).copied().collect();
            assert!(
                batch.status[k].converged() && names == single,
                "{k}: {names:?}, {single:?}"
            );
            for (n, doubt) in raised.iter_mut().zip(Doubt::ALL) {
                *n += usize::from(found.has(doubt));
            }
        }
    }
    assert!(raised.iter().all(|n| *n > 10), "{raised:?}");
}
