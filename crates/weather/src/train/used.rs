//! Nodes whose numbers a GPU needs: all for a forecast; for rain those of its boxes, a part of the archive.

use super::problem::Problem;
use std::ops::Range;

/// The nodes that are used, in the order of the archive.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Used {
    nodes: Vec<u32>,
    /// The same as ranges.
    runs: Vec<Range<usize>>,
}

impl Used {
    pub(super) fn new(problem: &Problem) -> Self {
        match problem.is_forecast() {
            true => Self::of((0..problem.archive.n_nodes() as u32).collect()),
            false => {
                let fed = problem.fed.iter().flat_map(|fed| &fed.nodes);
                Self::of(fed.chain(&problem.outputs).copied().collect())
            }
        }
    }

    fn of(mut nodes: Vec<u32>) -> Self {
        nodes.sort_unstable();
        nodes.dedup();
        let mut runs: Vec<Range<usize>> = Vec::new();
        for &node in &nodes {
            let node = node as usize;
            match runs.last_mut() {
                Some(run) if run.end == node => run.end += 1,
                _ => runs.push(node..node + 1),
            }
        }
        Used { nodes, runs }
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// What is kept by node, `width` numbers each: those of the nodes that are used, piece by piece.
    pub(super) fn parts<'a>(
        &'a self,
        values: &'a [f32],
        width: usize,
    ) -> impl Iterator<Item = &'a [f32]> {
        let runs = self.runs.iter();
        runs.map(move |run| &values[run.start * width..run.end * width])
    }

    /// Which of the nodes that are used some of them are.
    ///
    /// # Panics
    /// If one is not used.
    pub(super) fn numbers(&self, nodes: &[u32]) -> impl Iterator<Item = u32> {
        nodes.iter().map(|node| {
            let found = self.nodes.binary_search(node);
            found.expect("the node is fed or comes out") as u32
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Used;

    #[test]
    fn nodes_that_are_used_keep_their_numbers() {
        let used = Used::of(vec![7, 2, 3, 9, 3, 8]);
        assert_eq!(used.len(), 5);
        let values: Vec<f32> = (0..20).map(|k| k as f32).collect();
        let parts: Vec<&[f32]> = used.parts(&values, 2).collect();
        assert_eq!(parts, [&values[4..8], &values[14..20]]);
        let numbers: Vec<u32> = used.numbers(&[9, 2, 8]).collect();
        assert_eq!(numbers, [4, 0, 3]);
    }
}
