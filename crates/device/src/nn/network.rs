//! Encode, process, decode: a network of perceptrons over nodes and message layers over edges.

use super::block::{Backward, Block, Edges, LANES_MAX, Run};
use super::build::Builder;
use super::number::Number;
use super::plan::{Buffer, Copies, Plan, View, Workspace};
use super::pool::{Common, Crew, Pool};
use super::spec::{Input, Parameter, Recompute, Spec, check, index};
use super::timeline::{Pass, Timeline};
use fitzroy_graph::Result;
use std::ops::Range;

/// A network ready to run.
pub struct Network {
    pub(super) plan: Plan,
    pub(super) blocks: Vec<Block>,
    /// Blocks whose states are not kept: they run forward again before they run backward.
    pub(super) groups: Vec<Range<usize>>,
    pub(super) edges: Vec<Edges>,
    pub(super) parameters: Vec<Parameter>,
    pub(super) n_parameters: usize,
    /// Arrays that are the same in all samples, with what is in them.
    pub(super) fixed: Vec<(Buffer, Vec<f64>)>,
    pub(super) inputs: Vec<Option<(Buffer, Buffer)>>,
    pub(super) output: Buffer,
    pub(super) output_slope: Buffer,
    pub(super) slopes: Vec<Buffer>,
    pub(super) slopes_once: Vec<Buffer>,
    pub(super) transposed: Buffer,
    pub(super) lanes: Buffer,
}

impl Network {
    /// Plans a network.
    ///
    /// # Errors
    /// An index is out of range for its set, edges are not sorted or repeat, a size is 0, or the
    /// numbers of a set do not fit it.
    pub fn new(spec: &Spec, recompute: Recompute) -> Result<Self> {
        check(spec)?;
        let mut builder = Builder::new(spec, recompute);
        let (mut fixed, mut inputs) = (Vec::new(), Vec::new());
        let mut nodes = Vec::new();
        for set in &spec.nodes {
            let (channels, once) = match &set.input {
                Input::Samples { channels } => (*channels, false),
                Input::Fixed { channels, .. } => (*channels, true),
            };
            let copies = if once { Copies::One } else { Copies::Steps };
            let source = builder.plan.add(set.n, channels, copies);
            let slope = builder.plan.add(set.n, channels, Copies::Samples);
            if let Input::Fixed { values, .. } = &set.input {
                fixed.push((source, values.clone()));
            }
            inputs.push((!once).then_some((source, slope)));
            let slope = (!once).then_some(slope);
            let name = format!("embed.nodes.{}", set.name);
            nodes.push(builder.embed(&name, set.n, once, (source, channels, slope)));
        }
        let mut edges = Vec::new();
        for set in &spec.edges {
            let n = set.senders.len();
            let source = builder.plan.add(n, set.channels, Copies::One);
            fixed.push((source, set.features.clone()));
            let name = format!("embed.edges.{}", set.name);
            edges.push(builder.embed(&name, n, true, (source, set.channels, None)));
        }
        builder.stages(&mut nodes, &mut edges);
        let (output, output_slope) = builder.decode(nodes[spec.output]);

        // A state that is the same for all samples to the end has no slope by sample.
        let differing = nodes.iter().chain(&edges).filter(|state| !state.once);
        let mut slopes: Vec<Buffer> = differing.map(|state| state.slope).collect();
        slopes.extend(inputs.iter().flatten().map(|(_, slope)| *slope));
        let slopes_once = nodes.iter().chain(&edges).map(|s| s.slope_once).collect();
        let transposed = builder.plan.add(1, builder.n_parameters, Copies::One);
        let most = builder.blocks.iter().map(|b| b.parameters.len()).max();
        let lanes = builder.plan.add(LANES_MAX, most.unwrap_or(0), Copies::One);
        Ok(Network {
            plan: builder.plan,
            blocks: builder.blocks,
            groups: builder.groups,
            edges: spec.edges.iter().map(|set| index(spec, set)).collect(),
            parameters: builder.parameters,
            n_parameters: builder.n_parameters,
            fixed,
            inputs,
            output,
            output_slope,
            slopes,
            slopes_once,
            transposed,
            lanes,
        })
    }

    /// Number of parameters.
    pub fn n_parameters(&self) -> usize {
        self.n_parameters
    }

    /// All parameter arrays, in their order.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Width of the rows that are normalised.
    pub(super) fn norm_width(&self) -> usize {
        let normed = self.blocks.iter().find(|block| block.norm.is_some());
        normed.map_or(1, |block| block.layers[block.layers.len() - 1].n)
    }

