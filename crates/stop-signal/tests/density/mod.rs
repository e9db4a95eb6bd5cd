//! The joint density of a stop-signal model at values of its parameters.

use fitzroy::model::Model;
use fitzroy::model::joint::{Coordinates, Joint};
use fitzroy_device::cpu::Function;
use fitzroy_stop_signal::data::Study;
use fitzroy_stop_signal::model::Spec;

pub(crate) fn joint(spec: &Spec, study: &Study) -> Joint {
    let model = Model::parse(&spec.text()).unwrap();
    Joint::new(&model, model.bind(&spec.data(study)).unwrap()).unwrap()
}

/// ln p where parameter `name` has `value(name, i)` at place i.
pub(crate) fn density(joint: &Joint, value: impl Fn(&str, usize) -> f64) -> f64 {
    let graphs = joint.graphs(&vec![Coordinates::NonCentred; joint.plates().len()]);
    let outputs: Vec<_> = graphs.terms.iter().map(|t| t.node).collect();
    let function = Function::compile(&graphs.graph, &graphs.bindings, &outputs).unwrap();
    let mut point = vec![0.0; joint.n_sampled()];
    for p in joint.parameters() {
        (0..p.len).for_each(|i| point[p.offset + i] = value(&p.name, i));
    }
    let mut workspace = function.workspace();
    function.run(&mut workspace, &point);
    (0..outputs.len())
        .map(|k| function.output(&workspace, k).iter().sum::<f64>())
        .sum()
}
