//! Construction between axes: sums, lookups, slices and matrices, with the rules that take
//! uniform factors out of sums.

use crate::graph::{DimId, Graph, IndexId, NodeId};
use crate::op::{Binary, Op, Unary};
use crate::{Error, ErrorKind, Result};

fn without(dims: &[DimId], over: &[DimId]) -> Vec<DimId> {
    dims.iter().copied().filter(|d| !over.contains(d)).collect()
}

impl Graph {
    /// Σ of `a` over the dims `over`, all of which it has.
    #[track_caller]
    pub fn sum(&mut self, a: NodeId, over: &[DimId]) -> NodeId {
        assert!(
            over.iter().all(|d| self.dims(a).contains(d)),
            "sum over dims of the argument"
        );
        if over.is_empty() {
            return a;
        }
        if let Some(simple) = self.simplify_sum(a, over) {
            return simple;
        }
        let dims = without(self.dims(a), over);
        self.push(Op::Sum, vec![a], dims)
    }

    /// Σ of `a` over all of its dims.
    pub fn sum_all(&mut self, a: NodeId) -> NodeId {
        let dims = self.dims(a).to_vec();
        self.sum(a, &dims)
    }

    /// True when `a` is the same along every dim of `over`.
    fn uniform_over(&self, a: NodeId, over: &[DimId]) -> bool {
        let node = self.node(a);
        matches!(node.op, Op::Broadcast)
            && self.dims(node.inputs[0]).iter().all(|d| !over.contains(d))
    }

    fn simplify_sum(&mut self, a: NodeId, over: &[DimId]) -> Option<NodeId> {
        let node = self.node(a).clone();
        let dims = without(&node.dims, over);
        match node.op {
            Op::Broadcast => {
                let core = node.inputs[0];
                let core_dims = self.dims(core).to_vec();
                let absent: Vec<_> = over
                    .iter()
                    .copied()
                    .filter(|d| !core_dims.contains(d))
                    .collect();
                if absent.is_empty() {
                    return None;
                }
                let present: Vec<_> = over
                    .iter()
                    .copied()
                    .filter(|d| core_dims.contains(d))
                    .collect();
                let inner = self.sum(core, &present);
                let count = self.lit(self.len_of(&absent) as f64);
                let scaled = self.bin(Binary::Mul, count, inner);
                Some(self.broadcast(scaled, &dims))
            }
            Op::Unary(Unary::Neg) => {
                let inner = self.sum(node.inputs[0], over);
                Some(self.unary(Unary::Neg, inner))
            }
            Op::Binary(op @ (Binary::Add | Binary::Sub)) => {
                let (x, y) = (node.inputs[0], node.inputs[1]);
                if !self.uniform_over(x, over) && !self.uniform_over(y, over) {
                    return None;
                }
                let (x, y) = (self.sum(x, over), self.sum(y, over));
                Some(self.bin(op, x, y))
            }
            Op::Binary(Binary::Mul) => self.sum_of_product(&node.inputs, over),
            Op::Gather(index) => {
                let slot = self.indices[index.index()].clone();
                if over != [slot.rows] && over.len() != node.dims.len() {
                    return None;
                }
                let core = node.inputs[0];
                let counts = self.counts(index);
                let weighted = self.bin(Binary::Mul, core, counts);
                let core_over: Vec<_> = over
                    .iter()
                    .map(|&d| if d == slot.rows { slot.target } else { d })
                    .collect();
                Some(self.sum(weighted, &core_over))
            }
            _ => None,
        }
    }

    /// Σ u·v: takes out a uniform u, sums by group first where u is looked up by group, and turns
    /// a matrix times a broadcast vector into a contraction.
    fn sum_of_product(&mut self, inputs: &[NodeId], over: &[DimId]) -> Option<NodeId> {
        let (u, v) = (inputs[0], inputs[1]);
        for (u, v) in [(u, v), (v, u)] {
            if self.uniform_over(u, over) {
                let core = self.node(u).inputs[0];
                let inner = self.sum(v, over);
                return Some(self.bin(Binary::Mul, core, inner));
            }
            if let Op::Gather(index) = self.node(u).op {
                let slot = self.indices[index.index()].clone();
                let core = self.node(u).inputs[0];
                // Only worth a sum by group where the factor moves.
                if self.dims(u).len() == 1 && over == [slot.rows] && self.varies(core) {
                    let grouped = self.segment_sum(v, index);
                    let weighted = self.bin(Binary::Mul, core, grouped);
                    return Some(self.sum(weighted, &[slot.target]));
                }
            }
        }
        if self.dims(u).len() < 2 {
            return None;
        }
        for (u, v) in [(u, v), (v, u)] {
            if let Op::Broadcast = self.node(v).op {
                let core = self.node(v).inputs[0];
                let has_all = over.iter().all(|d| self.dims(core).contains(d));
                if has_all && self.dims(core).len() < self.dims(u).len() {
                    return self.contract(u, core, over).ok();
                }
            }
        }
        None
    }

