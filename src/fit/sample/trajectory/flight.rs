//! Trajectories of a number of steps that is known before they start, with an end that is accepted
//! or not: Hamiltonian ones, and microcanonical ones, whose speed never changes.
//!
//! With d coordinates, whitened velocity v of length √d, force f = Sᵀ∇ℓ and the unit vector u =
//! v/√d: q̇ = S v, u̇ = √d (I − uuᵀ) f/(d − 1). A kick over the time h with e = f/|f|, c = e·u and
//! δ = h √d |f|/(d − 1) is exact: u ← (u + e (sinh δ + c (cosh δ − 1)))/(cosh δ + c sinh δ), and it
//! adds (d − 1) ln(cosh δ + c sinh δ) to the energy, whose error the acceptance corrects.
//!
//! References: Duane, Kennedy, Pendleton, Roweth, Physics Letters B 195, 1987 (Hamiltonian);
//! Robnik, Cohn-Gordon, Seljak, arXiv:2503.01707 (microcanonical, adjusted); Ver Steeg, Galstyan,
//! 2021 (the exact kick).

use super::super::tree::MAX_ENERGY_ERROR;
use super::*;

/// The law of motion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dynamics {
    /// Momenta grow where the density falls.
    Hamiltonian,
    /// Velocities only turn.
    Microcanonical,
}

/// A flight that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flight {
    /// Steps made.
    pub(crate) n_steps: u32,
    /// H − H₀ at the end.
    pub(crate) error: f64,
    /// H₀ as it is recorded: of a microcanonical flight with the mean kinetic energy of momenta.
    pub(crate) energy_start: f64,
    /// The error was too large for a flight to go on.
    pub(crate) diverged: bool,
}

/// Flies `n_steps` from `space.candidate` with a fresh velocity; the end is the proposal.
pub(crate) fn fly(
    (target, metric): (&mut impl Target, &Metric),
    space: &mut Workspace,
    dynamics: Dynamics,
    (step_size, n_steps): (f64, u32),
    key: (Stream, u32, Purpose),
) -> Flight {
    travel(
        Hamiltonian::start(target, metric, space, step_size, key),
        dynamics,
        n_steps,
    )
}

/// Flies `n_steps` from where `path` starts, with the velocity it has there.
fn travel<T: Target>(mut path: Hamiltonian<'_, T>, dynamics: Dynamics, n_steps: u32) -> Flight {
    let dim = path.target.dim();
    path.begin(Direction::Forward);
    // With one coordinate there is nowhere to turn to.
    let turning = dynamics == Dynamics::Microcanonical && dim > 1;
    let mut flight = Flight {
        n_steps: 0,
        error: 0.0,
        energy_start: path.energy_start(),
        diverged: false,
    };
    let start = path.log_density;
    if turning {
        scale_to(&mut path.space.ends[1].momentum, (dim as f64).sqrt());
        flight.energy_start = 0.5 * dim as f64 - start;
    }
    let mut given = 0.0;
    for _ in 0..n_steps {
        flight.error = match turning {
            true => {
                given += path.turning_step();
                start - path.log_density + given
            }
            false => -path.leap(),
        };
        flight.n_steps += 1;
        if !flight.error.is_finite() || flight.error > MAX_ENERGY_ERROR {
            flight.diverged = true;
            return flight;
        }
    }
    if turning {
        path.energy = 0.5 * dim as f64 - path.log_density;
    }
    path.propose();
    flight
}

/// Makes the length of `v` this; zero stays.
fn scale_to(v: &mut [Block], length: f64) {
    let own = vector::dot(v, v).sqrt();
    if own > 0.0 {
        let factor = length / own;
        v.as_flattened_mut().iter_mut().for_each(|v| *v *= factor);
    }
}

