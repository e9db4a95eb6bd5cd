//! Properties of the way from a model to its density, on models put together by chance and on
//! every example: what must not depend on spelling, coordinates, order, labels or level.
#![allow(clippy::unwrap_used)]

mod support;

use fitzroy::data::Dataset;
use fitzroy::model::joint::{Chosen, Coordinates, Joint};
use fitzroy::rng::{Purpose, Rng};
use fitzroy_device::lanes::Level;
use support::kernels::{Case as Kernel, assert_near, assert_same_bits};
use support::{Density, EXAMPLES, everywhere, example_joint, joint, near, signed};

/// Models made by chance; each has its number as seed.
const MODELS: u32 = 160;

/// A small model with groups, in both spellings, and its data.
struct Case {
    centred: String,
    noncentred: String,
    data: Dataset,
    rows: usize,
    /// Columns with one element per row.
    columns: Vec<&'static str>,
}

struct Chance(Rng);

impl Chance {
    fn new(seed: u32) -> Chance {
        Chance(Rng::new(2024, 0, seed, 0, Purpose::Test))
    }
    fn below(&mut self, n: usize) -> usize {
        (self.0.uniform() * n as f64) as usize
    }
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
    fn point(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| 2.0 * self.0.uniform() - 1.0).collect()
    }
    fn order(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, self.below(i + 1));
        }
        order
    }
}

/// `NAME[dim] ~ Family(location, scale)` in both spellings.
fn effect(chance: &mut Chance, name: &str, dim: &str, location: &str, scale: &str) -> [String; 2] {
    let families = ["Normal(", "StudentT(4, ", "Logistic(", "Gumbel(", "Normal("];
    let family = chance.pick(&families);
    [
        format!("{name}[{dim}] ~ {family}{location}, {scale})\n"),
        format!(
            "z_{name}[{dim}] ~ {family}0, 1)\n{name}[{dim}] = {location} + {scale} * z_{name}\n"
        ),
    ]
}

/// A likelihood of `y` around `eta`, its own parameters, and whether `y` are counts.
fn likelihood(chance: &mut Chance) -> (&'static str, &'static str, bool) {
    let all = [
        ("s ~ HalfNormal(2)\n", "y[obs] ~ Normal(eta, s)\n", false),
        (
            "s[groups] ~ LogNormal(0, 1)\n",
            "y[obs] ~ Normal(eta, s[group])\n",
            false,
        ),
        (
            "s ~ Exponential(1)\nnu ~ Gamma(2, 0.1)\n",
            "y[obs] ~ StudentT(nu, eta, s)\n",
            false,
        ),
        ("", "y[obs] ~ Poisson(exp(eta))\n", true),
        (
            "phi ~ HalfCauchy(1)\n",
            "y[obs] ~ NegativeBinomial(exp(eta), phi)\n",
            true,
        ),
        ("", "y[obs] ~ Binomial(9, logit_p=eta)\n", true),
        (
            "s ~ InverseGamma(2, 1)\n",
            "y[obs] ~ Normal(eta + 0.5 * x * x, s * exp(0.1 * x))\n",
            false,
        ),
    ];
    chance.pick(&all)
}

