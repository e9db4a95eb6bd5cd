//! Made-up runs, sound and unsound, for tests of findings and tables.

use crate::draws::{Column, Group, Labels, Trace, Variable};
use crate::rng::{Purpose, Rng};

/// The schools of the classic example.
pub(crate) const SCHOOLS: [&str; 8] = [
    "Choate",
    "Deerfield",
    "Andover",
    "Exeter",
    "Hotchkiss",
    "Lawrence",
    "St Paul's",
    "Mt Hermon",
];

/// A run of chains of normal draws that tests bend out of shape.
pub(crate) struct Run {
    pub(crate) n_chains: usize,
    pub(crate) n_draws: usize,
    pub(crate) trace: Trace,
}

impl Run {
    /// A run without variables, its statistics in order.
    pub(crate) fn new(n_chains: usize, n_draws: usize) -> Self {
        let trace = Trace {
            groups: vec![
                Group {
                    name: "posterior".into(),
                    ..Group::default()
                },
                Group {
                    name: "sample_stats".into(),
                    ..Group::default()
                },
            ],
            ..Trace::default()
        };
        let mut run = Run {
            n_chains,
            n_draws,
            trace,
        };
        let n = n_chains * n_draws;
        run.statistic("diverging", Column::Flag(vec![false; n]));
        run.statistic("reached_max_treedepth", Column::Flag(vec![false; n]));
        let energies = run.normals(99, 0, 50.0, 2.0, 0.2);
        run.statistic("energy", Column::Real(energies));
        run.statistic("step_size_bar", Column::Real(vec![0.6; n]));
        run
    }

    /// Autoregressive normal draws of one element, chain after chain.
    pub(crate) fn normals(
        &self,
        seed: u64,
        element: u32,
        mean: f64,
        sd: f64,
        rho: f64,
    ) -> Vec<f64> {
        let chain = |c: usize| {
            let mut rng = Rng::new(seed, element, c as u32, 0, Purpose::Test);
            let mut z = rng.normal();
            let draws = (0..self.n_draws).map(move |_| {
                z = rho * z + (1.0 - rho * rho).sqrt() * rng.normal();
                mean + sd * z
            });
            draws.collect::<Vec<f64>>()
        };
        (0..self.n_chains).flat_map(chain).collect()
    }

    /// Adds or replaces a statistic.
    pub(crate) fn statistic(&mut self, name: &str, values: Column) {
        let variables = &mut self.trace.groups[1].variables;
        variables.retain(|v| v.name != name);
        variables.push(Variable {
            name: name.into(),
            dims: vec!["chain".into(), "draw".into()],
            shape: vec![self.n_chains, self.n_draws],
            values,
        });
    }

    /// Adds a variable; `elements` holds the draws of each element, chain after chain.
    pub(crate) fn variable(&mut self, name: &str, dims: &[(&str, usize)], elements: &[Vec<f64>]) {
        let n = self.n_chains * self.n_draws;
        let values = (0..n)
            .flat_map(|i| elements.iter().map(move |e| e[i]))
            .collect();
        let mut all_dims = vec!["chain".to_string(), "draw".to_string()];
        all_dims.extend(dims.iter().map(|d| d.0.to_string()));
        let mut shape = vec![self.n_chains, self.n_draws];
        shape.extend(dims.iter().map(|d| d.1));
        self.trace.groups[0].variables.push(Variable {
            name: name.into(),
            dims: all_dims,
            shape,
            values: Column::Real(values),
        });
    }

    /// Adds a scalar.
    pub(crate) fn scalar(&mut self, name: &str, draws: Vec<f64>) {
        self.variable(name, &[], &[draws]);
    }
}

/// Eight schools that mixed well.
pub(crate) fn eight_schools() -> Run {
    let mut run = Run::new(4, 1000);
    run.scalar("mu", run.normals(1, 0, 4.4, 3.3, 0.3));
    run.scalar(
        "tau",
        run.normals(1, 1, 0.9, 0.7, 0.5)
            .iter()
            .map(|v| v.exp())
            .collect(),
    );
    let theta: Vec<Vec<f64>> = (0..8)
        .map(|j| run.normals(2, j, 2.0 + f64::from(j), 5.0, 0.0))
        .collect();
    run.variable("theta", &[("school", 8)], &theta);
    let names = SCHOOLS.iter().map(ToString::to_string).collect();
    run.trace
        .coords
        .insert("school".into(), Labels::Text(names));
    run
}

/// A hundred groups, of which chain 2 got stuck at a small scale where it diverges.
pub(crate) fn stuck_hierarchical() -> Run {
    let mut run = Run::new(4, 1000);
    run.scalar("mu_pop", run.normals(1, 0, 49.2, 0.92, 0.5));
    let mut sigma = run.normals(1, 1, 9.8, 0.7, 0.2);
    let near_zero = run.normals(1, 2, 0.05, 0.004, 0.9);
    sigma[2000..3000].copy_from_slice(&near_zero[2000..3000]);
    run.scalar("sigma_pop", sigma);
    run.scalar("sigma_obs", run.normals(1, 3, 2.01, 0.047, 0.0));
    let mu: Vec<Vec<f64>> = (0..100)
        .map(|j| {
            let mut draws = run.normals(3, j, 30.0 + 0.4 * f64::from(j), 0.63, 0.0);
            if j % 3 == 0 {
                draws[2000..3000]
                    .iter_mut()
                    .for_each(|v| *v = 49.2 + 0.1 * (*v - 49.2));
            }
            draws
        })
        .collect();
    run.variable("mu_group", &[("group", 100)], &mu);
    let diverging = (0..4000)
        .map(|i| (2000..3000).contains(&i) && i % 20 == 0)
        .collect();
    run.statistic("diverging", Column::Flag(diverging));
    run
}
