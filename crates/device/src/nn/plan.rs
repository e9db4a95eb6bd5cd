//! Where everything lies: all arrays of a network, laid out once in one piece of memory.

use super::number::Number;
use super::pool::Common;
use super::timeline::{Clock, Span, Timeline};

/// An array of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Buffer(usize);

/// How often an array is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Copies {
    /// Once, shared by all samples and steps.
    One,
    /// For each sample, overwritten by the next step.
    Samples,
    /// For each sample of each step, because the backward pass needs it.
    Steps,
}

#[derive(Clone, Copy, Debug)]
struct Shape {
    rows: usize,
    width: usize,
    copies: Copies,
}

/// The arrays of a network, before the size of a batch is known.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    shapes: Vec<Shape>,
}

/// Numbers in a cache line of 64 bytes.
const LINE: usize = 16;

impl Buffer {
    /// Its number among the arrays of the plan.
    pub(super) fn number(self) -> usize {
        self.0
    }
}

impl Plan {
    /// The array that was added first.
    pub(super) const FIRST: Buffer = Buffer(0);

    /// Number of arrays.
    pub(super) fn len(&self) -> usize {
        self.shapes.len()
    }

    /// Numbers of one sample of an array, and how often it is there.
    pub(super) fn size(&self, number: usize) -> (usize, Copies) {
        let shape = &self.shapes[number];
        (shape.rows * shape.width, shape.copies)
    }

    /// Another array of `rows` × `width`.
    pub(super) fn add(&mut self, rows: usize, width: usize, copies: Copies) -> Buffer {
        self.shapes.push(Shape {
            rows,
            width,
            copies,
        });
        Buffer(self.shapes.len() - 1)
    }

    /// Makes an array at least `rows` × `width`; for scratch that several blocks use in turn.
    pub(super) fn grow(&mut self, buffer: Buffer, rows: usize, width: usize) {
        let shape = &mut self.shapes[buffer.0];
        shape.rows = shape.rows.max((rows * width).div_ceil(shape.width));
    }

    /// The layout for a batch, and for forecasts of `steps` steps.
    pub(super) fn layout(&self, batch: usize, steps: usize) -> Layout {
        let mut layout = Layout {
            places: Vec::new(),
            batch,
            len: 0,
        };
        for shape in &self.shapes {
            let one = shape.rows * shape.width;
            let (n_samples, n_steps) = match shape.copies {
                Copies::One => (1, 1),
                Copies::Samples => (batch, 1),
                Copies::Steps => (batch, steps),
            };
            let step = (one * n_samples).div_ceil(LINE) * LINE;
            layout.places.push(Place {
                start: layout.len,
                step: if n_steps > 1 { step } else { 0 },
                sample: if shape.copies == Copies::One { 0 } else { one },
                width: shape.width,
                len: one * n_samples,
            });
            layout.len += step * n_steps;
        }
        layout
    }
}

#[derive(Clone, Copy, Debug)]
struct Place {
    start: usize,
    step: usize,
    sample: usize,
    width: usize,
    /// Numbers of one step.
    len: usize,
}

/// Where each array lies.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    places: Vec<Place>,
    pub(super) batch: usize,
    /// Numbers in all.
    pub(super) len: usize,
}

/// Zeros that start on a cache line. The system hands them out at first use, so the threads of the
/// first step share that work, which would take one thread about as long as a step.
struct Aligned<E> {
    lines: Vec<[E; LINE]>,
}

impl<E: Number> Aligned<E> {
    fn zeros(len: usize) -> Self {
        Aligned {
            lines: vec![[E::default(); LINE]; len.div_ceil(LINE) + 1],
        }
    }

    fn numbers(&mut self) -> &mut [E] {
        let all = self.lines.as_flattened_mut();
        let skip = all.as_ptr().align_offset(64).min(LINE);
        let len = all.len() - LINE;
        &mut all[skip..skip + len]
    }
}

/// The memory of one training or forecasting run: everything between input and output.
pub struct Workspace<E> {
    memory: Aligned<E>,
    scratch: Aligned<E>,
    pub(super) layout: Layout,
    /// Scratch of one thread.
    pub(super) scratch_len: usize,
    pub(super) n_threads: usize,
    pub(super) n_steps: usize,
    /// Jobs of every block, and of every look-up of it.
    pub(super) jobs: Vec<super::block::Jobs>,
    timeline: Option<Timeline>,
}

