//! Which coordinates belong to the same element of a plate, such as the parameters of one subject.

use crate::fit::sample::Plates;
use crate::model::joint::{Joint, Parameter};

/// Coordinates of one element, at most.
const MOST_TOGETHER: usize = 64;

/// The coordinates of every element of the largest dim of each parameter that is sampled; then
/// those of no such element together, where they are few. An element alone with one coordinate is
/// none.
pub(super) fn plates(joint: &Joint) -> Plates {
    let sizes: Vec<usize> = joint.binding().dims.iter().map(|d| d.size).collect();
    let parameters = joint.parameters().iter().enumerate();
    let sampled = parameters.filter(|(k, _)| !joint.is_integrated(*k));
    let sampled: Vec<&Parameter> = sampled.map(|(_, parameter)| parameter).collect();
    let mut rest: Vec<usize> = Vec::new();
    let mut plates = Plates::new();
    for dim in 0..sizes.len() {
        let own = sampled.iter().filter(|p| plate_of(p, &sizes) == Some(dim));
        let mut plate = vec![Vec::new(); sizes[dim]];
        for parameter in own {
            let at = parameter.dims.iter().position(|d| *d == dim);
            let inner = parameter.dims[at.map_or(0, |at| at + 1)..].iter();
            let stride: usize = inner.map(|d| sizes[*d]).product();
            for i in 0..parameter.len {
                plate[i / stride % sizes[dim]].push(parameter.offset + i);
            }
        }
        match plate[0].len() {
            0 => {}
            2..=MOST_TOGETHER => plates.push(plate),
            _ => rest.extend(plate.into_iter().flatten()),
        }
    }
    let others = sampled.iter().filter(|p| plate_of(p, &sizes).is_none());
    rest.extend(others.flat_map(|p| p.offset..p.offset + p.len));
    rest.sort_unstable();
    if (2..=MOST_TOGETHER).contains(&rest.len()) {
        plates.push(vec![rest]);
    }
    plates
}

/// The largest dim of a parameter that has one coordinate for each of its elements.
fn plate_of(parameter: &Parameter, sizes: &[usize]) -> Option<usize> {
    let elements: usize = parameter.dims.iter().map(|d| sizes[*d]).product();
    let largest = parameter.dims.iter().copied().max_by_key(|d| sizes[*d])?;
    (elements == parameter.len && sizes[largest] > 1).then_some(largest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Dataset;
    use crate::model::Model;
    use crate::model::joint::Rewrites;
    use crate::run::{Settings, bind};

    #[test]
    fn parameters_of_an_element_stand_together_and_the_others_in_a_block_of_their_own() {
        let model = Model::parse(
            "dim person = 3
             dim item = 2
             data y[obs], who[obs] in person, kind[obs] in item
             m ~ Normal(0, 1)
             s ~ HalfNormal(1)
             d[item] ~ Normal(0, 1)
             a[person] ~ Normal(m, s)
             b[person, item] ~ Normal(0, s)
             y[obs] ~ Normal(a[who] * b[who, kind] + d[kind] ^ 2, 1)",
        )
        .unwrap();
        let mut data = Dataset::new();
        data.insert_real("y", &[3], vec![0.1, 0.2, 0.3]);
        data.insert_real("who", &[3], vec![0.0, 1.0, 2.0]);
        data.insert_real("kind", &[3], vec![0.0, 1.0, 1.0]);
        let joint = bind(&model, &data, &Settings::default()).unwrap();
        let joint = joint.rewritten(Rewrites::NONE);
        let offset = |name: &str| {
            let mut all = joint.parameters().iter();
            all.find(|p| p.name == name).unwrap().offset
        };
        let (a, b, d) = (offset("a"), offset("b"), offset("d"));
        let person = |j: usize| {
            let mut all = vec![a + j, b + 2 * j, b + 2 * j + 1];
            all.sort_unstable();
            all
        };
        let mut found = plates(&joint);
        found[0].iter_mut().for_each(|e| e.sort_unstable());
        let mut rest = vec![offset("m"), offset("s"), d, d + 1];
        rest.sort_unstable();
        assert_eq!(found, [vec![person(0), person(1), person(2)], vec![rest]]);
    }
}
