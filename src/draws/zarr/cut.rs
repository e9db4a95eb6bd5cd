//! How large chunks are.

use super::array::indices;

/// Bytes of one chunk of all arrays together, at most.
const CHUNK_BYTES: usize = 16 << 20;
/// Smallest and largest size of the same where arrays are cut along their elements too.
const CUT_BYTES: [u64; 2] = [8 << 20, 64 << 20];
/// The share of memory that all draws of those elements take that share chunks.
const SHARE: u64 = 8;
/// Chunks into which a run is cut unless they would be larger than that.
const CHUNKS: usize = 10;

/// How arrays of draws are cut into chunks, which span all chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunks {
    /// Draws per chain in a chunk.
    pub draws: usize,
    /// Elements of one draw in a chunk, at most. All of them unless somebody will want a few
    /// elements of very many draws.
    pub elements: usize,
}

impl Chunks {
    /// All elements of so many draws.
    pub fn of_draws(draws: usize) -> Self {
        Chunks {
            draws: draws.max(1),
            elements: usize::MAX,
        }
    }

    /// For `total` draws per chain, one of all chains taking `per_draw` bytes. Where all take more
    /// than `in_memory_bytes`, arrays are cut along their elements.
    pub(super) fn fit(
        per_draw: usize,
        n_chains: usize,
        total: usize,
        in_memory_bytes: u64,
    ) -> Self {
        let per_draw = per_draw.max(1);
        let large = per_draw.saturating_mul(total) as u64 > in_memory_bytes;
        let share = in_memory_bytes / SHARE;
        let room = match large {
            true => share.clamp(CUT_BYTES[0], CUT_BYTES[1]) as usize / per_draw,
            false => CHUNK_BYTES / per_draw,
        };
        Chunks {
            draws: total.div_ceil(CHUNKS).min(room).max(1),
            elements: match large {
                true => (share as usize / (8 * n_chains * total).max(1)).max(1),
                false => usize::MAX,
            },
        }
    }

    /// Sizes of a chunk along the elements of a variable of `shape`, last axes first.
    pub(super) fn along(self, shape: &[usize]) -> Vec<usize> {
        let mut room = self.elements.max(1);
        let mut sizes: Vec<usize> = shape.iter().map(|&n| n.max(1)).collect();
        for size in sizes.iter_mut().rev() {
            let all = *size;
            *size = all.min(room);
            room = if *size < all { 1 } else { room / all };
            room = room.max(1);
        }
        sizes
    }
}

/// The chunks of the elements of a draw, and for each the end of its key and,
/// place by place, the position of the element in a draw; none outside the array.
pub(super) fn columns(shape: &[usize], chunk: &[usize]) -> Vec<(String, Vec<Option<usize>>)> {
    let counts: Vec<_> = shape
        .iter()
        .zip(chunk)
        .map(|(n, c)| 0..n.div_ceil(*c))
        .collect();
    let inside: Vec<_> = chunk.iter().map(|&c| 0..c).collect();
    let column = |at: Vec<usize>| {
        let position = |place: Vec<usize>| {
            let mut flat = 0;
            for (axis, &n) in shape.iter().enumerate() {
                let index = at[axis] * chunk[axis] + place[axis];
                if index >= n {
                    return None;
                }
                flat = flat * n + index;
            }
            Some(flat)
        };
        let key = at.iter().map(|i| format!(".{i}")).collect();
        (key, indices(&inside).into_iter().map(position).collect())
    };
    indices(&counts).into_iter().map(column).collect()
}
