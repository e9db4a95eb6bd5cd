//! What is wrong with numbers that a file gives for good: missing ones, fill values that it does
//! not declare, units that the numbers belie.

use super::archive::{Archive, Channel};

/// Numbers of this size are fill values: NetCDF's own is 9.96921e36, CMIP's 1e20.
const HUGE: f64 = 1e15;
/// Numbers by which text formats and packed integers say that nothing was measured.
pub(super) const FILLS: [f32; 9] = [
    -9999.0, -999.0, -99999.0, -999.9, -9999.9, 9999.0, 99999.0, -32768.0, -32767.0,
];

/// True for what can be meant as a number: finite, and no fill value by its size.
pub(super) fn is_number(x: f32) -> bool {
    f64::from(x.abs()) < HUGE
}

/// The numbers of one channel: those of `values` from `channel` on, each `stride`-th;
/// place by place, time by time.
pub(super) struct Numbers<'a> {
    channel: &'a Channel,
    values: &'a [f32],
    first: usize,
    stride: usize,
    archive: &'a Archive,
}

/// Least, mean and greatest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Least.
    pub min: f64,
    /// Mean.
    pub mean: f64,
    /// Greatest.
    pub max: f64,
}

impl Numbers<'_> {
    /// Every one.
    fn all(&self) -> impl Iterator<Item = f32> + '_ {
        let own = self.values.get(self.first..).unwrap_or(&[]);
        own.iter().step_by(self.stride).copied()
    }

    /// When and where the first number lies that is meant, how many there are at that time, and
    /// how many of all.
    fn place(&self, is_meant: impl Fn(f32) -> bool) -> Option<(usize, usize, usize, String)> {
        let n = self.archive.n_nodes();
        let at = self.all().position(&is_meant)?;
        let (time, node) = (at / n, at % n);
        let (lat, lon) = self.archive.place(node);
        let here = self.all().skip(time * n).take(n).filter(|x| is_meant(*x));
        let count = self.all().filter(|x| is_meant(*x)).count();
        let all = self.all().count();
        let share = 100.0 * count as f64 / all as f64;
        Some((
            here.count(),
            time,
            n,
            format!("first at {lat} N {lon} E; {count} of all {all} values, {share:.3} %"),
        ))
    }

    /// The spread of the numbers, which a sweep has `seen`.
    ///
    /// # Errors
    /// Some are missing, not finite, or fill values: the first time, and how many, which and where.
    pub(super) fn spread(&self, seen: &Seen) -> Result<Spread, (usize, String)> {
        let label = self.channel.label();
        if seen.n_finite < seen.n
            && let Some((bad, time, n, place)) = self.place(|x| !x.is_finite())
        {
            let when = self.archive.times[time].iso();
            let message = format!(
                "{label} has {bad} of {n} values missing or not finite at {when} ({place}); nothing is \
                 guessed: ⟨missing mask⟩ leaves them out of losses and scores, ⟨missing fill⟩ fills them, \
                 ⟨missing leave-out⟩ leaves these times out"
            );
            return Err((time, message));
        }
        if let Some(fill) = seen.fills().next()
            && let Some((bad, time, n, place)) = self.place(|x| x == fill)
        {
            let when = self.archive.times[time].iso();
            let message = format!(
                "{label} is {fill:e} in {bad} of {n} values at {when} ({place}): that is a fill \
                 value which the file does not declare; name it in the attribute _FillValue, or \
                 treat it as missing by ⟨missing mask⟩, ⟨missing fill⟩ or ⟨missing leave-out⟩"
            );
            return Err((time, message));
        }
        Ok(Spread {
            min: seen.min,
            mean: seen.sum / seen.n_finite.max(1) as f64,
            max: seen.max,
        })
    }
}

/// What a sweep over all records has seen of a channel.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// Numbers, and those of them that are finite.
    pub(super) n: usize,
    pub(super) n_finite: usize,
    /// Least, greatest and sum of the finite ones.
    min: f64,
    max: f64,
    sum: f64,
    /// Least and greatest of those that cannot be fill values.
    regular: (f64, f64),
    /// Different numbers that may be fill values, in the order in which they come, and how many
    /// there are of each.
    suspects: Vec<(f32, usize)>,
}

/// Suspects of a channel that are kept; a channel of garbage has no end of them.
const SUSPECTS_MAX: usize = 16;