/// Groups and items of the rows: each has few rows or none, some one.
fn case(seed: u32) -> Case {
    let mut chance = Chance::new(seed);
    let rows = chance.pick(&[1, 2, 5, 9, 17, 40, 65]);
    let (groups, items) = (1 + chance.below(7), 1 + chance.below(4));
    let (own, observed, counts) = likelihood(&mut chance);
    let scale = chance.pick(&[
        "HalfNormal(1)",
        "HalfCauchy(2)",
        "Gamma(2, 2)",
        "LogNormal(0, 1)",
    ]);
    let mut head = format!(
        "dim groups = {groups}\ndim items = {items}\n\
         data y[obs], x[obs], features[obs, column], group[obs] in groups, item[obs] in items, \
         parent[groups] in items\n\
         m ~ Normal(0, 2)\ntau ~ {scale}\n"
    );
    let a = |chance: &mut Chance, location| effect(chance, "a", "groups", location, "tau");
    let (parts, eta): (Vec<[String; 2]>, &str) = match chance.below(6) {
        0 => (vec![a(&mut chance, "m")], "a[group]"),
        1 => {
            head += "omega ~ HalfNormal(1)\n";
            let b = effect(&mut chance, "b", "items", "0", "omega");
            (vec![a(&mut chance, "m"), b], "a[group] + b[item]")
        }
        2 => {
            head += "omega ~ HalfNormal(1)\n";
            let b = effect(&mut chance, "b", "items", "m", "omega");
            (vec![b, a(&mut chance, "b[parent]")], "a[group]")
        }
        3 => {
            head += "slope ~ Normal(0, 1)\nomega ~ Exponential(2)\n";
            let b = effect(&mut chance, "b", "groups", "slope", "omega");
            (vec![a(&mut chance, "m"), b], "a[group] + b[group] * x")
        }
        4 => {
            let b = effect(&mut chance, "b", "groups, items", "m", "tau");
            (vec![b], "b[group, item]")
        }
        _ => {
            head += "beta[column] ~ Normal(0, 1)\n";
            (vec![a(&mut chance, "m")], "a[group] + features @ beta")
        }
    };
    let tail = format!("{own}let eta = {eta}\n{observed}");
    let spelled = |k: usize| {
        let parts: String = parts.iter().map(|p| p[k].as_str()).collect();
        format!("{head}{parts}{tail}")
    };
    let mut data = Dataset::new();
    let y = (0..rows).map(|_| match counts {
        true => chance.below(6) as f64,
        false => chance.0.normal(),
    });
    data.insert_real("y", &[rows], y.collect());
    data.insert_real("x", &[rows], chance.point(rows));
    data.insert_real("features", &[rows, 3], chance.point(3 * rows));
    let mut codes = |n: usize, of: usize| (0..n).map(|_| chance.below(of) as f64).collect();
    data.insert_real("group", &[rows], codes(rows, groups));
    data.insert_real("item", &[rows], codes(rows, items));
    data.insert_real("parent", &[groups], codes(groups, items));
    Case {
        centred: spelled(0),
        noncentred: spelled(1),
        data,
        rows,
        columns: vec!["y", "x", "group", "item"],
    }
}

fn reals(data: &Dataset, name: &str) -> Vec<f64> {
    match &data.get(name).unwrap().values {
        fitzroy::data::Values::Real(v) => v.clone(),
        fitzroy::data::Values::Text(_) => panic!("{name} holds numbers"),
    }
}

impl Case {
    /// The data with `rows` of the present ones, in this order.
    fn with_rows(&self, rows: &[usize]) -> Dataset {
        let mut data = self.data.clone();
        for name in &self.columns {
            let old = reals(&self.data, name);
            data.insert_real(name, &[rows.len()], rows.iter().map(|&r| old[r]).collect());
        }
        let old = reals(&self.data, "features");
        let wide = rows.iter().flat_map(|&r| old[3 * r..3 * r + 3].to_vec());
        data.insert_real("features", &[rows.len(), 3], wide.collect());
        data
    }
}

/// Some c for every element, ends and middle.
fn partial(joint: &Joint, chance: &mut Chance) -> Vec<Coordinates> {
    let one = |plate: &fitzroy::model::joint::Plate| {
        let n = joint.parameters()[plate.parameter].len;
        let c = (0..n).map(|_| match chance.below(4) {
            0 => 0.0,
            1 => 1.0,
            _ => chance.0.uniform(),
        });
        Coordinates::Partial(c.collect())
    };
    joint.plates().iter().map(one).collect()
}

fn centring(chosen: &Coordinates, j: usize) -> f64 {
    match chosen {
        Coordinates::Centred => 1.0,
        Coordinates::NonCentred => 0.0,
        Coordinates::Partial(c) => c[j],
    }
}

