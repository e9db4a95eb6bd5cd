//! The tree over the integers: every choice enumerated, so detailed balance holds exactly or not.

use super::*;
use std::collections::BTreeMap;

/// A small hash, to make arbitrary weights and turning rules.
fn hash(values: &[i64]) -> u64 {
    values.iter().fold(0x9E37_79B9_7F4A_7C15, |h, &v| {
        let x = (h ^ v as u64).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x ^ (x >> 29)
    })
}

/// States are integers, a span is the pair of its ends.
struct Integers {
    case: i64,
    ends: [i64; 2],
    forward: usize,
    first: [i64; 8],
    before: [i64; 8],
    proposal: i64,
    candidate: i64,
    log_weight_start: f64,
}

/// Log weight of state `i`: within ±2, or (one state in 16) forbidden.
fn log_weight(case: i64, i: i64) -> f64 {
    let h = hash(&[case, i]);
    if h.is_multiple_of(16) {
        return f64::NEG_INFINITY;
    }
    // One case in four has huge weights, so that the rescaling is exercised too.
    let size = if case % 4 == 3 { 900.0 } else { 4.0 };
    size * ((h >> 11) as f64 / (1u64 << 53) as f64 - 0.5)
}

fn span_turns(case: i64, a: i64, b: i64) -> bool {
    hash(&[case, a.min(b), a.max(b), 7]).is_multiple_of(4)
}

impl Trajectory for Integers {
    fn begin(&mut self, direction: Direction) {
        self.forward = usize::from(direction == Direction::Forward);
    }
    fn step(&mut self) -> Result<f64, Stop> {
        self.ends[self.forward] += 2 * self.forward as i64 - 1;
        Ok(log_weight(self.case, self.ends[self.forward]) - self.log_weight_start)
    }
    fn propose(&mut self) {
        self.proposal = self.ends[self.forward];
    }
    fn mark(&mut self, place: Place) {
        let here = self.ends[self.forward];
        match place {
            Place::First(slot) => self.first[slot] = here,
            Place::Before(slot) => self.before[slot] = here,
        }
    }
    fn turns(&self, span: Span) -> bool {
        let here = self.ends[self.forward];
        let (a, b) = match span {
            Span::Whole => (self.ends[0], self.ends[1]),
            Span::Since(slot) => (self.first[slot], here),
            Span::SinceBefore(slot) => (self.before[slot], here),
            Span::Between(a, b) => (self.first[a], self.first[b]),
            Span::FarTo(slot) => (self.ends[1 - self.forward], self.first[slot]),
        };
        span_turns(self.case, a, b)
    }
    fn join(&mut self) {
        self.candidate = self.proposal;
    }
}

/// Answers from a script, and lists all scripts one after another.
#[derive(Default)]
struct Enumerator {
    script: Vec<bool>,
    at: usize,
    probability: f64,
}

impl Enumerator {
    fn choose(&mut self, probability: f64) -> bool {
        if probability <= 0.0 || probability >= 1.0 || probability.is_nan() {
            return probability >= 1.0;
        }
        if self.at == self.script.len() {
            self.script.push(true);
        }
        let yes = self.script[self.at];
        self.at += 1;
        self.probability *= if yes { probability } else { 1.0 - probability };
        yes
    }
    /// Moves to the next script; false after the last.
    fn next(&mut self) -> bool {
        self.script.truncate(self.at);
        while self.script.last() == Some(&false) {
            self.script.pop();
        }
        match self.script.last_mut() {
            Some(last) => *last = false,
            None => return false,
        }
        true
    }
}

impl Oracle for Enumerator {
    fn accept(&mut self, probability: f64) -> bool {
        self.choose(probability)
    }
    fn direction(&mut self) -> Direction {
        if self.choose(0.5) {
            Direction::Forward
        } else {
            Direction::Backward
        }
    }
}

/// Trajectories that end when they turn.
fn up_to(max_depth: u32) -> Reach {
    Reach {
        max_depth,
        past_turn: false,
    }
}

/// The row of the transition matrix that leaves state `start`.
fn transition_row(case: i64, start: i64, reach: Reach) -> BTreeMap<i64, f64> {
    let mut row = BTreeMap::new();
    let mut oracle = Enumerator::default();
    loop {
        oracle.at = 0;
        oracle.probability = 1.0;
        let mut trajectory = Integers {
            case,
            ends: [start; 2],
            forward: 0,
            first: [i64::MIN; 8],
            before: [i64::MIN; 8],
            proposal: i64::MIN,
            candidate: start,
            log_weight_start: log_weight(case, start),
        };
        grow(&mut trajectory, &mut oracle, reach);
        *row.entry(trajectory.candidate).or_insert(0.0) += oracle.probability;
        if !oracle.next() {
            return row;
        }
    }
}

