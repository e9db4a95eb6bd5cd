//! Runs that stop and go on are the run that never stopped.

use super::super::targets::Known;
use super::super::until::FIRST_LOOK;
use super::super::{
    Adapt, Block, CoordinateMap, MetricKind, Next, Plates, Run, Sampler, Silent, Target, Until,
    sample, sample_in_blocks,
};
use super::*;
use std::sync::atomic::AtomicBool;

/// A normal whose coordinates change twice in warm-up; they are what it saves.
#[derive(Clone)]
struct Moving {
    scale: f64,
    offers: u32,
}

impl Posterior for Moving {
    type Target = Known;
    fn dim(&self) -> usize {
        5
    }
    fn target(&self) -> Known {
        let Known::Normal { sd, mirror } = Known::normal(5, 100.0, true) else {
            unreachable!("it is a normal")
        };
        let sd = sd.iter().map(|s| s * self.scale).collect();
        Known::Normal { sd, mirror }
    }
    fn plates(&self) -> Plates {
        vec![vec![vec![4, 0], vec![1, 3]]]
    }
    fn coordinates(&self) -> Vec<u8> {
        let mut bytes = self.scale.to_le_bytes().to_vec();
        bytes.extend(self.offers.to_le_bytes());
        bytes
    }
    fn restore(&mut self, bytes: &[u8]) -> Result<()> {
        let (scale, offers) = bytes.split_at(8);
        self.scale = f64::from_le_bytes(scale.try_into().expect("eight bytes"));
        self.offers = u32::from_le_bytes(offers.try_into().expect("four bytes"));
        Ok(())
    }
    fn recoordinate(&mut self, _: &[f64], _: &[f64], _: bool) -> Option<CoordinateMap> {
        self.offers += 1;
        (self.offers % 2 == 1).then(|| {
            self.scale *= 3.0;
            Box::new(|q: &mut [f64]| q.iter_mut().for_each(|q| *q *= 3.0)) as CoordinateMap
        })
    }
}

fn moving() -> Moving {
    Moving {
        scale: 1.0,
        offers: 0,
    }
}

const TUNE: usize = 120;
const DRAWS: usize = 60;

fn settings(metric: MetricKind, adapt: Adapt) -> Settings {
    Settings {
        tune: TUNE,
        draws: DRAWS,
        metric,
        adapt,
        keep_warmup: true,
        seed: 5,
        ..Settings::default()
    }
}

fn whole(settings: &Settings) -> Run {
    whole_of(moving(), settings)
}

fn whole_of<P: Posterior>(mut posterior: P, settings: &Settings) -> Run {
    let run = sample(&mut posterior, settings, &Silent, &AtomicBool::new(false));
    run.expect("it starts")
}

/// Goes on from `from` until `at` transitions of the whole run are done; what it saved last.
fn part(settings: &Settings, from: Option<&Checkpoint>, at: usize) -> (Run, Checkpoint) {
    part_of(moving(), settings, from, at)
}

fn part_of<P: Posterior>(
    mut posterior: P,
    settings: &Settings,
    from: Option<&Checkpoint>,
    at: usize,
) -> (Run, Checkpoint) {
    let mut saved = None;
    let mut blocks = |block: &Block<'_>| {
        let before = if block.phase == Phase::Sampling {
            settings.tune
        } else {
            0
        };
        let done = before + block.done;
        saved = Some(block.checkpoint());
        match at.saturating_sub(done) {
            0 => Next::Stop,
            left => Next::After(left),
        }
    };
    let stop = AtomicBool::new(false);
    let run = sample_in_blocks(&mut posterior, settings, &Silent, &stop, from, &mut blocks);
    (run.expect("it goes on"), saved.expect("blocks were shown"))
}

/// All that a run gives, as bits.
fn bits(runs: &[&Run]) -> Vec<u64> {
    let mut bits = Vec::new();
    for chain in 0..4 {
        let mut whole = Writer::new();
        let mut columns = super::super::Statistics::default();
        for run in runs {
            let draws = &run.chains[chain];
            draws.positions.iter().for_each(|x| bits.push(x.to_bits()));
            columns.extend(&draws.statistics);
        }
        let last = runs.last().expect("there are runs");
        if let Some(warmup) = &last.warmup {
            columns.extend(&warmup[chain].statistics);
            bits.extend(warmup[chain].positions.iter().map(|x| x.to_bits()));
        }
        columns.write(&mut whole);
        bits.extend(whole.finish().iter().map(|b| u64::from(*b)));
        bits.push(last.step_sizes[chain].to_bits());
        bits.extend(last.variances[chain].iter().map(|x| x.to_bits()));
    }
    let last = runs.last().expect("there are runs");
    bits.extend([last.gradients, last.warmup_gradients]);
    bits
}

