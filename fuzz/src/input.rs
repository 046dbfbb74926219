//! Bytes as choices: what a target reads its numbers from.

/// A cursor over the input; behind its end everything is zero.
pub struct Input<'a> {
    bytes: &'a [u8],
}

/// Numbers that break things.
const ODD: [f64; 16] = [
    0.0,
    -0.0,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    1e-310,
    1e-42,
    -1e-42,
    1e-12,
    1.0,
    -1.0,
    1e7,
    1e9,
    -1e12,
    3e38,
    f64::MAX,
];

/// How a trailer begins.
const TRAILER: u8 = 0xf5;

/// Splits an optional trailer off an input: its last byte, if the one before says so. What a target chooses by it is apart from what
/// it reads from the front, so that inputs without one mean what they always did: choice 0.
pub fn choice(data: &[u8]) -> (&[u8], u8) {
    match data {
        [rest @ .., TRAILER, choice] => (rest, *choice),
        _ => (data, 0),
    }
}

impl<'a> Input<'a> {
    /// From the start of these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }
    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
    /// What is left.
    pub fn rest(&self) -> &'a [u8] {
        self.bytes
    }
    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        *first
    }
    fn array<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.byte())
    }
    /// The next 32 bits.
    pub fn word(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }
    /// A number below `count`, from one byte; 0 for none.
    pub fn below(&mut self, count: usize) -> usize {
        usize::from(self.byte()) % count.max(1)
    }
    /// A finite number in [−half, half], from two bytes.
    pub fn within(&mut self, half: f64) -> f64 {
        half * f64::from(i16::from_le_bytes(self.array())) / 32768.0
    }
    /// Mostly a sane number in [0, top], now and then an odd one, rarely any bits at all.
    pub fn number(&mut self, top: f64) -> f64 {
        match self.byte() {
            255 => f64::from_bits(u64::from_le_bytes(self.array())),
            odd @ 236..=254 => ODD[usize::from(odd) % ODD.len()],
            sane => top * f64::from(sane) / 235.0,
        }
    }
    /// A point in a cube, all coordinates finite.
    pub fn point(&mut self, half: f64) -> [f64; 3] {
        std::array::from_fn(|_| self.within(half))
    }
}
