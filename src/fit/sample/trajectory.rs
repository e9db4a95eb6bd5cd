//! A Hamiltonian trajectory: leapfrog steps of a target under a metric, or rotations, ready for the tree.

use super::metric::Metric;
use super::normals::Momenta;
use super::rotation::{Turn, is_far};
use super::tree::{Direction, Place, Span, Stop, Trajectory};
use super::vector::{self, Block, Vector};
use super::{Stream, Target};
use crate::rng::Purpose;

/// A place where the log density and its gradient are known.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    /// Position q.
    pub(crate) position: Vector,
    /// ∇ℓ(q).
    pub(crate) gradient: Vector,
    /// ℓ(q).
    pub(crate) log_density: f64,
    /// H there, in the trajectory it was taken from.
    pub(crate) energy: f64,
    /// Steps from the start of that trajectory, forward counted positive.
    pub(crate) offset: i64,
}

impl Point {
    /// A point at the origin, not evaluated.
    pub(crate) fn new(dim: usize) -> Self {
        Point {
            position: vector::zeros(dim),
            gradient: vector::zeros(dim),
            log_density: f64::NEG_INFINITY,
            energy: f64::NAN,
            offset: 0,
        }
    }

    /// Evaluates `target` here. True when the value and all slopes are finite.
    pub(crate) fn evaluate(&mut self, target: &mut impl Target) -> bool {
        let dim = target.dim();
        let gradient = &mut self.gradient.as_flattened_mut()[..dim];
        self.log_density =
            target.value_and_gradient(&self.position.as_flattened()[..dim], gradient);
        self.log_density.is_finite() && gradient.iter().all(|g| g.is_finite())
    }
}

/// One end of a trajectory.
#[derive(Clone, Debug)]
struct End {
    position: Vector,
    /// Whitened momentum π.
    momentum: Vector,
    /// Whitened slope Sᵀ∇ℓ; where steps are rotations, what it differs from that of the normal
    /// distribution.
    force: Vector,
    /// Σ of π before and after every step from the start: twice the trapezoid sum. Differences of
    /// it are 2(ρ − ½(π_a + π_b)) for the span between, ρ being the sum of its momenta.
    path: Vector,
    /// S⁻¹(q − m), where steps are rotations about m.
    place: Vector,
    offset: i64,
}

impl End {
    fn new(dim: usize) -> Self {
        let zeros = vector::zeros(dim);
        End {
            position: zeros.clone(),
            momentum: zeros.clone(),
            force: zeros.clone(),
            path: zeros.clone(),
            place: zeros,
            offset: 0,
        }
    }

    fn copy_from(&mut self, other: &End) {
        self.position.copy_from_slice(&other.position);
        self.momentum.copy_from_slice(&other.momentum);
        self.force.copy_from_slice(&other.force);
        self.path.copy_from_slice(&other.path);
        self.place.copy_from_slice(&other.place);
        self.offset = other.offset;
    }
}

/// A remembered leaf: what the turning rule needs of it.
#[derive(Clone, Debug)]
struct Mark {
    momentum: Vector,
    path: Vector,
}

/// All memory of a trajectory, made once per chain.
#[derive(Clone, Debug)]
pub(crate) struct Workspace {
    ends: [End; 2],
    first: Vec<Mark>,
    before: Vec<Mark>,
    momenta: Momenta,
    gradient: Vector,
    scratch: Vector,
    proposal: Point,
    /// Before a transition the start, after it the draw.
    pub(crate) candidate: Point,
}

impl Workspace {
    /// Memory for `dim` parameters and trees of at most `max_depth` doublings.
    pub(crate) fn new(dim: usize, max_depth: u32) -> Self {
        let zeros = vector::zeros(dim);
        let end = End::new(dim);
        let mark = Mark {
            momentum: zeros.clone(),
            path: zeros.clone(),
        };
        Workspace {
            ends: [end.clone(), end],
            first: vec![mark.clone(); max_depth as usize + 1],
            before: vec![mark; max_depth as usize + 1],
            momenta: Momenta::new(),
            gradient: zeros.clone(),
            scratch: zeros,
            proposal: Point::new(dim),
            candidate: Point::new(dim),
        }
    }
}