/// Exact, at points inside windows, at their ends, at both ends of the warm-up and of the run, on
/// one, two and four threads. Catches: anything left out of a checkpoint, an estimate made twice
/// at a window's end, a metric saved before its square root, coordinates that are not restored.
#[test]
fn a_run_that_stops_and_goes_on_makes_the_draws_of_the_whole() {
    for (metric, adapt) in [
        (MetricKind::Diagonal, Adapt::Pooled),
        (MetricKind::Dense, Adapt::PerChain),
        (MetricKind::Dense, Adapt::Pooled),
        (MetricKind::LowRank, Adapt::Pooled),
        (MetricKind::Blocks, Adapt::Pooled),
    ] {
        let settings = settings(metric, adapt);
        let want = bits(&[&whole(&settings)]);
        let points = [
            0, 1, 7, 10, 11, 20, 39, 40, 72, 101, 102, 119, 120, 121, 150, 179, 180,
        ];
        for (k, at) in points.into_iter().enumerate() {
            let threads = [1, 2, 4][k % 3];
            let settings = Settings {
                threads,
                ..settings.clone()
            };
            let (first, saved) = part(&settings, None, at);
            assert_eq!(saved.n_draws(), at.saturating_sub(TUNE));
            let saved = Checkpoint::from_bytes(&saved.to_bytes()).expect("whole bytes");
            let (second, _) = part(&settings, Some(&saved), usize::MAX);
            assert_eq!(second.first_draw, first.n_draws());
            assert!(!first.interrupted && !second.interrupted);
            assert!(
                bits(&[&first, &second]) == want,
                "{metric:?} {adapt:?} {at}"
            );
        }
    }
}

/// Exact, at points before, at and after looks, with checkpoints of checkpoints. Catches: draws
/// before a checkpoint that no look sees, looks counted from the checkpoint.
#[test]
fn a_run_that_ends_when_it_is_good_enough_ends_at_the_same_draw_when_it_was_stopped() {
    let settings = Settings {
        draws: 2000,
        until: Some(Until {
            ess: Some(900.0),
            rhat: Some(1.02),
        }),
        ..settings(MetricKind::Dense, Adapt::Pooled)
    };
    let want = whole(&settings);
    let n = want.n_draws();
    assert!(want.until_reached == Some(true) && n > FIRST_LOOK && n < 2000);
    for at in [TUNE + 1, TUNE + FIRST_LOOK, TUNE + n - 1, TUNE + n] {
        let (first, saved) = part(&settings, None, at);
        let (second, saved) = part(&settings, Some(&saved), at + 30);
        let saved = Checkpoint::from_bytes(&saved.to_bytes()).expect("whole bytes");
        let (third, _) = part(&settings, Some(&saved), usize::MAX);
        assert_eq!(third.until_reached, Some(true));
        assert!(bits(&[&first, &second, &third]) == bits(&[&want]), "{at}");
    }
    // A run that ended elsewhere, and is then asked for as much.
    let short = Settings {
        draws: FIRST_LOOK + 7,
        ..settings.clone()
    };
    let (first, saved) = part(&short, None, usize::MAX);
    assert_eq!((first.n_draws(), first.until_reached), (107, Some(false)));
    let (second, _) = part(&settings, Some(&saved), usize::MAX);
    assert!(bits(&[&first, &second]) == bits(&[&want]));
}

/// Exact, before the end is known, between then and the end, at it, and among the draws. Catches: an
/// end that is not saved, or that is looked for again; draws counted from where the warm-up ended.
#[test]
fn a_run_whose_warm_up_ends_early_goes_on_as_it_was() {
    let settings = Settings {
        tune: 600,
        end_warmup_early: true,
        ..settings(MetricKind::Dense, Adapt::Pooled)
    };
    let want = whole(&settings);
    let end = want.warmup_transitions;
    assert!((100..600).contains(&end), "{end}");
    for at in [72, end - 51, end - 50, end - 7, end, 600, 601, 630, 660] {
        let (first, saved) = part(&settings, None, at);
        assert_eq!(saved.n_draws(), at.saturating_sub(600));
        let saved = Checkpoint::from_bytes(&saved.to_bytes()).expect("whole bytes");
        let (second, _) = part(&settings, Some(&saved), usize::MAX);
        assert!(bits(&[&first, &second]) == bits(&[&want]), "{at}");
        assert_eq!(second.warmup_transitions, end);
    }
}

