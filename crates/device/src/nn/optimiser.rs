//! AdamW, and what goes before it: norms and clipping.

use super::number::{Kernel, Number};
use super::pool::{Common, Pool};
use super::wide::Wide;

/// Numbers of a job.
const PIECE: usize = 16_384;

/// Σ x², in f64, summed in pieces of fixed size whatever the threads.
pub fn norm_squared<E: Number>(values: &[E]) -> f64 {
    let piece = |part: &[E]| part.iter().map(|x| x.to_f64() * x.to_f64()).sum::<f64>();
    values.chunks(PIECE).map(piece).sum()
}

/// x ← factor·x.
pub fn scale<E: Number>(values: &mut [E], factor: E) {
    for value in values {
        *value = *value * factor;
    }
}

/// One step of AdamW: m ← β1 m + (1−β1) g, v ← β2 v + (1−β2) g²,
/// θ ← θ − rate (m̂ / (√v̂ + ε) + λ θ), with m̂ = m/(1−β1ᵗ), v̂ = v/(1−β2ᵗ).
///
/// All parameters decay. Source: Loshchilov and Hutter, "Decoupled weight decay
/// regularization", 2019; signs and order as in optax.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamW {
    /// β1.
    pub beta1: f64,
    /// β2.
    pub beta2: f64,
    /// ε.
    pub epsilon: f64,
    /// λ.
    pub weight_decay: f64,
}

impl Default for AdamW {
    fn default() -> Self {
        AdamW {
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-8,
            weight_decay: 1e-5,
        }
    }
}

impl AdamW {
    /// Step `t`, from 1, with gradient `g`·`factor` (a division by the number of samples, a
    /// clipping).
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn step<E: Number>(
        &self,
        pool: &mut Pool,
        t: u64,
        rate: f64,
        factor: f64,
        parameters: &mut [E],
        gradient: &[E],
        m: &mut [E],
        v: &mut [E],
    ) {
        let n = parameters.len();
        assert!(gradient.len() == n && m.len() == n && v.len() == n);
        let correct = |beta: f64| 1.0 / (1.0 - libm::pow(beta, t as f64));
        let constants = [
            self.beta1,
            1.0 - self.beta1,
            self.beta2,
            1.0 - self.beta2,
            correct(self.beta1),
            correct(self.beta2),
            self.epsilon,
            self.weight_decay,
            -rate,
            factor,
        ]
        .map(E::from_f64);
        let (parameters, m, v) = (Common::new(parameters), Common::new(m), Common::new(v));
        pool.run(&|crew| {
            crew.each(n.div_ceil(PIECE), |piece| {
                let start = piece * PIECE;
                let len = PIECE.min(n - start);
                // SAFETY: pieces do not overlap.
                let (parameters, m, v) = unsafe {
                    (
                        parameters.slice_mut(start, len),
                        m.slice_mut(start, len),
                        v.slice_mut(start, len),
                    )
                };
                let gradient = &gradient[start..start + len];
                E::run(
                    crew.level(),
                    Step {
                        parameters,
                        gradient,
                        m,
                        v,
                        constants,
                    },
                );
            });
        });
    }
}

struct Step<'a, E> {
    parameters: &'a mut [E],
    gradient: &'a [E],
    m: &'a mut [E],
    v: &'a mut [E],
    constants: [E; 10],
}

impl<E: Number> Kernel<E> for Step<'_, E> {
    #[inline(always)]
    fn run<W: Wide<E>>(self) {
        let [
            b1,
            c1,
            b2,
            c2,
            hat1,
            hat2,
            epsilon,
            decay,
            minus_rate,
            factor,
        ] = self.constants;
        let (b1, c1, b2, c2) = (W::splat(b1), W::splat(c1), W::splat(b2), W::splat(c2));
        let (hat1, hat2, epsilon) = (W::splat(hat1), W::splat(hat2), W::splat(epsilon));
        let (decay, minus_rate, factor) = (W::splat(decay), W::splat(minus_rate), W::splat(factor));
        let mut at = 0;
        while at < self.gradient.len() {
            let g = W::read(&self.gradient[at..]).mul(factor);
            let m = W::read(&self.m[at..]).mul(b1).add(g.mul(c1));
            let v = W::read(&self.v[at..]).mul(b2).add(g.mul(g).mul(c2));
            m.write(&mut self.m[at..]);
            v.write(&mut self.v[at..]);
            let x = W::read(&self.parameters[at..]);
            let step = m.mul(hat1).div(v.mul(hat2).sqrt().add(epsilon));
            let step = step.add(x.mul(decay));
            step.fma(minus_rate, x).write(&mut self.parameters[at..]);
            at += 16;
        }
    }
}
