//! Which pairs of primitives were told before, so that a look tells the new ones alone.

/// Pairs of plates, and for each the pairs of primitives that were told, one bit each (see `between`).
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    entries: Vec<Entry>,
    /// Open addressing: the entry at each place, plus one. At least half of the places are free.
    table: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    plates: [u32; 2],
    bits: u64,
}

impl Known {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.table.fill(0);
    }

    /// What is known of two plates.
    #[inline]
    pub fn of(&self, plates: [u32; 2]) -> u64 {
        if self.table.is_empty() {
            return 0;
        }
        match self.table[self.place(plates)] {
            0 => 0,
            entry => self.entries[entry as usize - 1].bits,
        }
    }

    /// Takes note of what was told of two plates.
    pub fn add(&mut self, plates: [u32; 2], bits: u64) {
        if 2 * (self.entries.len() + 1) > self.table.len() {
            self.grow();
        }
        let place = self.place(plates);
        match self.table[place] {
            0 => {
                self.entries.push(Entry { plates, bits });
                self.table[place] = self.entries.len() as u32;
            }
            entry => self.entries[entry as usize - 1].bits |= bits,
        }
    }

    /// Where two plates are, or will be.
    #[inline]
    fn place(&self, plates: [u32; 2]) -> usize {
        let mask = self.table.len() - 1;
        let mixed = (u64::from(plates[0]) << 32 | u64::from(plates[1])).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut at = (mixed ^ mixed >> 32) as usize & mask;
        while self.table[at] != 0 && self.entries[self.table[at] as usize - 1].plates != plates {
            at = (at + 1) & mask;
        }
        at
    }

    fn grow(&mut self) {
        let size = (2 * self.table.len()).max(64);
        self.table.clear();
        self.table.resize(size, 0);
        for k in 0..self.entries.len() {
            let place = self.place(self.entries[k].plates);
            self.table[place] = k as u32 + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_told_is_known_and_nothing_else() {
        let mut known = Known::default();
        assert_eq!(known.of([0, 0]), 0);
        for round in 0..2 {
            for k in 0..1000_u32 {
                known.add([k % 37, k], 1 << (k % 40));
                known.add([k % 37, k], 1 << (k % 7));
            }
            for k in 0..1000_u32 {
                assert_eq!(known.of([k % 37, k]), 1 << (k % 40) | 1 << (k % 7), "round {round}, pair {k}");
                assert_eq!(known.of([k, 1000 + k]), 0);
            }
            known.clear();
            assert_eq!(known.of([1, 1]), 0);
        }
    }
}
