//! Which coordinates can change sign together: scales with a sign, and what they are factors of.

use super::compiled::{Compiled, Evaluator};
use crate::Result;
use crate::fit::sample::Mirrors;
use fitzroy_graph::{Binary, Graph, NodeId, Op, Unary};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// How far the density and what is recorded may differ on the two sides, relative to their size.
const TOLERANCE: f64 = 1e-9;

/// The mirrors of the coordinates in force: what the graph suggests, where neither the density nor
/// anything that is recorded differs between `position` and its mirror image. A recorded quantity
/// that does has two modes, and nobody should be led to believe that it has one.
pub(super) fn mirrors(compiled: &Arc<Compiled>, position: &[f64]) -> Result<Mirrors> {
    let graph = &compiled.graphs.graph;
    let suggested = suggested(graph, &graph.needed(&[compiled.graphs.density]));
    if suggested.is_empty() {
        return Ok(Mirrors::new());
    }
    let nodes = compiled.graphs.recorded.iter().map(|r| r.node);
    let nodes: Vec<NodeId> = nodes
        .filter(|&node| !compiled.graphs.reads_drawn(&[node]))
        .collect();
    let recorded = compiled.function(&nodes)?;
    let (mut evaluator, mut workspace) = (Evaluator::new(compiled), recorded.workspace());
    // What is integrated out can be anywhere.
    let mut point = position.to_vec();
    point.resize(compiled.full, 0.5);
    let mut values = |point: &[f64]| -> Vec<f64> {
        recorded.run(&mut workspace, point);
        let outputs = (0..nodes.len()).map(|k| recorded.output(&workspace, k));
        let density = evaluator.value(&point[..compiled.dim]);
        outputs.flatten().copied().chain([density]).collect()
    };
    let here = values(&point);
    let same = |mirror: &Vec<usize>| {
        let mut image = point.clone();
        mirror.iter().for_each(|&i| image[i] = -image[i]);
        let mut pairs = here.iter().zip(values(&image));
        pairs.all(|(a, b)| (a - b).abs() <= TOLERANCE * (1.0 + a.abs()))
    };
    Ok(suggested.into_iter().filter(same).collect())
}