/// Turns the velocity towards the force over the time `half`; what that adds to the energy.
fn turn(half: f64, dim: usize, force: &[Block], velocity: &mut [Block]) -> f64 {
    let (speed, size) = ((dim as f64).sqrt(), vector::dot(force, force).sqrt());
    // Not for NaN, which the next log density shows.
    if !(size > 0.0) {
        return 0.0;
    }
    let others = (dim - 1) as f64;
    let cosine = vector::dot(force, velocity) / (size * speed);
    let delta = half * speed * size / others;
    // Numerator and denominator times 2 exp(−δ), so that no hyperbolic function overflows.
    let small = libm::exp(-delta);
    let below = (1.0 + cosine) + (1.0 - cosine) * small * small;
    let gained = (1.0 - small) * (1.0 + small + cosine * (1.0 - small));
    let shrink = 2.0 * small / below;
    velocity
        .as_flattened_mut()
        .iter_mut()
        .for_each(|v| *v *= shrink);
    vector::axpy(speed * gained / (below * size), force, velocity);
    scale_to(velocity, speed);
    others * (delta + libm::log(0.5 * below))
}

impl<T: Target> Hamiltonian<'_, T> {
    /// One microcanonical step at the front; what its two kicks add to the energy.
    fn turning_step(&mut self) -> f64 {
        let Workspace { ends, gradient, .. } = &mut *self.space;
        let end = &mut ends[1];
        let (dim, half) = (self.target.dim(), 0.5 * self.step_size);
        let first = turn(half, dim, &end.force, &mut end.momentum);
        self.metric.spread(&end.momentum, &mut end.path);
        vector::axpy(self.step_size, &end.path, &mut end.position);
        self.log_density = self.target.value_and_gradient(
            &end.position.as_flattened()[..dim],
            &mut gradient.as_flattened_mut()[..dim],
        );
        self.metric.pull(gradient, &mut end.force);
        end.offset += 1;
        first + turn(half, dim, &end.force, &mut end.momentum)
    }
}

impl Workspace {
    /// Where the last flight ended.
    pub(crate) fn landing(&self) -> &Point {
        &self.proposal
    }

    /// The velocity there, in the user's coordinates.
    pub(crate) fn landing_velocity(&self, metric: &Metric, out: &mut Vector) {
        metric.spread(&self.ends[1].momentum, out);
    }

