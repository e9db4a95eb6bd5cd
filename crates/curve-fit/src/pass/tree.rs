//! Sums of tiles joined in pairs, as a binary counter: at most log₂ tiles + 1 sets of sums.

/// A pairwise tree of sums, of which only the joined parts are kept.
///
/// Tile k joins as in a balanced tree over all tiles, however they come: one by one, or as trees
/// of neighbouring stretches ([`TileTree::append`]).
#[derive(Clone, Debug)]
pub struct TileTree {
    width: usize,
    /// Parts of this level are not joined: a stretch may start at a multiple of no larger ones.
    highest: u32,
    parts: Vec<Part>,
    spare: Vec<Vec<f64>>,
}

/// The sum of 2^level tiles.
#[derive(Clone, Debug)]
struct Part {
    level: u32,
    sums: Vec<f64>,
}

impl TileTree {
    /// A tree of tiles with `width` sums each.
    pub fn new(width: usize) -> Self {
        TileTree {
            width,
            highest: u32::MAX,
            parts: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// Joins parts up to 2^level tiles only, for a stretch that starts at a multiple of those.
    pub fn join_up_to(&mut self, level: u32) {
        self.highest = level;
    }

    /// Forgets all tiles; keeps the memory.
    pub fn clear(&mut self) {
        self.spare.extend(self.parts.drain(..).map(|p| p.sums));
    }

    /// Adds the next tile.
    pub fn push(&mut self, sums: &[f64]) {
        self.put(0, sums);
    }

    /// Adds a part of 2^level tiles, which starts at a multiple of as many.
    fn put(&mut self, level: u32, sums: &[f64]) {
        let mut own = self.spare.pop().unwrap_or_else(|| vec![0.0; self.width]);
        own.copy_from_slice(sums);
        let mut level = level;
        while level < self.highest && self.parts.last().is_some_and(|p| p.level == level) {
            let before = self.parts.pop().expect("just seen");
            for (sum, first) in own.iter_mut().zip(&before.sums) {
                *sum += first;
            }
            self.spare.push(before.sums);
            level += 1;
        }
        self.parts.push(Part { level, sums: own });
    }

    /// Adds the tiles of a tree whose stretch begins where this one ends, at a multiple of its
    /// largest parts.
    pub fn append(&mut self, next: &TileTree) {
        for part in &next.parts {
            self.put(part.level, &part.sums);
        }
    }

    /// The sum of everything: parts joined from the last to the first.
    pub fn total(&self, out: &mut [f64]) {
        out.fill(0.0);
        let mut parts = self.parts.iter().rev();
        if let Some(last) = parts.next() {
            out.copy_from_slice(&last.sums);
        }
        for part in parts {
            for (sum, first) in out.iter_mut().zip(&part.sums) {
                *sum += first;
            }
        }
    }

    /// Everything as numbers, for a checkpoint: level and sums of each part.
    pub fn parts(&self) -> impl Iterator<Item = (u32, &[f64])> {
        self.parts.iter().map(|p| (p.level, p.sums.as_slice()))
    }

    /// Puts back a part saved by [`TileTree::parts`].
    pub fn restore(&mut self, level: u32, sums: &[f64]) {
        let sums = sums.to_vec();
        self.parts.push(Part { level, sums });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tile(k: usize) -> [f64; 2] {
        [1.0 / (k + 3) as f64, ((k * 7919) % 1000) as f64 * 1e-3]
    }

    fn straight(n: usize) -> [f64; 2] {
        let mut tree = TileTree::new(2);
        (0..n).for_each(|k| tree.push(&tile(k)));
        let mut out = [0.0; 2];
        tree.total(&mut out);
        out
    }

    #[test]
    fn stretches_join_to_the_same_bits_as_one_stretch() {
        for n in [1, 2, 3, 7, 64, 100, 977] {
            for threads in [2, 3, 7] {
                let mut whole = TileTree::new(2);
                let (level, shares) = super::super::shares(n, threads);
                for share in shares {
                    let mut part = TileTree::new(2);
                    part.join_up_to(level);
                    share.for_each(|k| part.push(&tile(k)));
                    whole.append(&part);
                }
                let mut out = [0.0; 2];
                whole.total(&mut out);
                assert_eq!(out, straight(n), "{n} tiles, {threads} threads");
            }
        }
    }

    #[test]
    fn a_restored_tree_goes_on_to_the_same_bits() {
        let mut tree = TileTree::new(2);
        (0..45).for_each(|k| tree.push(&tile(k)));
        let mut again = TileTree::new(2);
        tree.parts()
            .for_each(|(level, sums)| again.restore(level, sums));
        (45..100).for_each(|k| again.push(&tile(k)));
        let mut out = [0.0; 2];
        again.total(&mut out);
        assert_eq!(out, straight(100));
    }
}