/// Exact, between meetings, at them, at the ends of windows and among the draws. Catches: a length
/// or its sums that are not kept, a centre that is not found again, a meeting that is held twice.
#[test]
fn runs_of_the_other_samplers_go_on_as_they_were() {
    for sampler in [Sampler::Walnuts, Sampler::Mams, Sampler::Chees] {
        for adapt in [Adapt::Pooled, Adapt::PerChain] {
            let settings = Settings {
                sampler,
                ..settings(MetricKind::Auto, adapt)
            };
            let want = bits(&[&whole(&settings)]);
            for at in [7, 39, 45, 50, 72, 75, 80, 102, 110, 119, 120, 150] {
                let (first, saved) = part(&settings, None, at);
                let saved = Checkpoint::from_bytes(&saved.to_bytes()).expect("whole bytes");
                let (second, _) = part(&settings, Some(&saved), usize::MAX);
                assert!(
                    bits(&[&first, &second]) == want,
                    "{sampler:?} {adapt:?} {at}"
                );
            }
        }
    }
}

/// Exact, in warm-up, at its end and among the draws. Catches: a proposal that is not kept, or
/// made again from other draws.
#[test]
fn a_run_of_independence_proposals_goes_on_as_it_was() {
    for adapt in [Adapt::Pooled, Adapt::PerChain] {
        let settings = Settings {
            sampler: Sampler::Independence,
            ..settings(MetricKind::Auto, adapt)
        };
        let want = whole(&settings);
        let found = want.independence.expect("they were asked for");
        // One chain alone has few draws to make a proposal of.
        assert!(found.used || adapt == Adapt::PerChain, "{found:?}");
        for at in [101, 119, 120, 121, 150] {
            let (first, saved) = part(&settings, None, at);
            let saved = Checkpoint::from_bytes(&saved.to_bytes()).expect("whole bytes");
            let (second, _) = part(&settings, Some(&saved), usize::MAX);
            assert!(bits(&[&first, &second]) == bits(&[&want]), "{adapt:?} {at}");
            assert_eq!(second.independence, want.independence);
        }
    }
}

/// Catches: state that survives one checkpoint but not two.
#[test]
fn a_run_in_many_parts_makes_the_draws_of_the_whole() {
    let settings = settings(MetricKind::Auto, Adapt::Pooled);
    let mut parts = Vec::new();
    let mut saved = None;
    for at in [5, 33, 97, 125, 126, 160, 180] {
        let (run, next) = part(&settings, saved.as_ref(), at);
        parts.push(run);
        saved = Some(next);
    }
    let parts: Vec<&Run> = parts.iter().collect();
    assert!(bits(&parts) == bits(&[&whole(&settings)]));
}

/// A ridge and a funnel beside it.
#[derive(Clone)]
struct RidgeAndNeck;

impl Posterior for RidgeAndNeck {
    type Target = RidgeAndNeck;
    fn dim(&self) -> usize {
        8
    }
    fn target(&self) -> RidgeAndNeck {
        RidgeAndNeck
    }
}

impl Target for RidgeAndNeck {
    fn dim(&self) -> usize {
        8
    }
    fn value_and_gradient(&mut self, q: &[f64], gradient: &mut [f64]) -> f64 {
        let (a, off, v) = (q[0], (q[1] - q[0]) / 0.03, q[2]);
        let precision = libm::exp(-v);
        let squares: f64 = q[3..].iter().map(|x| x * x).sum();
        gradient[0] = off / 0.03 - a;
        gradient[1] = -off / 0.03;
        gradient[2] = 0.5 * precision * squares - 2.5 - v / 4.0;
        for (g, x) in gradient[3..].iter_mut().zip(&q[3..]) {
            *g = -precision * x;
        }
        -0.5 * (a * a + off * off + v * v / 4.0 + precision * squares) - 2.5 * v
    }
}