/// The position in `to` of the point that has `x` in the coordinates as written, and
/// Σ (1 − c) ln scale there. Plates come after what they depend on, so one pass in order, with
/// locations and scales taken from the point as written, is exact.
fn moved(joint: &Joint, written: &Density, x: &[f64], to: &[Coordinates]) -> (Vec<f64>, f64) {
    let mut w = x.to_vec();
    let mut jacobian = 0.0;
    let frames = written.frames(x);
    for ((plate, (location, scale)), chosen) in joint.plates().iter().zip(&frames).zip(to) {
        let parameter = &joint.parameters()[plate.parameter];
        for j in 0..parameter.len {
            let (c, m, s) = (centring(chosen, j), location[j], scale[j]);
            let slot = &mut w[parameter.offset + j];
            *slot = c * m + s.powf(c - 1.0) * (*slot - m);
            jacobian += (1.0 - c) * s.ln();
        }
    }
    (w, jacobian)
}

/// Sum of |slope|, for relative bounds.
fn size(gradient: &[f64]) -> f64 {
    1.0 + gradient.iter().map(|g| g.abs()).sum::<f64>()
}

/// Bound: 1e-11 of the magnitudes; the densities are sums of at most a few hundred terms, each
/// good to a few units in the last place.
#[track_caller]
fn agrees_with_reference(joint: &Joint, coordinates: &[Coordinates], x: &[f64], what: &str) {
    agrees_in(joint, &coordinates.into(), x, what);
}

#[track_caller]
fn agrees_in(joint: &Joint, chosen: &Chosen, x: &[f64], what: &str) {
    let mut bits: Option<(u64, Vec<u64>)> = None;
    for level in Level::available() {
        let mut density = Density::of(level, joint, chosen);
        let (value, gradient) = density.run(x);
        let (wanted, slopes) = density.reference(x);
        near(
            value,
            wanted,
            1.0 + wanted.abs(),
            1e-11,
            format!("{what}, {level:?}"),
        );
        for (k, (g, w)) in gradient.iter().zip(&slopes).enumerate() {
            near(
                *g,
                *w,
                size(&slopes),
                1e-11,
                format!("{what}, {level:?}, slope {k}"),
            );
        }
        let own = (
            value.to_bits(),
            gradient.iter().map(|g| g.to_bits()).collect(),
        );
        match &bits {
            None => bits = Some(own),
            Some(first) => assert_eq!(*first, own, "{what}: {level:?} differs from scalar"),
        }
    }
}

#[test]
fn the_device_agrees_with_the_reference_on_models_made_by_chance() {
    for seed in 0..MODELS {
        let (case, mut chance) = (case(seed), Chance::new(1000 + seed));
        let joint = joint(&case.centred, &case.data);
        for coordinates in [
            everywhere(&joint, &Coordinates::Centred),
            everywhere(&joint, &Coordinates::NonCentred),
            partial(&joint, &mut chance),
        ] {
            let x = chance.point(joint.n_params());
            let what = format!("model {seed}\n{}\n{coordinates:?}", case.centred);
            agrees_with_reference(&joint, &coordinates, &x, &what);
        }
        let x = chance.point(joint.n_params());
        let what = format!("model {seed}\n{}\nsigned", case.centred);
        agrees_in(&joint, &signed(&joint), &x, &what);
    }
}

#[test]
fn kernels_of_models_made_by_chance_have_the_bits_of_the_cpu() {
    let kernel = |seed| {
        let (case, mut chance) = (case(seed), Chance::new(2000 + seed));
        let joint = joint(&case.centred, &case.data);
        let coordinates = partial(&joint, &mut chance);
        Kernel::new(
            format!("model {seed}\n{}", case.centred),
            &joint,
            &coordinates,
        )
    };
    assert_same_bits(&(0..30).map(kernel).collect::<Vec<_>>(), false);
    let mixed = |seed| {
        let case = case(seed);
        let joint = joint(&case.centred, &case.data);
        Kernel::mixed(format!("model {seed}\n{}", case.centred), &joint)
    };
    assert_near(&(0..30).map(mixed).collect::<Vec<_>>());
}

#[test]
fn the_device_agrees_with_the_reference_on_every_example() {
    for (name, file, _) in EXAMPLES {
        let Some(joint) = example_joint(name, file) else {
            continue;
        };
        let mut chance = Chance::new(7);
        for coordinates in [
            everywhere(&joint, &Coordinates::Centred),
            everywhere(&joint, &Coordinates::NonCentred),
            partial(&joint, &mut chance),
        ] {
            for spread in [0.1, 1.0, 2.0] {
                let x = chance.point(joint.n_params());
                let x: Vec<f64> = x.iter().map(|x| spread * x).collect();
                agrees_with_reference(&joint, &coordinates, &x, name);
            }
        }
    }
}