    /// How many rows point at each element of the index's target.
    pub fn counts(&mut self, index: IndexId) -> NodeId {
        let rows = self.indices[index.index()].rows;
        let target = self.indices[index.index()].target;
        let one = self.lit(1.0);
        let ones = self.broadcast(one, &[rows]);
        self.push(Op::SegmentSum(index), vec![ones], vec![target])
    }

    /// The largest element over the dims `over`.
    #[track_caller]
    pub fn max_over(&mut self, a: NodeId, over: &[DimId]) -> NodeId {
        assert!(
            over.iter().all(|d| self.dims(a).contains(d)),
            "maximum over dims it has"
        );
        if over.is_empty() {
            return a;
        }
        let dims = without(self.dims(a), over);
        self.push(Op::MaxOver, vec![a], dims)
    }

    /// Looks `a` up by an index: its target dim becomes the index's row dim.
    #[track_caller]
    pub fn gather(&mut self, a: NodeId, index: IndexId) -> NodeId {
        let slot = self.indices[index.index()].clone();
        let dims = self.dims(a).to_vec();
        assert!(
            dims.contains(&slot.target) && !dims.contains(&slot.rows),
            "a lookup needs the target dim and not the row dim"
        );
        let dims: Vec<_> = dims
            .iter()
            .map(|&d| if d == slot.target { slot.rows } else { d })
            .collect();
        if let Op::Broadcast = self.node(a).op {
            let core = self.node(a).inputs[0];
            if !self.dims(core).contains(&slot.target) {
                return self.broadcast(core, &dims);
            }
        }
        self.push(Op::Gather(index), vec![a], dims)
    }

    /// Sums the rows of `a` by an index: its row dim becomes the index's target dim.
    #[track_caller]
    pub fn segment_sum(&mut self, a: NodeId, index: IndexId) -> NodeId {
        let slot = self.indices[index.index()].clone();
        let node = self.node(a).clone();
        assert!(
            node.dims.contains(&slot.rows),
            "a sum by index needs the row dim"
        );
        let dims: Vec<_> = node
            .dims
            .iter()
            .map(|&d| if d == slot.rows { slot.target } else { d })
            .collect();
        match node.op {
            Op::Unary(Unary::Neg) => {
                let inner = self.segment_sum(node.inputs[0], index);
                return self.unary(Unary::Neg, inner);
            }
            Op::Broadcast | Op::Gather(_) => {
                if let Some(core) = self.uniform_in_group(a, index) {
                    let counts = self.counts(index);
                    let scaled = self.times_over(core, counts, &dims);
                    return self.broadcast(scaled, &dims);
                }
            }
            Op::Binary(Binary::Mul) => {
                let (u, v) = (node.inputs[0], node.inputs[1]);
                for (u, v) in [(u, v), (v, u)] {
                    if let Some(core) = self.uniform_in_group(u, index) {
                        let inner = self.segment_sum(v, index);
                        return self.times_over(inner, core, &dims);
                    }
                }
            }
            _ => {}
        }
        self.push(Op::SegmentSum(index), vec![a], dims)
    }

    /// `a` times `b`, over `dims` if neither has the dims of the other.
    fn times_over(&mut self, a: NodeId, b: NodeId, dims: &[DimId]) -> NodeId {
        let a = match self.combined_dims(a, b) {
            Ok(_) => a,
            Err(_) => self.broadcast(a, dims),
        };
        self.bin(Binary::Mul, a, b)
    }

    /// The value by group of a lift that is the same for all rows of a group.
    fn uniform_in_group(&self, a: NodeId, index: IndexId) -> Option<NodeId> {
        let slot = &self.indices[index.index()];
        let node = self.node(a);
        let core = *node.inputs.first()?;
        match node.op {
            Op::Gather(i) if i == index => Some(core),
            Op::Broadcast => {
                let dims = self.dims(core);
                (!dims.contains(&slot.rows) && !dims.contains(&slot.target)).then_some(core)
            }
            _ => None,
        }
    }

