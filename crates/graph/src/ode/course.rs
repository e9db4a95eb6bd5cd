//! The course of a solution: which steps are taken, and what is read off between them.

use super::{Layout, Method, POWERS, Piece, Tolerance};

/// What a device does for one lane of an equation.
pub trait Machine {
    /// Runs a piece of straight code on the numbers of the lane.
    fn run(&mut self, piece: Piece);
    /// The numbers of the lane, as [`Layout`] has them.
    fn scratch(&mut self) -> &mut [f64];
    /// What a kick adds to a number of the state.
    fn kick(&self, number: usize, kick: usize) -> f64;
}

/// An array of which a lane reads every so many.
#[derive(Clone, Copy, Debug)]
pub struct Strided<'a> {
    /// The array, from the lane's first number on.
    pub data: &'a [f64],
    /// From one to the next.
    pub stride: usize,
}

impl<'a> Strided<'a> {
    /// Lane `lane` of the `lanes` that stand side by side in `data`, or that share all of it.
    pub fn of_lane(data: &'a [f64], is_laned: bool, lane: usize, lanes: usize) -> Self {
        match is_laned {
            true => Strided {
                data: &data[lane..],
                stride: lanes,
            },
            false => Strided { data, stride: 1 },
        }
    }

    /// Its `k`th number.
    pub fn at(&self, k: usize) -> f64 {
        self.data[k * self.stride]
    }
}

/// The times of one lane.
#[derive(Clone, Copy, Debug)]
pub struct Arrays<'a> {
    /// The first time.
    pub from: f64,
    /// The times asked for, ascending.
    pub times: Strided<'a>,
    /// The times of kicks, ascending.
    pub kicks: Strided<'a>,
}

/// How steps are chosen, for one lane after the other.
#[derive(Clone, Copy, Debug)]
pub struct Course<'a> {
    /// Sizes and places.
    pub layout: Layout,
    /// How a step is made.
    pub method: Method,
    /// How exact the solution is.
    pub tolerance: Tolerance,
    /// The lane.
    pub lane: usize,
    /// Its times.
    pub arrays: Arrays<'a>,
}

/// The part of the allowed error that a step aims at, in its length.
const SAFETY: f64 = 0.9;
/// The least and the greatest change of a step's length.
const LEAST: f64 = 0.2;
const MOST: f64 = 10.0;
/// Attempts for each step that can be taken.
const ATTEMPTS: usize = 10;
/// A step this small beside the time does not move it.
const STANDSTILL: f64 = 1e-14;
/// A step this close to where it has to end goes there.
const NEARLY: f64 = 1.000_001;

/// How far a solution, or its adjoint, has come.
struct Position {
    t: f64,
    /// Times asked for that are behind, in the order of time.
    asked: usize,
    /// Kicks that are behind.
    kicked: usize,
    /// Steps that are behind.
    steps: usize,
}