    /// Multiply-adds of a forward pass; a training step does three times as many.
    pub fn multiply_adds(&self, batch: usize) -> u64 {
        self.blocks
            .iter()
            .map(|block| block.multiply_adds(batch))
            .sum()
    }

    /// Bytes of a workspace.
    pub fn workspace_bytes<E: Number>(&self, batch: usize, steps: usize, n_threads: usize) -> u64 {
        let numbers = self.plan.layout(batch, steps).len + self.scratch_len() * n_threads;
        (numbers * size_of::<E>()) as u64
    }

    fn scratch_len(&self) -> usize {
        self.blocks
            .iter()
            .map(Block::scratch_len)
            .max()
            .unwrap_or(0)
    }

    /// Memory for batches of `batch` samples and forecasts of `steps` steps.
    pub fn workspace<E: Number>(&self, batch: usize, steps: usize, pool: &Pool) -> Workspace<E> {
        let layout = self.plan.layout(batch, steps);
        let jobs = self
            .blocks
            .iter()
            .map(|b| b.jobs(batch, &self.edges))
            .collect();
        let n_threads = pool.n_threads();
        let mut workspace = Workspace::allocate(layout, self.scratch_len(), n_threads, steps, jobs);
        for (buffer, values) in &self.fixed {
            for (to, from) in workspace.array(*buffer, 0).iter_mut().zip(values) {
                *to = E::from_f64(*from);
            }
        }
        workspace
    }

