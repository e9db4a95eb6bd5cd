//! Nodes that cannot reach an output are dropped: they cost time and change nothing.

use fitzroy_device::nn::{EdgeSet, Stage};

/// What is left of a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Pruned {
    /// For each set of nodes, the numbers of those that stay.
    pub nodes: Vec<Vec<u32>>,
    /// The edges between them, renumbered.
    pub edges: Vec<EdgeSet>,
}

/// Drops nodes from which no path of at most one edge a stage leads to a node of set `output`.
///
/// Walking the stages backwards, a node is needed if it is an output, was needed later, or sends
/// to one that was.
pub fn prune(sizes: &[usize], edges: &[EdgeSet], stages: &[Stage], output: usize) -> Pruned {
    let mut needed: Vec<Vec<bool>> = sizes.iter().map(|&n| vec![false; n]).collect();
    needed[output].fill(true);
    for stage in stages.iter().rev() {
        let later = needed.clone();
        for &number in &stage.edges {
            let set = &edges[number];
            for (&s, &r) in set.senders.iter().zip(&set.receivers) {
                if later[set.to][r as usize] {
                    needed[set.from][s as usize] = true;
                }
            }
        }
    }
    let kept = |flags: &Vec<bool>| -> Vec<u32> {
        (0..flags.len() as u32)
            .filter(|&k| flags[k as usize])
            .collect()
    };
    let nodes: Vec<Vec<u32>> = needed.iter().map(kept).collect();
    let number = |set: usize, node: u32| nodes[set].binary_search(&node).ok().map(|k| k as u32);
    let edges = edges
        .iter()
        .map(|set| {
            let mut left = EdgeSet {
                senders: Vec::new(),
                receivers: Vec::new(),
                features: Vec::new(),
                ..set.clone()
            };
            for (k, (&s, &r)) in set.senders.iter().zip(&set.receivers).enumerate() {
                if let (Some(s), Some(r)) = (number(set.from, s), number(set.to, r)) {
                    left.senders.push(s);
                    left.receivers.push(r);
                    let features = &set.features[k * set.channels..(k + 1) * set.channels];
                    left.features.extend_from_slice(features);
                }
            }
            left
        })
        .collect();
    Pruned { nodes, edges }
}