impl<E: Number> Workspace<E> {
    pub(super) fn allocate(
        layout: Layout,
        scratch_len: usize,
        n_threads: usize,
        n_steps: usize,
        jobs: Vec<super::block::Jobs>,
    ) -> Self {
        let scratch_len = scratch_len.div_ceil(LINE) * LINE;
        Workspace {
            memory: Aligned::zeros(layout.len),
            scratch: Aligned::zeros(scratch_len * n_threads),
            layout,
            scratch_len,
            n_threads,
            n_steps,
            jobs,
            timeline: None,
        }
    }

    /// From now on notes how long each block takes; with no clock it does not any more.
    pub fn observe(&mut self, clock: Option<Clock>) {
        self.timeline = clock.map(Timeline::new);
    }

    /// What was noted since the last call.
    pub fn spans(&mut self) -> Vec<Span> {
        self.timeline.as_ref().map_or_else(Vec::new, Timeline::take)
    }

    /// Samples of a batch.
    pub fn batch(&self) -> usize {
        self.layout.batch
    }

    /// One array, all samples of a step.
    pub(super) fn array(&mut self, buffer: Buffer, step: usize) -> &mut [E] {
        let place = self.layout.places[buffer.0];
        let start = place.start + step * place.step;
        &mut self.memory.numbers()[start..start + place.len]
    }

    /// Copies an array of a step to another of the same size that is there once.
    pub(super) fn copy(&mut self, from: Buffer, to: Buffer, step: usize) {
        let place = self.layout.places[from.0];
        let start = place.start + step * place.step;
        let target = self.layout.places[to.0].start;
        let all = self.memory.numbers();
        all.copy_within(start..start + place.len, target);
    }

    /// Everything, shared by the threads of a step.
    ///
    /// # Panics
    /// If there are more threads than there is scratch for.
    pub(super) fn view(&mut self, step: usize, pool: &super::pool::Pool) -> View<'_, E> {
        assert!(
            pool.n_threads() <= self.n_threads,
            "a workspace of another pool"
        );
        View {
            memory: Common::new(self.memory.numbers()),
            scratch: Common::new(self.scratch.numbers()),
            layout: &self.layout,
            scratch_len: self.scratch_len,
            jobs: &self.jobs,
            timeline: self.timeline.as_ref(),
            step,
        }
    }
}

/// The memory of a workspace at work.
#[derive(Clone, Copy)]
pub(super) struct View<'a, E> {
    memory: Common<'a, E>,
    scratch: Common<'a, E>,
    layout: &'a Layout,
    scratch_len: usize,
    pub(super) jobs: &'a [super::block::Jobs],
    pub(super) timeline: Option<&'a Timeline>,
    step: usize,
}

impl<'a, E: Number> View<'a, E> {
    /// Samples of a batch.
    pub(super) fn batch(&self) -> usize {
        self.layout.batch
    }

    #[inline]
    fn place(&self, buffer: Buffer, sample: usize, row: usize) -> (usize, usize) {
        let place = &self.layout.places[buffer.0];
        let start = place.start + self.step * place.step + sample * place.sample;
        (start + row * place.width, place.width)
    }

    /// Rows `row..row + n` of a sample; of the one copy where there is one.
    ///
    /// # Safety
    /// Nobody writes them while they are used.
    #[inline]
    pub(super) unsafe fn rows(
        &self,
        buffer: Buffer,
        sample: usize,
        row: usize,
        n: usize,
    ) -> &'a [E] {
        let (at, width) = self.place(buffer, sample, row);
        // SAFETY: the caller's promise.
        unsafe { self.memory.slice(at, n * width) }
    }

    /// The same rows, to be written.
    ///
    /// # Safety
    /// Nobody else uses them meanwhile.
    #[allow(clippy::mut_from_ref)]
    #[inline]
    pub(super) unsafe fn rows_mut(
        &self,
        buffer: Buffer,
        sample: usize,
        row: usize,
        n: usize,
    ) -> &'a mut [E] {
        let (at, width) = self.place(buffer, sample, row);
        // SAFETY: the caller's promise.
        unsafe { self.memory.slice_mut(at, n * width) }
    }

    /// `n` numbers of scratch of a thread.
    ///
    /// # Safety
    /// Only this thread uses them, and no other slice of them is alive.
    #[allow(clippy::mut_from_ref)]
    #[inline]
    pub(super) unsafe fn scratch(&self, thread: usize, at: usize, n: usize) -> &'a mut [E] {
        assert!(at + n <= self.scratch_len);
        // SAFETY: the caller's promise.
        unsafe { self.scratch.slice_mut(thread * self.scratch_len + at, n) }
    }
}