impl Seen {
    /// Before the first number.
    pub(super) fn nothing() -> Self {
        let (low, high) = (f64::INFINITY, f64::NEG_INFINITY);
        Seen {
            n: 0,
            n_finite: 0,
            min: low,
            max: high,
            sum: 0.0,
            regular: (low, high),
            suspects: Vec::new(),
        }
    }

    /// Takes a number in.
    pub(super) fn take(&mut self, x: f32) {
        self.n += 1;
        if !x.is_finite() {
            return;
        }
        self.n_finite += 1;
        let wide = f64::from(x);
        self.sum += wide;
        (self.min, self.max) = (self.min.min(wide), self.max.max(wide));
        if is_number(x) && !FILLS.contains(&x) {
            self.regular = (self.regular.0.min(wide), self.regular.1.max(wide));
        } else if let Some((_, n)) = self.suspects.iter_mut().find(|(other, _)| *other == x) {
            *n += 1;
        } else if self.suspects.len() < SUSPECTS_MAX {
            self.suspects.push((x, 1));
        }
    }

    /// Numbers that must be fill values: by their size, or because they are some of those that are
    /// used so and lie far from all others.
    pub(super) fn fills(&self) -> impl Iterator<Item = f32> + '_ {
        self.counted_fills().map(|(x, _)| x)
    }

    /// The same, with how many there are of each.
    pub(super) fn counted_fills(&self) -> impl Iterator<Item = (f32, usize)> + '_ {
        let (low, high) = self.regular;
        // A number of the list is meant as it stands where it lies among the others.
        let apart = move |x: f32| {
            let x = f64::from(x);
            !(low <= high) || (low - x).max(x - high) > high - low
        };
        let all = self.suspects.iter().copied();
        all.filter(move |(x, _)| !is_number(*x) || apart(*x))
    }

    /// How many of the numbers are none, and least, greatest and sum of the others.
    pub(super) fn without_fills(&self) -> (usize, f64, f64, f64) {
        let (mut n, mut sum) = (self.n - self.n_finite, self.sum);
        for (x, count) in self.counted_fills() {
            n += count;
            sum -= f64::from(x) * count as f64;
        }
        let (low, high) = match n == self.n - self.n_finite {
            true => (self.min, self.max),
            false => self.regular,
        };
        (n, low, high, sum)
    }
}

impl Archive {
    /// Looks at all numbers once, record by record; what it saw of each channel.
    pub(super) fn sweep(&self) -> Vec<Seen> {
        let n = self.channels.len();
        let mut seen = vec![Seen::nothing(); n];
        for numbers in self.values.chunks_exact(n) {
            seen.iter_mut().zip(numbers).for_each(|(s, &x)| s.take(x));
        }
        seen
    }

    /// The numbers of a channel.
    pub(super) fn numbers(&self, channel: usize) -> Numbers<'_> {
        Numbers {
            channel: &self.channels[channel],
            values: &self.values,
            first: channel,
            stride: self.channels.len(),
            archive: self,
        }
    }
}

/// What the numbers of a channel look like, where that is not what its units say.
pub(crate) fn belied(channel: &Channel, spread: &Spread) -> Option<String> {
    let units = channel.units.as_str();
    let mean = spread.mean;
    let kelvin = ["K", "kelvin", "Kelvin", "degK"].contains(&units);
    let celsius = ["degC", "°C", "C", "celsius", "Celsius", "deg_C"].contains(&units);
    let looks = if kelvin && (-100.0..100.0).contains(&mean) && spread.max < 150.0 {
        "°C"
    } else if celsius && mean > 150.0 {
        "K"
    } else if units == "Pa" && (300.0..1100.0).contains(&mean) {
        "hPa"
    } else if ["hPa", "mbar", "millibars"].contains(&units) && mean > 30_000.0 {
        "Pa"
    } else if channel.variable == "GPH" && geopotential(channel.level?, mean) {
        "geopotential in m2 s-2, which is g times the height"
    } else {
        return None;
    };
    Some(format!(
        "{} is said to be in {units}, and its numbers ({} to {}) look like {looks}",
        channel.label(),
        spread.min,
        spread.max
    ))
}

/// True if a mean is near g times the height of a level in the standard atmosphere.
fn geopotential(level_hpa: f64, mean: f64) -> bool {
    let height = 44_330.0 * (1.0 - libm::pow(level_hpa / 1013.25, 0.1903));
    level_hpa < 900.0 && (7.0..13.0).contains(&(mean / height))
}