    /// Running sums along `axis`.
    #[track_caller]
    pub fn cum_sum(&mut self, a: NodeId, axis: DimId, reverse: bool) -> NodeId {
        assert!(self.dims(a).contains(&axis), "a running sum needs its axis");
        let dims = self.dims(a).to_vec();
        self.push(Op::CumSum { axis, reverse }, vec![a], dims)
    }

    /// The dim of a slice of `len` elements of `axis`. Slices of equal length of one dim share
    /// it, so that lagged slices combine.
    pub fn slice_dim(&mut self, axis: DimId, len: usize) -> DimId {
        let name = self.dim_info(axis).name.clone();
        // The primes of a twin stay behind, so that a slice of a twin is the twin of the slice.
        let plain = name.trim_end_matches('\'');
        let base = plain.split("[:").next().unwrap_or(plain);
        let primes = &name[plain.len()..];
        self.dim(&format!("{base}[:{len}]{primes}"), len)
    }

    /// `len` elements of `axis` from `start` on.
    ///
    /// # Errors
    /// When they are not all inside.
    pub fn slice(&mut self, a: NodeId, axis: DimId, start: usize, len: usize) -> Result<NodeId> {
        let size = self.size(axis);
        if start + len > size {
            let name = &self.dim_info(axis).name;
            let text = format!(
                "elements {start} to {} are outside `{name}` ({size})",
                start + len
            );
            return Err(Error::new(ErrorKind::Dims, text));
        }
        if start == 0 && len == size {
            return Ok(a);
        }
        let to = self.slice_dim(axis, len);
        let dims: Vec<_> = self
            .dims(a)
            .iter()
            .map(|&d| if d == axis { to } else { d })
            .collect();
        // What was placed there in zeros.
        let placed = Op::Unslice { axis, start };
        if self.node(a).op == placed && self.dims(self.node(a).inputs[0]) == dims {
            return Ok(self.node(a).inputs[0]);
        }
        Ok(self.push(Op::Slice { axis, start }, vec![a], dims))
    }

    /// Element `at` of `axis`, which goes.
    ///
    /// # Errors
    /// When it is outside.
    pub fn element(&mut self, a: NodeId, axis: DimId, at: usize) -> Result<NodeId> {
        let one = self.slice(a, axis, at, 1)?;
        if one == a {
            let dims = without(self.dims(a), &[axis]);
            return Ok(self.push(Op::Sum, vec![a], dims));
        }
        let axis = self.slice_dim(axis, 1);
        let dims = without(self.dims(one), &[axis]);
        Ok(self.push(Op::Sum, vec![one], dims))
    }

    /// Places `a`, whose dim `from` stands for a part of `axis`, at `start` in zeros.
    #[track_caller]
    pub fn unslice(&mut self, a: NodeId, from: DimId, axis: DimId, start: usize) -> NodeId {
        assert!(
            start + self.size(from) <= self.size(axis),
            "the part is inside"
        );
        let dims: Vec<_> = self
            .dims(a)
            .iter()
            .map(|&d| if d == from { axis } else { d })
            .collect();
        if dims == self.dims(a) {
            return a;
        }
        self.push(Op::Unslice { axis, start }, vec![a], dims)
    }

    /// Σ over `over` of a·b; the result has the other dims of `a`, then those of `b`.
    ///
    /// # Errors
    /// When one of them lacks a dim of `over`.
    pub fn contract(&mut self, a: NodeId, b: NodeId, over: &[DimId]) -> Result<NodeId> {
        let (da, db) = (self.dims(a).to_vec(), self.dims(b).to_vec());
        if !over.iter().all(|d| da.contains(d) && db.contains(d)) {
            let (a, b) = (self.describe_dims(&da), self.describe_dims(&db));
            return Err(Error::new(
                ErrorKind::Dims,
                format!("a product needs a common dim to sum over, got {a} and {b}"),
            ));
        }
        let mut dims = without(&da, over);
        dims.extend(without(&db, over).into_iter().filter(|d| !da.contains(d)));
        let mut over = over.to_vec();
        over.sort_unstable();
        // Plain products and inner products are elementwise.
        if da == db && over.len() == da.len() {
            let product = self.bin(Binary::Mul, a, b);
            return Ok(self.sum(product, &over));
        }
        if over.is_empty() {
            let (a, b) = (self.broadcast(a, &dims), self.broadcast(b, &dims));
            return Ok(self.bin(Binary::Mul, a, b));
        }
        if let Some(out) = self.contract_around_factor(a, b, &over) {
            return Ok(out);
        }
        Ok(self.push(Op::Contract { over }, vec![a, b], dims))
    }