/// Bound: the error of a central difference with step 1e-5 is near 1e-10 of the third derivative
/// plus 1e-11 of the value; both stay below 2e-6 of the sum of slopes here.
#[test]
fn gradients_of_the_device_are_those_of_central_differences() {
    for seed in 0..MODELS {
        let (case, mut chance) = (case(seed), Chance::new(2000 + seed));
        let joint = joint(&case.centred, &case.data);
        for coordinates in [
            everywhere(&joint, &Coordinates::Centred),
            everywhere(&joint, &Coordinates::NonCentred),
            partial(&joint, &mut chance),
        ] {
            let mut density = Density::new(&joint, &coordinates);
            let x = chance.point(joint.n_params());
            let (value, gradient) = density.run(&x);
            let (scale, step) = (size(&gradient).max(value.abs()), 1e-5);
            for k in 0..x.len() {
                let mut at = |d: f64| {
                    let mut x = x.clone();
                    x[k] += d;
                    density.value(&x)
                };
                let slope = (at(step) - at(-step)) / (2.0 * step);
                let what = format!("model {seed}, slope {k}\n{}", case.centred);
                near(gradient[k], slope, scale, 2e-6, what);
            }
        }
    }
}

/// Bound: 1e-9 of the value. Catches: any wrong factor or Jacobian of the centring transform.
#[test]
fn all_coordinates_have_the_same_density_but_for_the_jacobian() {
    for seed in 0..MODELS {
        let (case, mut chance) = (case(seed), Chance::new(3000 + seed));
        let joint = joint(&case.centred, &case.data);
        let mut written = Density::new(&joint, &everywhere(&joint, &Coordinates::Centred));
        for coordinates in [
            everywhere(&joint, &Coordinates::NonCentred),
            everywhere(&joint, &Coordinates::Centred),
            partial(&joint, &mut chance),
        ] {
            let mut density = Density::new(&joint, &coordinates);
            let x = chance.point(joint.n_params());
            let (w, jacobian) = moved(&joint, &written, &x, &coordinates);
            let (plain, other) = (written.value(&x), density.value(&w));
            let what = format!("model {seed}\n{}\n{coordinates:?}", case.centred);
            near(other - jacobian, plain, 1.0 + plain.abs(), 1e-9, what);
        }
    }
}

#[test]
fn standardised_effects_written_out_have_the_density_of_noncentred_coordinates() {
    for seed in 0..MODELS {
        let (case, mut chance) = (case(seed), Chance::new(4000 + seed));
        let centred = joint(&case.centred, &case.data);
        let spelled = joint(&case.noncentred, &case.data);
        assert_eq!(centred.n_params(), spelled.n_params());
        let mut one = Density::new(&centred, &everywhere(&centred, &Coordinates::NonCentred));
        let mut two = Density::new(&spelled, &everywhere(&spelled, &Coordinates::NonCentred));
        // Parameters may stand in another order.
        let x = chance.point(centred.n_params());
        let mut y = x.clone();
        for p in centred.parameters() {
            let mut twins = spelled.parameters().iter();
            let twin = twins.find(|q| q.name.trim_start_matches("z_") == p.name);
            let at = twin.unwrap().offset;
            y[at..at + p.len].copy_from_slice(&x[p.offset..p.offset + p.len]);
        }
        let (a, b) = (one.value(&x), two.value(&y));
        near(
            a,
            b,
            1.0 + a.abs(),
            1e-11,
            format!("model {seed}\n{}", case.noncentred),
        );
    }
}