/// Every coordinate that stands alone, with all the arrays of coordinates that it is a factor of.
fn suggested(graph: &Graph, needed: &[bool]) -> Mirrors {
    // Of every node: the lone coordinates that are factors of it or whose sign it is, and the
    // array of coordinates that it looks up or repeats.
    let mut leads: Vec<Vec<usize>> = Vec::new();
    let mut arrays: Vec<Option<Range<usize>>> = Vec::new();
    let mut mirrors: BTreeMap<usize, Vec<Range<usize>>> = BTreeMap::new();
    for id in graph.node_ids() {
        let node = graph.node(id);
        let of = |k: usize| node.inputs[k].index();
        let (mut lead, mut array) = (Vec::new(), None);
        match node.op {
            _ if !needed[id.index()] || !graph.varies(id) => {}
            Op::Param { offset } if graph.len(id) == 1 => lead.push(offset),
            Op::Param { offset } => array = Some(offset..offset + graph.len(id)),
            Op::Broadcast | Op::Gather(_) | Op::Relabel => {
                lead.clone_from(&leads[of(0)]);
                array.clone_from(&arrays[of(0)]);
            }
            Op::Unary(Unary::Abs | Unary::Neg) | Op::Binary(Binary::Div) => {
                lead.clone_from(&leads[of(0)]);
            }
            Op::Binary(Binary::Mul | Binary::Le | Binary::Lt) | Op::Select => {
                let inputs = node.inputs.iter();
                lead.extend(inputs.flat_map(|input| &leads[input.index()]));
                lead.sort_unstable();
                lead.dedup();
            }
            _ => {}
        }
        if node.op == Op::Binary(Binary::Mul) {
            for (a, b) in [(of(0), of(1)), (of(1), of(0))] {
                let Some(array) = &arrays[b] else { continue };
                for &s in &leads[a] {
                    let of_s = mirrors.entry(s).or_default();
                    if !of_s.contains(array) {
                        of_s.push(array.clone());
                    }
                }
            }
        }
        leads.push(lead);
        arrays.push(array);
    }
    let whole = |(s, arrays): (usize, Vec<Range<usize>>)| {
        std::iter::once(s)
            .chain(arrays.into_iter().flatten())
            .collect()
    };
    mirrors.into_iter().map(whole).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Dataset;
    use crate::model::Model;
    use crate::model::joint::{Chosen, Coordinates, Joint};
    use crate::run::compiled::Terms;
    use crate::run::{Settings, bind};
    use fitzroy_device::cpu::Engine;

    fn bound(text: &str) -> Joint {
        let model = Model::parse(&format!("data y[obs]\n{text}")).unwrap();
        let mut data = Dataset::new();
        data.insert_real("y", &[3], vec![0.1, -0.7, 1.3]);
        bind(&model, &data, &Settings::default()).unwrap()
    }

    fn found(joint: &Joint, chosen: &Chosen) -> Vec<Vec<usize>> {
        let compiled = Compiled::new(joint, chosen, Terms::All, Engine::Interpreter).unwrap();
        let position: Vec<f64> = (0..compiled.dim).map(|i| 0.4 + 0.3 * i as f64).collect();
        mirrors(&compiled, &position).unwrap()
    }

    /// In the coordinates that a run starts in.
    fn of(text: &str) -> Vec<Vec<usize>> {
        let joint = bound(text);
        let plates = vec![Coordinates::NonCentred; joint.plates().len()];
        found(&joint, &plates[..].into())
    }

    #[test]
    fn a_number_and_the_effects_that_it_scales_change_sign_together() {
        let one = "m ~ Normal(0, 1)
                   _s ~ Normal(0, 2)
                   _z[obs] ~ Normal(0, 1)
                   sigma = abs(_s)
                   mean[obs] = m + _s * _z
                   y[obs] ~ StudentT(4, mean, 1)";
        assert_eq!(of(one), [vec![1, 2, 3, 4]]);
        let two = "_s ~ Normal(0, 2)
                   _z[obs] ~ Normal(0, 1)
                   _w[obs] ~ StudentT(3, 0, 1)
                   y[obs] ~ StudentT(4, _s * _z + exp(_s / 2 * _w), 1)";
        assert_eq!(of(two), [vec![0, 1, 2, 3, 4, 5, 6]]);
    }

    #[test]
    fn what_differs_on_the_two_sides_is_no_mirror() {
        let near_misses = [
            // The prior of the scale, and of the effects, has a side.
            "_s ~ Normal(0.5, 2)\n_z[obs] ~ Normal(0, 1)\ny[obs] ~ StudentT(4, _s * _z, 1)",
            "_s ~ Normal(0, 2)\n_z[obs] ~ Normal(0.5, 1)\ny[obs] ~ StudentT(4, _s * _z, 1)",
            // So has something else that the scale or the effects are used for.
            "_s ~ Normal(0, 2)\n_z[obs] ~ Normal(0, 1)\ny[obs] ~ StudentT(4, _s * _z + _s, 1)",
            "_s ~ Normal(0, 2)\n_z[obs] ~ Normal(0, 1)\ny[obs] ~ StudentT(4, _s * _z, exp(_z))",
            // Recorded as it is.
            "s ~ Normal(0, 2)\n_z[obs] ~ Normal(0, 1)\ny[obs] ~ StudentT(4, s * _z, 1)",
            "_s ~ Normal(0, 2)\n_z[obs] ~ Normal(0, 1)\nw = 2 * _s\n\
             y[obs] ~ StudentT(4, _s * _z, 1)",
            // A scale above 0.
            "s ~ HalfNormal(2)\n_z[obs] ~ Normal(0, 1)\ny[obs] ~ StudentT(4, s * _z, 1)",
        ];
        for text in near_misses {
            assert_eq!(of(text), Vec::<Vec<usize>>::new(), "{text}");
        }
    }

    #[test]
    fn a_scale_that_was_given_a_sign_is_one_with_all_its_effects() {
        let joint = bound(
            "m ~ Normal(0, 1)
             s ~ HalfNormal(2)
             a[obs] ~ Normal(m, s)
             b[obs] ~ Normal(0, s / 2)
             y[obs] ~ StudentT(4, a * b, 1)",
        );
        let chosen = Chosen {
            plates: vec![Coordinates::NonCentred; 2],
            signed: vec![0],
        };
        assert_eq!(found(&joint, &chosen), [vec![1, 2, 3, 4, 5, 6, 7]]);
        assert!(found(&joint, &chosen.plates[..].into()).is_empty());
    }
}