/// A trajectory in progress.
pub(crate) struct Hamiltonian<'a, T> {
    target: &'a mut T,
    metric: &'a Metric,
    space: &'a mut Workspace,
    step_size: f64,
    /// What a step is, where it rotates.
    turn: Option<Turn>,
    energy_start: f64,
    // Of the leaf just reached.
    energy: f64,
    log_density: f64,
    side: usize,
}

impl<'a, T: Target> Hamiltonian<'a, T> {
    /// Starts at `space.candidate` with a fresh momentum.
    pub(crate) fn start(
        target: &'a mut T,
        metric: &'a Metric,
        space: &'a mut Workspace,
        step_size: f64,
        (stream, iteration, purpose): (Stream, u32, Purpose),
    ) -> Self {
        let dim = target.dim();
        let momentum = &mut space.ends[0].momentum;
        space
            .momenta
            .fill(momentum, dim, stream, iteration, purpose);
        Self::start_with_momentum(target, metric, space, step_size)
    }

    /// Starts at `space.candidate` with the momentum already in the first end.
    fn start_with_momentum(
        target: &'a mut T,
        metric: &'a Metric,
        space: &'a mut Workspace,
        step_size: f64,
    ) -> Self {
        let start = &mut space.candidate;
        let [back, front] = &mut space.ends;
        back.position.copy_from_slice(&start.position);
        metric.pull(&start.gradient, &mut back.force);
        if metric.rotates() {
            metric.locate(&start.position, &mut back.place, &mut space.scratch);
            vector::axpy(1.0, &back.place, &mut back.force);
        }
        back.path.fill([0.0; 8]);
        back.offset = 0;
        front.position.copy_from_slice(&back.position);
        front.momentum.copy_from_slice(&back.momentum);
        front.force.copy_from_slice(&back.force);
        front.place.copy_from_slice(&back.place);
        front.path.fill([0.0; 8]);
        front.offset = 0;
        let kinetic = 0.5 * vector::dot(&back.momentum, &back.momentum);
        start.energy = kinetic - start.log_density;
        start.offset = 0;
        Hamiltonian {
            energy_start: start.energy,
            energy: start.energy,
            log_density: start.log_density,
            side: 0,
            target,
            metric,
            space,
            step_size,
            turn: Turn::of(metric.parts(), step_size),
        }
    }

    /// One leapfrog step at the growing end: H₀ − H there.
    #[inline]
    pub(crate) fn leap(&mut self) -> f64 {
        let sign = if self.side == 1 { 1 } else { -1 };
        let Workspace {
            ends,
            gradient,
            scratch,
            ..
        } = &mut *self.space;
        let end = &mut ends[self.side];
        (self.log_density, self.energy) = match &self.turn {
            None => {
                let half = 0.5 * sign as f64 * self.step_size;
                leapfrog(self.target, self.metric, end, gradient, half)
            }
            Some(turn) => {
                let by = (turn, sign as f64);
                rotation(self.target, self.metric, end, (gradient, scratch), by)
            }
        };
        end.offset += sign;
        self.energy_start - self.energy
    }

    /// Whether rotations have gone far enough, whatever the momenta say.
    fn is_far(&self) -> bool {
        let [back, front] = &self.space.ends;
        self.turn.is_some() && is_far(front.offset - back.offset + 1, self.step_size)
    }

    /// H at the start.
    pub(crate) fn energy_start(&self) -> f64 {
        self.energy_start
    }
}

/// One step of 2·`half` from `end`, the gradient there into `gradient`: log density and energy.
#[inline]
fn leapfrog(
    target: &mut impl Target,
    metric: &Metric,
    end: &mut End,
    gradient: &mut Vector,
    half: f64,
) -> (f64, f64) {
    metric.kick_drift(
        half,
        &end.force,
        &mut end.momentum,
        &mut end.path,
        &mut end.position,
    );
    let dim = target.dim();
    let log_density = target.value_and_gradient(
        &end.position.as_flattened()[..dim],
        &mut gradient.as_flattened_mut()[..dim],
    );
    let square = metric.finish_kick(
        half,
        gradient,
        &mut end.force,
        &mut end.momentum,
        &mut end.path,
    );
    (log_density, 0.5 * square - log_density)
}