/// Largest |πᵢPᵢⱼ − πⱼPⱼᵢ| / max(πᵢ, πⱼ) over starts −16 to 16, and whether rows sum to one.
fn check_detailed_balance(case: i64, reach: Reach) {
    let rows: BTreeMap<i64, BTreeMap<i64, f64>> = (-16..=16)
        .filter(|&i| log_weight(case, i).is_finite())
        .map(|i| (i, transition_row(case, i, reach)))
        .collect();
    for (&i, row) in &rows {
        let sum: f64 = row.values().sum();
        assert!(
            (sum - 1.0).abs() < 1e-13,
            "case {case}: row {i} sums to {sum}"
        );
        for (&j, &forth) in row {
            let Some(back) = rows.get(&j) else { continue };
            let back = back.get(&i).copied().unwrap_or(0.0);
            let (a, b) = (log_weight(case, i), log_weight(case, j));
            let top = a.max(b);
            let gap = (a - top).exp() * forth - (b - top).exp() * back;
            assert!(
                gap.abs() < 1e-14,
                "case {case}: {i} and {j} differ by {gap}"
            );
        }
    }
}

/// Bound: rounding alone (worst seen 4e-16). Exact, so there is no pass rate. Catches: a leaf
/// accepted with w/(W−w), a subtree joined with W_new/(W_new + W_old) against the wrong total,
/// slots shifted by one, a turned subtree that is kept.
#[test]
fn the_tree_is_in_detailed_balance_for_arbitrary_weights_and_turning_rules() {
    for case in 0..60 {
        check_detailed_balance(case, up_to(3));
    }
}

/// As above with subtrees of eight leaves, where three slots are in use at once.
#[test]
fn detailed_balance_holds_with_three_levels_of_slots() {
    for case in [100, 103] {
        check_detailed_balance(case, up_to(4));
    }
}

/// Bound: rounding alone. Exact, so there is no pass rate. Catches: a trajectory that is ended by
/// the turn of the half it started in alone, one that goes on past a turn of a quarter, and a
/// subtree that is discarded because it turns as a whole.
#[test]
fn what_grows_past_its_turn_is_in_detailed_balance_too() {
    let past = |max_depth| Reach {
        past_turn: true,
        ..up_to(max_depth)
    };
    for case in 0..60 {
        check_detailed_balance(case, past(3));
    }
    for case in [100, 103] {
        check_detailed_balance(case, past(4));
    }
}

/// A trajectory that never turns and notes which spans were looked at.
struct Recorder {
    ends: [i64; 2],
    first: [i64; 8],
    before: [i64; 8],
    seen: std::cell::RefCell<Vec<(i64, i64)>>,
}

impl Trajectory for Recorder {
    fn begin(&mut self, _: Direction) {
        self.seen.borrow_mut().clear();
    }
    fn step(&mut self) -> Result<f64, Stop> {
        self.ends[1] += 1;
        Ok(0.0)
    }
    fn propose(&mut self) {}
    fn mark(&mut self, place: Place) {
        match place {
            Place::First(slot) => self.first[slot] = self.ends[1],
            Place::Before(slot) => self.before[slot] = self.ends[1],
        }
    }
    fn turns(&self, span: Span) -> bool {
        let (a, b) = match span {
            Span::Whole => (self.ends[0], self.ends[1]),
            Span::Since(slot) => (self.first[slot], self.ends[1]),
            Span::SinceBefore(slot) => (self.before[slot], self.ends[1]),
            Span::Between(a, b) => (self.first[a], self.first[b]),
            Span::FarTo(slot) => (self.ends[0], self.first[slot]),
        };
        self.seen.borrow_mut().push((a, b));
        false
    }
    fn join(&mut self) {}
}

/// Goes forward and accepts.
struct Yes;

impl Oracle for Yes {
    fn accept(&mut self, _: f64) -> bool {
        true
    }
    fn direction(&mut self) -> Direction {
        Direction::Forward
    }
}

/// In the last subtree of 32 leaves, states 32 to 63, and when it is joined to states 0 to 31:
/// every dyadic span once, and from eight states on each half with the state beyond it.
#[test]
fn slots_check_every_dyadic_span_once() {
    let mut trajectory = Recorder {
        ends: [0; 2],
        first: [0; 8],
        before: [0; 8],
        seen: Vec::new().into(),
    };
    let growth = grow(&mut trajectory, &mut Yes, up_to(6));
    assert_eq!(
        (growth.depth, growth.n_steps, growth.stop),
        (6, 63, Stop::Depth)
    );
    let mut expected = vec![(0, 63), (0, 32), (31, 63)];
    for size in [2, 4, 8, 16, 32] {
        for a in (32..64).step_by(size as usize) {
            expected.push((a, a + size - 1));
            if size >= 8 {
                expected.push((a, a + size / 2));
                expected.push((a + size / 2 - 1, a + size - 1));
            }
        }
    }
    let mut seen = trajectory.seen.into_inner();
    seen.sort_unstable();
    expected.sort_unstable();
    assert_eq!(seen, expected);
}