    /// The landing becomes the draw.
    pub(crate) fn land(&mut self) {
        std::mem::swap(&mut self.proposal, &mut self.candidate);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::dense::Matrix;
    use super::super::super::targets::Known;
    use super::*;

    /// M⁻¹ = diag(d) + v vᵀ.
    fn dense(dim: usize) -> Metric {
        let mut inverse_mass = Matrix::zeros(dim);
        for i in 0..dim {
            for j in 0..dim {
                let own = if i == j { 1.0 + 0.3 * i as f64 } else { 0.0 };
                *inverse_mass.at_mut(i, j) = own + 0.1 * (i + 1) as f64 * (j + 1) as f64;
            }
        }
        let factor = inverse_mass.cholesky().expect("positive definite");
        super::super::super::metric::Factor::Dense(factor).into()
    }

    /// Flies from `q` with velocity `v`: place and velocity at the end, and the error.
    fn flown(q: &[f64], v: &[f64], step_size: f64, n: u32) -> ([Vec<f64>; 2], f64) {
        let dim = q.len();
        let (mut target, metric) = (Known::Funnel { dim }, dense(dim));
        let mut space = Workspace::new(dim, 3);
        vector::load(&mut space.candidate.position, q);
        assert!(space.candidate.evaluate(&mut target));
        vector::load(&mut space.ends[0].momentum, v);
        let path = Hamiltonian::start_with_momentum(&mut target, &metric, &mut space, step_size);
        let flight = travel(path, Dynamics::Microcanonical, n);
        let numbers = |v: &[Block]| v.as_flattened()[..dim].to_vec();
        let end = &space.ends[1];
        (
            [numbers(&end.position), numbers(&end.momentum)],
            flight.error,
        )
    }

    const Q: [f64; 4] = [0.3, -0.7, 1.1, 0.2];
    const V: [f64; 4] = [1.2, 0.4, -0.6, -1.43];

    /// Bound 1e-10. Catches: kicks and drifts in an order that is not its own reverse.
    #[test]
    fn a_microcanonical_flight_comes_back_when_its_velocity_is_turned_round() {
        let ([q, v], error) = flown(&Q, &V, 0.3, 9);
        let back: Vec<f64> = v.iter().map(|v| -v).collect();
        let ([q, v], returned) = flown(&q, &back, 0.3, 9);
        for (a, b) in q.iter().zip(&Q) {
            assert!((a - b).abs() < 1e-10, "{q:?}");
        }
        let length = (V.iter().map(|v| v * v).sum::<f64>() / 4.0).sqrt();
        for (a, b) in v.iter().zip(&V) {
            assert!((a + b / length).abs() < 1e-10, "{v:?}");
        }
        assert!((error + returned).abs() < 1e-10, "{error} {returned}");
    }

    /// Half the step, a quarter of the error: bound 4 ± 0.2. Catches: a kick over another time than
    /// the drift's, d in place of d − 1 in the energy or in the turn.
    #[test]
    fn the_error_of_a_microcanonical_flight_is_of_second_order() {
        let error = |n: u32| flown(&Q, &V, 2.0 / f64::from(n), n).1;
        let (coarse, fine) = (error(200), error(400));
        assert!((coarse / fine - 4.0).abs() < 0.2, "{coarse} {fine}");
    }

    /// The map of place and direction keeps e^(−ΔK) times the volume, ΔK what its kicks add to the
    /// energy: by differences, on the tangent of the sphere. Bound 1e-6. Catches: an energy that is
    /// not the volume's.
    #[test]
    fn the_energy_of_kicks_is_the_volume_that_they_take() {
        let dim = 3;
        let force = [0.7, -1.9, 0.4];
        let length = 3f64.sqrt();
        let at = |v: &[f64]| {
            let (mut f, mut own) = (vector::zeros(dim), vector::zeros(dim));
            vector::load(&mut f, &force);
            vector::load(&mut own, v);
            scale_to(&mut own, length);
            let energy = turn(0.6, dim, &f, &mut own);
            (own.as_flattened()[..dim].to_vec(), energy)
        };
        let v = [1.0, 0.6, -1.2];
        let (out, energy) = at(&v);
        // Two tangents at v, and their images.
        let size = v.iter().map(|v| v * v).sum::<f64>().sqrt();
        let unit: Vec<f64> = v.iter().map(|v| v / size).collect();
        let mut a = vec![-unit[1], unit[0], 0.0];
        let own = (a[0] * a[0] + a[1] * a[1]).sqrt();
        a.iter_mut().for_each(|a| *a /= own);
        let cross = |a: &[f64], b: &[f64]| {
            [
                a[1] * b[2] - a[2] * b[1],
                a[2] * b[0] - a[0] * b[2],
                a[0] * b[1] - a[1] * b[0],
            ]
        };
        let b = cross(&unit, &a);
        let h = 1e-5;
        let image = |t: &[f64]| -> Vec<f64> {
            let moved = |s: f64| -> Vec<f64> {
                let v = unit.iter().zip(t).map(|(u, t)| u + s * h * t);
                at(&v.collect::<Vec<_>>()).0
            };
            let (up, down) = (moved(1.0), moved(-1.0));
            up.iter()
                .zip(&down)
                .map(|(u, d)| (u - d) / (2.0 * h * length))
                .collect()
        };
        let area = cross(&image(&a), &image(&b))
            .iter()
            .map(|x| x * x)
            .sum::<f64>()
            .sqrt();
        assert!(
            (libm::log(area) + energy).abs() < 1e-6,
            "{area} {energy} {out:?}"
        );
    }
}
