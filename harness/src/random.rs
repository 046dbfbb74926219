//! SplitMix64: a small random generator with the same numbers everywhere, for soaks and tests.

/// The state of the generator.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator that always yields the same sequence for the same seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in [0, count); 0 for none.
    pub fn below(&mut self, count: usize) -> usize {
        (self.bits() % count.max(1) as u64) as usize
    }

    /// A number in [low, high).
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.bits() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64))
    }

    /// A point in the cube [−half, half)³.
    pub fn point(&mut self, half: f64) -> [f64; 3] {
        std::array::from_fn(|_| self.between(-half, half))
    }

    /// A unit vector, every direction equally likely.
    pub fn direction(&mut self) -> [f64; 3] {
        loop {
            let p = self.point(1.0);
            let length_sq: f64 = p.iter().map(|c| c * c).sum();
            if (1e-3..1.0).contains(&length_sq) {
                return p.map(|c| c / length_sq.sqrt());
            }
        }
    }
}