/// States whose steps come in three sizes, one permutation each; every state asks for one size on
/// the way forward and for one on the way back.
struct Sized {
    case: i64,
    /// Whether a step is only made where the way back asks for the same size.
    checks: bool,
    /// State and place of both ends, and of what is remembered.
    ends: [(i64, i64); 2],
    forward: usize,
    first: [(i64, i64); 8],
    before: [(i64, i64); 8],
    proposal: i64,
    candidate: i64,
    log_weight_start: f64,
}

const STATES: i64 = 40;

/// A permutation of the states, by rank of hashes, or its inverse.
fn permuted(case: i64, size: i64, state: i64, back: bool) -> i64 {
    let mut order: Vec<i64> = (0..STATES).collect();
    order.sort_by_key(|&s| hash(&[case, size, s, 11]));
    match back {
        false => order[state as usize],
        true => order.iter().position(|&s| s == state).expect("it is there") as i64,
    }
}

/// The size a state asks for: mostly the first.
fn asked(case: i64, state: i64, back: bool) -> i64 {
    match hash(&[case, state, i64::from(back), 13]) % 8 {
        0 => 2,
        1 | 2 => 1,
        _ => 0,
    }
}

impl Trajectory for Sized {
    fn begin(&mut self, direction: Direction) {
        self.forward = usize::from(direction == Direction::Forward);
    }
    fn step(&mut self) -> Result<f64, Stop> {
        let back = self.forward == 0;
        let (state, place) = self.ends[self.forward];
        let size = asked(self.case, state, back);
        let next = permuted(self.case, size, state, back);
        if self.checks && asked(self.case, next, !back) != size {
            return Err(Stop::Irreversible);
        }
        self.ends[self.forward] = (next, place + 2 * self.forward as i64 - 1);
        Ok(log_weight(self.case, next) - self.log_weight_start)
    }
    fn propose(&mut self) {
        self.proposal = self.ends[self.forward].0;
    }
    fn mark(&mut self, place: Place) {
        let here = self.ends[self.forward];
        match place {
            Place::First(slot) => self.first[slot] = here,
            Place::Before(slot) => self.before[slot] = here,
        }
    }
    fn turns(&self, span: Span) -> bool {
        let here = self.ends[self.forward];
        let (a, b) = match span {
            Span::Whole => (self.ends[0], self.ends[1]),
            Span::Since(slot) => (self.first[slot], here),
            Span::SinceBefore(slot) => (self.before[slot], here),
            Span::Between(a, b) => (self.first[a], self.first[b]),
            Span::FarTo(slot) => (self.ends[1 - self.forward], self.first[slot]),
        };
        let (a, b) = if a.1 < b.1 { (a, b) } else { (b, a) };
        hash(&[self.case, a.0, b.0, b.1 - a.1, 17]).is_multiple_of(5)
    }
    fn join(&mut self) {
        self.candidate = self.proposal;
    }
}

/// The largest |πᵢPᵢⱼ − πⱼPⱼᵢ| / max(πᵢ, πⱼ), and how many trajectories ended at a step that does
/// not lead back.
fn sized_imbalance(case: i64, checks: bool) -> (f64, usize) {
    let mut ended = 0;
    let mut row = |start: i64| {
        let mut row = vec![0.0; STATES as usize];
        let mut oracle = Enumerator::default();
        loop {
            oracle.at = 0;
            oracle.probability = 1.0;
            let mut trajectory = Sized {
                case,
                checks,
                ends: [(start, 0); 2],
                forward: 0,
                first: [(-1, 0); 8],
                before: [(-1, 0); 8],
                proposal: -1,
                candidate: start,
                log_weight_start: log_weight(case, start),
            };
            let growth = grow(&mut trajectory, &mut oracle, up_to(3));
            ended += usize::from(growth.stop == Stop::Irreversible);
            row[trajectory.candidate as usize] += oracle.probability;
            if !oracle.next() {
                return row;
            }
        }
    };
    let states = (0..STATES).filter(|&i| log_weight(case, i).is_finite());
    let rows: BTreeMap<i64, Vec<f64>> = states.map(|i| (i, row(i))).collect();
    let mut worst = 0.0f64;
    for (&i, forth) in &rows {
        for (&j, back) in &rows {
            let (a, b) = (log_weight(case, i), log_weight(case, j));
            let top = a.max(b);
            let gap = (a - top).exp() * forth[j as usize] - (b - top).exp() * back[i as usize];
            worst = worst.max(gap.abs());
        }
    }
    (worst, ended)
}

/// Bound: rounding alone. Exact, so there is no pass rate. Without the question whether the way
/// back asks for the same size, the same test sees an imbalance a million times as large and more in
/// every case.
#[test]
fn steps_of_several_sizes_are_in_detailed_balance_if_the_way_back_is_checked() {
    for case in [0, 1, 2, 3, 7, 12] {
        let (imbalance, ended) = sized_imbalance(case, true);
        assert!(imbalance < 1e-14, "case {case}: {imbalance}");
        assert!(ended > 20, "case {case}: {ended} ends");
        let (imbalance, _) = sized_imbalance(case, false);
        assert!(imbalance > 1e-8, "case {case}, unchecked: {imbalance}");
    }
}