    /// The input of a set of nodes at a step: sample by sample, node by node.
    ///
    /// # Panics
    /// If the input of the set is fixed.
    pub fn input<'a, E: Number>(
        &self,
        workspace: &'a mut Workspace<E>,
        nodes: usize,
        step: usize,
    ) -> &'a mut [E] {
        let (buffer, _) = self.inputs[nodes].expect("the input of this set differs by sample");
        workspace.array(buffer, step)
    }

    /// The slope by the input, of the last backward pass that asked for it.
    ///
    /// # Panics
    /// If the input of the set is fixed.
    pub fn input_slope<'a, E: Number>(
        &self,
        workspace: &'a mut Workspace<E>,
        nodes: usize,
    ) -> &'a mut [E] {
        let (_, slope) = self.inputs[nodes].expect("the input of this set differs by sample");
        workspace.array(slope, 0)
    }

    /// The output of a step: sample by sample, node by node.
    pub fn output<'a, E: Number>(
        &self,
        workspace: &'a mut Workspace<E>,
        step: usize,
    ) -> &'a mut [E] {
        workspace.array(self.output, step)
    }

    /// The slope by the output, to be filled before a backward pass.
    pub fn output_slope<'a, E: Number>(&self, workspace: &'a mut Workspace<E>) -> &'a mut [E] {
        workspace.array(self.output_slope, 0)
    }

    /// Takes the numbers of the output of a step, which the caller has turned into slopes, as the
    /// slope by the output.
    pub fn copy_output_to_slope<E: Number>(&self, workspace: &mut Workspace<E>, step: usize) {
        workspace.copy(self.output, self.output_slope, step);
    }

    fn run<'a, E: Number>(
        &'a self,
        view: View<'a, E>,
        crew: &'a Crew<'a>,
        parameters: &'a [E],
        number: usize,
    ) -> Run<'a, E> {
        Run {
            view,
            crew,
            parameters,
            edges: &self.edges,
            number,
        }
    }

    /// Embeds what is the same for all samples. Due whenever parameters have changed, before
    /// `forward`.
    pub fn embed<E: Number>(
        &self,
        workspace: &mut Workspace<E>,
        pool: &mut Pool,
        parameters: &[E],
    ) {
        assert_eq!(parameters.len(), self.n_parameters);
        let view = workspace.view(0, pool);
        pool.run(&|crew| {
            for (number, block) in self.blocks.iter().enumerate() {
                let run = self.run(view, crew, parameters, number);
                if block.once {
                    let what = (Pass::Embed, number);
                    Timeline::during(view.timeline, crew, what, || block.forward(&run));
                }
            }
            for (number, block) in self.blocks.iter().enumerate() {
                block.project(&self.run(view, crew, parameters, number), true);
            }
        });
    }

    /// From the input of a step to its output.
    pub fn forward<E: Number>(
        &self,
        workspace: &mut Workspace<E>,
        pool: &mut Pool,
        parameters: &[E],
        step: usize,
    ) {
        assert!(parameters.len() == self.n_parameters && step < workspace.n_steps);
        let view = workspace.view(step, pool);
        pool.run(&|crew| {
            let all = 0..self.blocks.len();
            self.blocks_forward(view, crew, parameters, all, Pass::Forward);
        });
    }

    fn blocks_forward<E: Number>(
        &self,
        view: View<'_, E>,
        crew: &Crew<'_>,
        parameters: &[E],
        range: Range<usize>,
        pass: Pass,
    ) {
        for number in range {
            let block = &self.blocks[number];
            if !block.once {
                Timeline::during(view.timeline, crew, (pass, number), || {
                    let run = self.run(view, crew, parameters, number);
                    block.project(&run, false);
                    block.forward(&run);
                });
            }
        }
    }

    /// Prepares the backward passes of a batch: transposes weights, forgets slopes.
    pub fn begin_backward<E: Number>(
        &self,
        workspace: &mut Workspace<E>,
        pool: &mut Pool,
        parameters: &[E],
    ) {
        for &buffer in &self.slopes_once {
            workspace.array(buffer, 0).fill(E::default());
        }
        let view = workspace.view(0, pool);
        pool.run(&|crew| {
            crew.each(self.blocks.len(), |number| {
                let block = &self.blocks[number];
                // SAFETY: blocks have parameters of their own.
                let to = unsafe { view.rows_mut(self.transposed, 0, 0, 1) };
                let n0 = block.layers[0].n;
                for dense in &block.dense {
                    transpose(parameters, to, dense.w, dense.k, n0);
                }
                for lookup in &block.lookups {
                    transpose(parameters, to, lookup.w, lookup.k, n0);
                }
                for layer in &block.layers[1..] {
                    transpose(parameters, to, layer.w, layer.k, layer.n);
                }
            });
        });
    }

    /// From the slope by the output of a step to the gradient, which is added to.
    ///
    /// Steps go backwards. What `forward` kept for the step is used up.
    pub fn backward<E: Number>(
        &self,
        workspace: &mut Workspace<E>,
        pool: &mut Pool,
        parameters: &[E],
        gradient: &mut [E],
        step: usize,
        input_slope: bool,
    ) {
        assert!(gradient.len() == self.n_parameters && step < workspace.n_steps);
        for &buffer in &self.slopes {
            workspace.array(buffer, 0).fill(E::default());
        }
        self.blocks_backward(
            workspace,
            pool,
            parameters,
            gradient,
            step,
            input_slope,
            false,
        );
    }

    /// Ends the backward passes of a batch: what is the same for all samples.
    pub fn end_backward<E: Number>(
        &self,
        workspace: &mut Workspace<E>,
        pool: &mut Pool,
        parameters: &[E],
        gradient: &mut [E],
    ) {
        self.blocks_backward(workspace, pool, parameters, gradient, 0, false, true);
    }

    fn blocks_backward<E: Number>(
        &self,
        workspace: &mut Workspace<E>,
        pool: &mut Pool,
        parameters: &[E],
        gradient: &mut [E],
        step: usize,
        input_slope: bool,
        once: bool,
    ) {
        let view = workspace.view(step, pool);
        let gradient = Common::new(gradient);
        pool.run(&|crew| {
            let back = Backward {
                transposed: self.transposed,
                lanes: self.lanes,
                gradient,
                input_slope,
            };
            for (number, block) in self.blocks.iter().enumerate().rev() {
                let group = self.groups.iter().find(|group| group.end == number + 1);
                if let Some(group) = group.filter(|_| !once) {
                    self.blocks_forward(view, crew, parameters, group.clone(), Pass::Again);
                }
                if block.once == once {
                    let what = (Pass::Backward, number);
                    let run = self.run(view, crew, parameters, number);
                    Timeline::during(view.timeline, crew, what, || block.backward(&run, &back));
                }
            }
        });
    }

    /// Names and multiply-adds of the blocks, in order.
    pub fn blocks(&self, batch: usize) -> Vec<(String, u64)> {
        let blocks = self.blocks.iter();
        blocks
            .map(|b| (b.name.clone(), b.multiply_adds(batch)))
            .collect()
    }
}

fn transpose<E: Number>(from: &[E], to: &mut [E], at: usize, k: usize, n: usize) {
    let (from, to) = (&from[at..at + k * n], &mut to[at..at + k * n]);
    const SIDE: usize = 16;
    for row in (0..k).step_by(SIDE) {
        for column in (0..n).step_by(SIDE) {
            for i in row..(row + SIDE).min(k) {
                for j in column..(column + SIDE).min(n) {
                    to[j * k + i] = from[i * n + j];
                }
            }
        }
    }
}