impl Course<'_> {
    /// Solves one lane, whose start stands in the scratch. `out` takes the numbers asked for, of all
    /// lanes; `record` the steps of this lane. What could not be reached is NaN.
    ///
    /// At a time asked for at which there is a kick, it has happened.
    pub fn solve(&self, machine: &mut impl Machine, out: &mut [f64], record: &mut [f64]) {
        let at = self.layout;
        let mut now = Position {
            t: self.arrays.from,
            asked: 0,
            kicked: 0,
            steps: 0,
        };
        let mut h = f64::NAN;
        let mut attempts = ATTEMPTS * at.most_steps;
        let (mut is_new, mut failed) = (true, false);
        loop {
            is_new |= self.arrive(machine, out, &mut now);
            if now.asked == at.times {
                break;
            }
            let end = self.end(&now);
            machine.scratch()[at.time()] = now.t;
            if std::mem::take(&mut is_new) {
                machine.run(Piece::Rate);
                h = self.first_step(machine.scratch());
            }
            let reaches = now.t + h * NEARLY >= end;
            let (tried, after) = match reaches {
                true => (end - now.t, end),
                false => (h, now.t + h),
            };
            let moves = tried > STANDSTILL * now.t.abs() && after > now.t;
            if !moves || now.steps == at.most_steps || attempts == 0 {
                failed = true;
                break;
            }
            attempts -= 1;
            machine.scratch()[at.time() + 1] = tried;
            let is_asked = self.arrays.times.at(now.asked) < after;
            machine.run(match is_asked {
                true => Piece::WholeStep,
                false => Piece::Step,
            });
            let error = machine.scratch()[at.error()];
            let accepted = error <= 1.0;
            if accepted {
                self.accept(machine.scratch(), (out, record), &mut now, (tried, after));
            }
            let next = tried * self.change(error);
            // A step that was cut short says little against a longer one.
            h = if accepted && reaches && next < h {
                h
            } else {
                next
            };
        }
        for asked in now.asked..at.times {
            (0..at.numbers).for_each(|number| out[self.place(number, asked)] = f64::NAN);
        }
        record[0] = if failed { -1.0 } else { now.steps as f64 };
    }

    /// Kicks and what is asked for at a time between steps; whether there was a kick.
    fn arrive(&self, machine: &mut impl Machine, out: &mut [f64], now: &mut Position) -> bool {
        let at = self.layout;
        let before = now.kicked;
        while now.kicked < at.kicks && self.arrays.kicks.at(now.kicked) <= now.t {
            for number in 0..at.numbers {
                let by = machine.kick(number, now.kicked);
                machine.scratch()[at.state() + number] += by;
            }
            now.kicked += 1;
        }
        while now.asked < at.times && self.arrays.times.at(now.asked) <= now.t {
            for number in 0..at.numbers {
                out[self.place(number, now.asked)] = machine.scratch()[at.state() + number];
            }
            now.asked += 1;
        }
        now.kicked > before
    }

    /// The time at which a step has to end: of the next kick, or the last that is asked for.
    fn end(&self, now: &Position) -> f64 {
        let last = self.arrays.times.at(self.layout.times - 1);
        match now.kicked < self.layout.kicks {
            true => self.arrays.kicks.at(now.kicked).min(last),
            false => last,
        }
    }

    /// Records a step, reads off what is asked for within it, and goes to its end.
    fn accept(
        &self,
        scratch: &mut [f64],
        (out, record): (&mut [f64], &mut [f64]),
        now: &mut Position,
        (h, after): (f64, f64),
    ) {
        let at = self.layout;
        let row = &mut record[self.row(now.steps)];
        (row[0], row[1]) = (now.t, h);
        row[2..].copy_from_slice(&scratch[at.state()..][..at.numbers]);
        now.steps += 1;
        while now.asked < at.times && self.arrays.times.at(now.asked) < after {
            let x = (self.arrays.times.at(now.asked) - now.t) / h;
            for number in 0..at.numbers {
                out[self.place(number, now.asked)] = self.between(scratch, number, x);
            }
            now.asked += 1;
        }
        scratch.copy_within(at.next()..at.next() + at.numbers, at.state());
        scratch.copy_within(at.next_rate()..at.next_rate() + at.numbers, at.rate());
        now.t = after;
    }

    /// The adjoints of one lane, from those of what was asked for, `d`, and the `record` of its steps.
    /// `out` takes the rows of [`Layout::adjoints`], lanes side by side.
    pub fn adjoint(&self, machine: &mut impl Machine, record: &[f64], d: &[f64], out: &mut [f64]) {
        let at = self.layout;
        let row = |k: usize| k * at.lanes + self.lane;
        let failed = record[0] < 0.0;
        let fill = if failed { f64::NAN } else { 0.0 };
        (0..at.adjoints()).for_each(|k| out[row(k)] = fill);
        if failed || at.times == 0 {
            return;
        }
        let last = self.arrays.times.at(at.times - 1);
        let kicks = (0..at.kicks).take_while(|&k| self.arrays.kicks.at(k) <= last);
        let mut now = Position {
            t: last,
            asked: at.times,
            kicked: kicks.count(),
            steps: record[0] as usize,
        };
        machine.scratch()[at.adjoint()..][..at.numbers].fill(0.0);
        self.leave(machine.scratch(), d, out, &mut now);
        while now.steps > 0 {
            self.back(machine, &record[self.row(now.steps - 1)], d, &mut now);
            let reads = at.numbers * (1 + at.kicks);
            let made = at.made() + at.numbers;
            (0..at.reads).for_each(|k| out[row(reads + k)] += machine.scratch()[made + k]);
            self.leave(machine.scratch(), d, out, &mut now);
        }
        for number in 0..at.numbers {
            out[row(number)] = machine.scratch()[at.adjoint() + number];
        }
    }

    /// The adjoint of [`Course::arrive`].
    fn leave(&self, scratch: &mut [f64], d: &[f64], out: &mut [f64], now: &mut Position) {
        let at = self.layout;
        let is_start = now.steps == 0;
        while now.asked > 0 && (is_start || self.arrays.times.at(now.asked - 1) >= now.t) {
            now.asked -= 1;
            for number in 0..at.numbers {
                scratch[at.adjoint() + number] += d[self.place(number, now.asked)];
            }
        }
        while now.kicked > 0 && (is_start || self.arrays.kicks.at(now.kicked - 1) >= now.t) {
            now.kicked -= 1;
            for number in 0..at.numbers {
                let row = at.numbers + number * at.kicks + now.kicked;
                out[row * at.lanes + self.lane] = scratch[at.adjoint() + number];
            }
        }
    }

    /// The adjoint of a step, from its row of the record.
    fn back(&self, machine: &mut impl Machine, row: &[f64], d: &[f64], now: &mut Position) {
        let at = self.layout;
        let (t, h, numbers) = (row[0], row[1], at.numbers);
        let scratch = machine.scratch();
        scratch[at.state()..][..numbers].copy_from_slice(&row[2..]);
        scratch[at.time()] = t;
        scratch[at.time() + 1] = h;
        let polynomial = at.adjoint_of_polynomial();
        scratch[polynomial..][..POWERS * numbers].fill(0.0);
        let first = now.asked;
        while now.asked > 0 && self.arrays.times.at(now.asked - 1) > t {
            now.asked -= 1;
            let x = (self.arrays.times.at(now.asked) - t) / h;
            for number in 0..numbers {
                let d = d[self.place(number, now.asked)];
                let mut power = x;
                for k in 0..POWERS {
                    scratch[polynomial + k * numbers + number] += d * power;
                    power *= x;
                }
            }
        }
        machine.run(match now.asked < first {
            true => Piece::WholeAdjoint,
            false => Piece::Adjoint,
        });
        let scratch = machine.scratch();
        for number in 0..numbers {
            let asked = (now.asked..first).rev();
            let before = scratch[at.made() + number];
            let sum = asked.fold(before, |sum, k| sum + d[self.place(number, k)]);
            scratch[at.adjoint() + number] = sum;
        }
        now.steps -= 1;
        now.t = t;
    }

    /// Where a step stands in the record.
    fn row(&self, step: usize) -> std::ops::Range<usize> {
        let start = 1 + step * (self.layout.numbers + 2);
        start..start + self.layout.numbers + 2
    }

    /// Where a number asked for stands.
    fn place(&self, number: usize, asked: usize) -> usize {
        (number * self.layout.times + asked) * self.layout.lanes + self.lane
    }

    /// A number of the state at t₀ + xh.
    fn between(&self, scratch: &[f64], number: usize, x: f64) -> f64 {
        let at = self.layout;
        let q = |power: usize| scratch[at.polynomial() + power * at.numbers + number];
        let mut sum = q(POWERS - 1);
        for power in (0..POWERS - 1).rev() {
            sum = sum * x + q(power);
        }
        scratch[at.state() + number] + x * sum
    }

    /// A first length: a step along the rate moves the state by a hundredth.
    fn first_step(&self, scratch: &[f64]) -> f64 {
        let at = self.layout;
        let (mut state, mut rate) = (0.0, 0.0);
        for number in 0..at.numbers {
            let (y, k) = (scratch[at.state() + number], scratch[at.rate() + number]);
            let allowed = self.tolerance.absolute + self.tolerance.relative * y.abs();
            state += (y / allowed) * (y / allowed);
            rate += (k / allowed) * (k / allowed);
        }
        let n = at.numbers as f64;
        let (state, rate) = ((state / n).sqrt(), (rate / n).sqrt());
        match state < 1e-5 || rate < 1e-5 {
            true => 1e-6,
            false => 0.01 * state / rate,
        }
    }

    /// By how much the length of a step changes after the mean square `error`. Roots in place of
    /// powers are exactly rounded everywhere: error^(−3/16) for order 5, error^(−1/4) for order 4.
    fn change(&self, error: f64) -> f64 {
        let fourth = error.sqrt().sqrt().sqrt();
        let root = match self.method {
            Method::Explicit => {
                let eighth = fourth.sqrt();
                eighth * eighth.sqrt()
            }
            Method::Stiff => fourth,
        };
        let change = SAFETY / root;
        match change {
            c if c >= MOST => MOST,
            c if c > LEAST => c,
            // Also of an error that is no number.
            _ => LEAST,
        }
    }
}