/// Bound: 1e-12 of the magnitudes: only the order of sums changes.
#[test]
fn the_order_of_rows_changes_nothing_and_comes_back() {
    for seed in 0..MODELS {
        let (case, mut chance) = (case(seed), Chance::new(5000 + seed));
        let order = chance.order(case.rows);
        let plain = joint(&case.centred, &case.data);
        let shuffled = joint(&case.centred, &case.with_rows(&order));
        let coordinates = everywhere(&plain, &Coordinates::NonCentred);
        let mut a = Density::new(&plain, &coordinates);
        let mut b = Density::new(&shuffled, &coordinates);
        let x = chance.point(plain.n_params());
        let ((va, ga), (vb, gb)) = (a.run(&x), b.run(&x));
        let what = format!("model {seed}\n{}", case.centred);
        near(va, vb, 1.0 + va.abs(), 1e-12, &what);
        for (p, q) in ga.iter().zip(&gb) {
            near(*p, *q, size(&ga), 1e-12, &what);
        }
        let (la, lb) = (a.likelihood(&x), b.likelihood(&x));
        assert_eq!((la.len(), la[0].len()), (1, case.rows), "{what}");
        for (k, &row) in order.iter().enumerate() {
            near(lb[0][k], la[0][row], 1.0 + la[0][row].abs(), 1e-13, &what);
        }
        // And each row is what it is alone.
        let alone = chance.below(case.rows);
        let single = joint(&case.centred, &case.with_rows(&[alone]));
        let own = Density::new(&single, &coordinates).likelihood(&x)[0][0];
        near(la[0][alone], own, 1.0 + own.abs(), 1e-12, &what);
    }
}

#[test]
fn duplicated_rows_count_twice() {
    for seed in 0..MODELS {
        let (case, mut chance) = (case(seed), Chance::new(6000 + seed));
        let twice: Vec<usize> = (0..case.rows).chain(0..case.rows).collect();
        let plain = joint(&case.centred, &case.data);
        let doubled = joint(&case.centred, &case.with_rows(&twice));
        let coordinates = everywhere(&plain, &Coordinates::Centred);
        let mut a = Density::new(&plain, &coordinates);
        let mut b = Density::new(&doubled, &coordinates);
        let x = chance.point(plain.n_params());
        let likelihood: f64 = a.likelihood(&x)[0].iter().sum();
        let (va, vb) = (a.value(&x), b.value(&x));
        let scale = 1.0 + va.abs() + likelihood.abs();
        near(
            vb - va,
            likelihood,
            scale,
            1e-11,
            format!("model {seed}\n{}", case.centred),
        );
    }
}

#[test]
fn other_labels_of_the_groups_permute_the_parameters_and_nothing_else() {
    for seed in 0..MODELS {
        let (case, mut chance) = (case(seed), Chance::new(7000 + seed));
        let plain = joint(&case.centred, &case.data);
        let groups = plain.binding().dim("groups").unwrap();
        let n = plain.binding().dims[groups].size;
        let new = chance.order(n); // The new number of each group.
        let mut data = case.data.clone();
        let codes: Vec<f64> = reals(&data, "group")
            .iter()
            .map(|&g| new[g as usize] as f64)
            .collect();
        data.insert_real("group", &[case.rows], codes);
        let (old, mut parent) = (reals(&data, "parent"), vec![0.0; n]);
        (0..n).for_each(|g| parent[new[g]] = old[g]);
        data.insert_real("parent", &[n], parent);
        let relabelled = joint(&case.centred, &data);
        let x = chance.point(plain.n_params());
        let mut permuted = x.clone();
        let mut place: Vec<usize> = (0..x.len()).collect();
        for p in plain.parameters() {
            // Groups are always the first dim.
            if p.dims.first() == Some(&groups) {
                let inner = p.len / n;
                for k in 0..p.len {
                    let to = p.offset + new[k / inner] * inner + k % inner;
                    permuted[to] = x[p.offset + k];
                    place[p.offset + k] = to;
                }
            }
        }
        let coordinates = everywhere(&plain, &Coordinates::NonCentred);
        let (va, ga) = Density::new(&plain, &coordinates).run(&x);
        let (vb, gb) = Density::new(&relabelled, &coordinates).run(&permuted);
        let what = format!("model {seed}\n{}", case.centred);
        near(va, vb, 1.0 + va.abs(), 1e-12, &what);
        for k in 0..x.len() {
            near(ga[k], gb[place[k]], size(&ga), 1e-12, &what);
        }
    }
}
