//! What a GPU is told of missing values.

use super::batch::Batch;
use super::problem::Problem;

/// What stands for a truth that is missing; kernels know it by its size.
const MISSING: f32 = 1e30;

/// For each output, (place, target), whether it stays as it is; nothing where no value is missing.
pub(super) fn held(problem: &Problem) -> Vec<u32> {
    let archive = &problem.archive;
    if archive.mask.is_none() {
        return Vec::new();
    }
    let of = |&node: &u32| {
        let targets = problem.targets.iter();
        targets.map(move |&c| archive.is_held(node as usize * archive.channels.len() + c))
    };
    let all = problem.outputs.iter().flat_map(of);
    all.map(u32::from).collect()
}

/// Records of a batch in which missing truths are marked; empty where nothing is missing.
pub(super) fn marked(problem: &Problem, batch: &Batch) -> Vec<Vec<f32>> {
    let (archive, n) = (&problem.archive, problem.archive.channels.len());
    if archive.mask.is_none() {
        return Vec::new();
    }
    let inside = problem.outputs.iter().zip(&problem.node_weights);
    let inside: Vec<u32> = inside
        .filter(|(_, w)| **w != 0.0)
        .map(|(node, _)| *node)
        .collect();
    let mark = |(k, record): (usize, &[f32])| {
        let (offset, sample) = (k / batch.size, k % batch.size);
        let mut record = record.to_vec();
        // The first two records are what a forecast starts from.
        for &node in inside.iter().filter(|_| offset > 1) {
            for &channel in &problem.targets {
                let at = node as usize * n + channel;
                if archive.is_missing(batch.time(sample, offset), at) {
                    record[at] = MISSING;
                }
            }
        }
        record
    };
    batch.records(archive).enumerate().map(mark).collect()
}