/// As [`leapfrog`] with rotations instead of the drift, forward or backward, see [`super::rotation`].
fn rotation(
    target: &mut impl Target,
    metric: &Metric,
    end: &mut End,
    (gradient, scratch): (&mut Vector, &mut Vector),
    (turn, sign): (&Turn, f64),
) -> (f64, f64) {
    let (dim, outer) = (target.dim(), sign * turn.outer);
    let mut log_density = f64::NAN;
    for part in 0..turn.parts {
        match part {
            0 => vector::kick(outer, &end.force, &mut end.momentum, &mut end.path),
            _ => vector::axpy(sign * turn.inner, &end.force, &mut end.momentum),
        }
        metric.rotate(
            (turn.cos, sign * turn.sin),
            &mut end.momentum,
            (&mut end.place, scratch),
            &mut end.position,
        );
        log_density = target.value_and_gradient(
            &end.position.as_flattened()[..dim],
            &mut gradient.as_flattened_mut()[..dim],
        );
        metric.pull(gradient, &mut end.force);
        vector::axpy(1.0, &end.place, &mut end.force);
    }
    let square = vector::finish_kick(outer, &end.force, &mut end.momentum, &mut end.path);
    (log_density, 0.5 * square - log_density)
}

impl<T: Target> Trajectory for Hamiltonian<'_, T> {
    #[inline]
    fn begin(&mut self, direction: Direction) {
        self.side = usize::from(direction == Direction::Forward);
    }

    #[inline]
    fn step(&mut self) -> Result<f64, Stop> {
        Ok(self.leap())
    }

    #[inline]
    fn propose(&mut self) {
        let Workspace {
            ends,
            gradient,
            proposal,
            ..
        } = &mut *self.space;
        proposal.position.copy_from_slice(&ends[self.side].position);
        proposal.gradient.copy_from_slice(gradient);
        proposal.log_density = self.log_density;
        proposal.energy = self.energy;
        proposal.offset = ends[self.side].offset;
    }

    #[inline]
    fn mark(&mut self, place: Place) {
        let space = &mut *self.space;
        let end = &space.ends[self.side];
        let mark = match place {
            Place::First(slot) => &mut space.first[slot],
            Place::Before(slot) => &mut space.before[slot],
        };
        mark.momentum.copy_from_slice(&end.momentum);
        mark.path.copy_from_slice(&end.path);
    }

    /// p_aᵀM⁻¹s ≤ 0 or p_bᵀM⁻¹s ≤ 0 with s = ρ − ½(p_a + p_b), all of it whitened.
    #[inline]
    fn turns(&self, span: Span) -> bool {
        let space = &*self.space;
        let (near, far) = (&space.ends[self.side], &space.ends[1 - self.side]);
        // Paths run away from the start on both sides: along one side a span's path is the
        // difference of those of its ends, across the start it is the sum.
        let along = |b: &[Block], q: &[Block], a: &Mark| {
            vector::project_difference(b, &a.path, q, &a.momentum)
        };
        let across = |b: &[Block], q: &[Block]| vector::project_sum(b, &far.path, q, &far.momentum);
        let (a, b) = match span {
            Span::Whole if self.is_far() => return true,
            Span::Whole => across(&near.path, &near.momentum),
            Span::Since(slot) => along(&near.path, &near.momentum, &space.first[slot]),
            Span::SinceBefore(slot) => along(&near.path, &near.momentum, &space.before[slot]),
            Span::Between(a, b) => {
                let end = &space.first[b];
                along(&end.path, &end.momentum, &space.first[a])
            }
            Span::FarTo(slot) => across(&space.first[slot].path, &space.first[slot].momentum),
        };
        a <= 0.0 || b <= 0.0
    }

    #[inline]
    fn join(&mut self) {
        std::mem::swap(&mut self.space.proposal, &mut self.space.candidate);
    }
}

pub(crate) mod flight;
pub(crate) mod walnuts;

#[cfg(test)]
mod tests;