/// Steps are held in windows in which transitions diverge. Catches: counts of them or an acceptance that
/// are not saved, steps that are held from where a run goes on.
#[test]
fn a_run_goes_on_while_its_steps_are_held() {
    // The first seed for which they do.
    let of_seed = |seed| {
        let settings = Settings {
            tune: 600,
            seed,
            ..settings(MetricKind::Auto, Adapt::Pooled)
        };
        let run = whole_of(RidgeAndNeck, &settings);
        (run.stricter == Some(0.99)).then_some((settings, run))
    };
    let (settings, run) = (1..20).find_map(of_seed).expect("in one of twenty");
    assert_eq!(run.metrics[0], MetricKind::Dense);
    for at in [250, 300, 360, 361, 400, 405, 406, 450, 510, 520] {
        let (first, saved) = part_of(RidgeAndNeck, &settings, None, at);
        let (second, _) = part_of(RidgeAndNeck, &settings, Some(&saved), usize::MAX);
        assert!(bits(&[&first, &second]) == bits(&[&run]), "{at}");
    }
}

#[test]
fn a_finished_run_goes_on_to_more_draws() {
    let short = settings(MetricKind::Diagonal, Adapt::Pooled);
    let long = Settings {
        draws: 3 * DRAWS,
        ..short.clone()
    };
    let (first, saved) = part(&short, None, usize::MAX);
    assert_eq!((saved.done(), saved.phase()), (DRAWS, Phase::Sampling));
    let (second, _) = part(&long, Some(&saved), usize::MAX);
    assert_eq!(second.n_draws(), 2 * DRAWS);
    assert!(bits(&[&first, &second]) == bits(&[&whole(&long)]));
    // Nothing to do is no error.
    let (third, _) = part(&short, Some(&saved), usize::MAX);
    assert_eq!((third.n_draws(), third.interrupted), (0, false));
}

/// Catches: draws shown twice or never, blocks that come later than they were asked for.
#[test]
fn blocks_show_every_draw_once() {
    let settings = settings(MetricKind::Diagonal, Adapt::Pooled);
    let want = whole(&settings);
    let mut seen = Vec::new();
    let mut warm = 0;
    let mut blocks = |block: &Block<'_>| {
        if block.phase == Phase::Warmup {
            assert!(block.draws.is_empty() && block.done <= warm + 7);
            warm = block.done;
        } else {
            assert_eq!(seen.len(), 5 * (block.done - block.new.len()));
            assert!(block.new.len() <= 7);
            let rows = 5 * block.new.start..5 * block.new.end;
            seen.extend_from_slice(&block.draws[2].positions[rows]);
        }
        Next::After(7)
    };
    let stop = AtomicBool::new(false);
    let run = sample_in_blocks(&mut moving(), &settings, &Silent, &stop, None, &mut blocks);
    assert!(bits(&[&run.expect("it starts")]) == bits(&[&want]));
    assert_eq!(seen, want.chains[2].positions);
}

#[test]
fn damaged_bytes_and_other_settings_are_errors() {
    let asked = settings(MetricKind::Dense, Adapt::Pooled);
    let (_, saved) = part(&asked, None, 130);
    let bytes = saved.to_bytes();
    assert_eq!(Checkpoint::from_bytes(&bytes).expect("whole"), saved);
    let kind = |bytes: &[u8]| Checkpoint::from_bytes(bytes).expect_err("damaged").kind();
    for n in (0..bytes.len()).step_by(97) {
        assert_eq!(kind(&bytes[..n]), ErrorKind::Data);
        let mut other = bytes.clone();
        other[n] ^= 4;
        assert_eq!(kind(&other), ErrorKind::Data);
    }
    let go_on = |settings: &Settings, posterior: &mut Known| {
        let stop = AtomicBool::new(false);
        let mut blocks = |_: &Block<'_>| Next::After(usize::MAX);
        let run = sample_in_blocks(
            posterior,
            settings,
            &Silent,
            &stop,
            Some(&saved),
            &mut blocks,
        );
        run.expect_err("it does not fit")
    };
    let normal = Known::normal(5, 100.0, true);
    let other_seed = Settings {
        seed: 6,
        ..asked.clone()
    };
    let error = go_on(&other_seed, &mut normal.clone());
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.to_string().contains("`seed`"), "{error}");
    // It has no coordinates to restore, this one has.
    let error = go_on(&asked, &mut normal.clone());
    assert_eq!(error.kind(), ErrorKind::Data);
    let error = go_on(&asked, &mut Known::normal(4, 1.0, false));
    assert!(error.to_string().contains("5 coordinates"), "{error}");
}