    /// Takes a uniform factor out of either side of a contraction.
    fn contract_around_factor(&mut self, a: NodeId, b: NodeId, over: &[DimId]) -> Option<NodeId> {
        for (x, y, first) in [(a, b, true), (b, a, false)] {
            let (Some(lift), Some(rest)) = self.split_product(x) else {
                continue;
            };
            let core = self.node(lift).inputs[0];
            if !self.dims(core).is_empty() {
                continue;
            }
            let inner = if first {
                self.contract(rest, y, over)
            } else {
                self.contract(y, rest, over)
            };
            return Some(self.bin(Binary::Mul, core, inner.ok()?));
        }
        None
    }

    /// `value`, whose slope in each x of `slopes` is the expression beside it. All have the dims of
    /// `value`, which is not differentiated itself.
    #[track_caller]
    pub fn with_slopes(&mut self, value: NodeId, slopes: &[(NodeId, NodeId)]) -> NodeId {
        let dims = self.dims(value).to_vec();
        let mut inputs = vec![value];
        for &(x, slope) in slopes {
            if self.varies(x) {
                inputs.push(self.broadcast(x, &dims));
                inputs.push(self.broadcast(slope, &dims));
            }
        }
        match inputs.len() {
            1 => value,
            _ => self.push(Op::WithSlopes, inputs, dims),
        }
    }

    /// The same elements, in the same order, under other dims with as many elements.
    #[track_caller]
    pub fn relabel(&mut self, a: NodeId, dims: &[DimId]) -> NodeId {
        assert_eq!(
            self.len(a),
            self.len_of(dims),
            "relabelling keeps the elements"
        );
        let a = match self.node(a).op {
            Op::Relabel => self.node(a).inputs[0],
            _ => a,
        };
        if self.dims(a) == dims {
            return a;
        }
        self.push(Op::Relabel, vec![a], dims.to_vec())
    }

    #[track_caller]
    fn square_dims(&self, a: NodeId) -> (DimId, DimId) {
        let dims = self.dims(a);
        assert!(
            dims.len() == 2 && self.size(dims[0]) == self.size(dims[1]),
            "a square matrix"
        );
        (dims[0], dims[1])
    }

    /// Lower Cholesky factor of a symmetric matrix `[k, k']`; NaN where it is not positive
    /// definite.
    #[track_caller]
    pub fn cholesky(&mut self, a: NodeId) -> NodeId {
        let (k, t) = self.square_dims(a);
        self.push(Op::Cholesky, vec![a], vec![k, t])
    }

    /// The x of L x = b (or Lᵀ x = b) for a lower triangular L `[k, k']`, b `[k]` or `[k, m]`.
    #[track_caller]
    pub fn tri_solve(&mut self, l: NodeId, b: NodeId, transpose: bool) -> NodeId {
        let (k, _) = self.square_dims(l);
        assert_eq!(
            self.dims(b).first(),
            Some(&k),
            "the right side starts with the row dim"
        );
        let dims = self.dims(b).to_vec();
        self.push(Op::TriSolve { transpose }, vec![l, b], dims)
    }

    /// The elements on and below the diagonal.
    #[track_caller]
    pub fn lower_triangle(&mut self, a: NodeId) -> NodeId {
        let (k, t) = self.square_dims(a);
        self.push(Op::LowerTriangle, vec![a], vec![k, t])
    }

    /// The diagonal of a square matrix.
    #[track_caller]
    pub fn diagonal(&mut self, a: NodeId) -> NodeId {
        let (k, _) = self.square_dims(a);
        self.push(Op::Diagonal, vec![a], vec![k])
    }

    /// A square matrix `[k, k']` with `a` on its diagonal.
    #[track_caller]
    pub fn from_diagonal(&mut self, a: NodeId) -> NodeId {
        let k = self.dims(a)[0];
        let twin = self.twin(k);
        self.push(Op::FromDiagonal, vec![a], vec![k, twin])
    }
}
