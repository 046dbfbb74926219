//! Snapshots: the moving state of a simulation as bytes that resume it bit for bit, and how parts of it are written and read.
//!
//! What changes while time runs is in a snapshot, what was built is not: a fingerprint says for which topology it is. Whoever has a
//! memory writes it with a [`Writer`] and reads it back, in the same order, with a [`Reader`].
//! ```text
//!   magic   version   length   fingerprint   state …   checksum          little-endian, 64 bits each but the state
//! ```

use core::fmt::{self, Debug, Write as _};

use crate::columns::Columns;
use crate::error::BuildError;
use crate::lane::Real;

/// Why bytes are not a snapshot of this simulation; nothing has changed then.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// Bytes are missing or too many.
    #[error("the snapshot has {found} bytes instead of {expected}; was it cut off?")]
    Length {
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// They begin as no snapshot does.
    #[error("these bytes are no snapshot")]
    NotASnapshot,
    /// Another version of this library wrote them.
    #[error("the snapshot has format {found}, this version reads {expected}; take it again with this version")]
    Version {
        /// Its format.
        found: u64,
        /// The format that is understood.
        expected: u64,
    },
    /// A byte has changed since.
    #[error("the snapshot is damaged: its checksum does not match")]
    Damaged,
    /// It holds numbers that no simulation has.
    #[error("a {what} in the snapshot is not finite or has no direction; no simulation wrote that")]
    NotFinite {
        /// What the number is of.
        what: &'static str,
    },
    /// It was taken of something else.
    #[error(
        "the snapshot belongs to another simulation: {what} differ; build the same bodies, solver and precision first"
    )]
    Foreign {
        /// What is different.
        what: &'static str,
    },
    /// Something has no description that could be written down.
    #[error("{what} {row} cannot be written into a full snapshot: {reason}")]
    Unwritable {
        /// The list it is in.
        what: &'static str,
        /// Row of the list.
        row: usize,
        /// Why, and what to do instead.
        reason: &'static str,
    },
    /// The descriptions in a full snapshot are none.
    #[error("the descriptions in the snapshot cannot be read; was it written by a build with other features?")]
    Unreadable,
    /// What a full snapshot describes is refused.
    #[error("the scene in the snapshot cannot be built: {0}")]
    Scene(#[from] BuildError),
}

/// How snapshots begin.
const MAGIC: u64 = u64::from_le_bytes(*b"pliantSS");
/// The format that this version writes and reads.
const VERSION: u64 = 2;
/// Bytes before and after the state.
const HEAD: usize = 32;
const TAIL: usize = 8;

/// The moving state of a simulation as bytes, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    bytes: Vec<u8>,
}

impl Snapshot {
    /// A snapshot of what `state` writes, for a topology with this fingerprint.
    pub fn new(fingerprint: u64, state: impl FnOnce(&mut Writer)) -> Self {
        let mut writer = Writer { bytes: Vec::new() };
        for word in [MAGIC, VERSION, 0, fingerprint] {
            writer.u64(word);
        }
        state(&mut writer);
        let mut bytes = writer.bytes;
        let length = (bytes.len() + TAIL) as u64;
        bytes[16..24].copy_from_slice(&length.to_le_bytes());
        let sum = checksum(&bytes);
        bytes.extend(sum.to_le_bytes());
        Self { bytes }
    }

    /// All bytes, to be stored or sent.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// A snapshot from bytes that were stored or sent.
    ///
    /// # Errors
    /// When they are none, were cut off, have changed, or come from another version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SnapshotError> {
        if bytes.len() < HEAD + TAIL {
            return Err(SnapshotError::Length { found: bytes.len(), expected: HEAD + TAIL });
        }
        if word(bytes, 0) != MAGIC {
            return Err(SnapshotError::NotASnapshot);
        }
        if word(bytes, 8) != VERSION {
            return Err(SnapshotError::Version { found: word(bytes, 8), expected: VERSION });
        }
        let expected = usize::try_from(word(bytes, 16)).unwrap_or(usize::MAX);
        if expected != bytes.len() {
            return Err(SnapshotError::Length { found: bytes.len(), expected });
        }
        let end = bytes.len() - TAIL;
        if checksum(&bytes[..end]) != word(bytes, end) {
            return Err(SnapshotError::Damaged);
        }
        Ok(Self { bytes: bytes.to_vec() })
    }

    /// The state, to be read in the order in which it was written.
    ///
    /// # Errors
    /// When it was taken of something with another fingerprint.
    pub fn read(&self, fingerprint: u64) -> Result<Reader<'_>, SnapshotError> {
        if word(&self.bytes, 24) != fingerprint {
            return Err(SnapshotError::Foreign { what: "bodies, constraints, precision or features of the build" });
        }
        Ok(Reader { bytes: &self.bytes[HEAD..self.bytes.len() - TAIL] })
    }
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|k| bytes[at + k]))
}

/// The hash of bytes. Every step is one-to-one in the hash and in the word: one changed word always shows.
fn checksum(bytes: &[u8]) -> u64 {
    let mut hash = Fingerprint::new();
    let (words, rest) = bytes.as_chunks::<8>();
    for &word in words {
        hash.add(u64::from_le_bytes(word));
    }
    for &byte in rest {
        hash.add(u64::from(byte));
    }
    hash.add(bytes.len() as u64);
    hash.value()
}

/// A hash over numbers, the same on every machine: tells topologies apart.
#[derive(Clone, Copy, Debug)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// Of nothing.
    #[allow(clippy::new_without_default, reason = "a hash of nothing is no default of anything")]
    pub fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
    /// Adds a number: FNV-1a by words, mixed so that high bits reach low ones.
    pub fn add(&mut self, word: u64) {
        let mixed = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 29);
    }
    /// Adds numbers and how many they are.
    pub fn add_all(&mut self, words: impl IntoIterator<Item = u64>) {
        let mut count = 0;
        for word in words {
            self.add(word);
            count += 1;
        }
        self.add(count);
    }
    /// Adds a name.
    pub fn add_name(&mut self, name: &str) {
        self.add_all(name.bytes().map(u64::from));
    }
    /// Adds real numbers, bit by bit.
    pub fn add_reals<S: Real>(&mut self, numbers: &[S]) {
        self.add_all(numbers.iter().map(|number| number.bits()));
    }
    /// Adds what a value looks like in debug output: for options, which are small and print all they are. Floating-point numbers
    /// print so that they read back as the same ones, so different options never look alike.
    pub fn add_shown(&mut self, value: &impl Debug) {
        // Writing into a hash cannot fail.
        let _ = write!(Shown(self), "{value:?}");
        self.add(0);
    }
    /// The hash so far.
    pub fn value(self) -> u64 {
        self.0
    }
}

/// Text on its way into a hash.
struct Shown<'a>(&'a mut Fingerprint);

impl fmt::Write for Shown<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // Byte by byte: in how many pieces a text arrives does not count.
        text.bytes().for_each(|byte| self.0.add(u64::from(byte)));
        Ok(())
    }
}

/// Writes state as bytes.
#[derive(Debug)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// A whole number.
    pub fn u64(&mut self, value: u64) {
        self.bytes.extend(value.to_le_bytes());
    }
    /// A whole number that 32 bits hold.
    pub fn u32(&mut self, value: u32) {
        self.bytes.extend(value.to_le_bytes());
    }
    /// How many of something follow.
    pub fn count(&mut self, count: usize) {
        self.u64(count as u64);
    }
    /// Yes or no.
    pub fn flag(&mut self, flag: bool) {
        self.bytes.push(u8::from(flag));
    }
    /// A number in double precision.
    pub fn f64(&mut self, value: f64) {
        self.u64(value.to_bits());
    }
    /// Numbers of the simulation's precision, without their count.
    pub fn reals<S: Real>(&mut self, values: &[S]) {
        // Memory is little-endian on every machine this runs on; where it is not, bytes are turned.
        if cfg!(target_endian = "little") {
            self.bytes.extend_from_slice(bytemuck::cast_slice(values));
        } else {
            let size = size_of::<S>();
            values.iter().for_each(|value| self.bytes.extend_from_slice(&value.bits().to_le_bytes()[..size]));
        }
    }
    /// Bytes, without their count.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }
    /// Vectors, without their count.
    pub fn columns<S: Real>(&mut self, columns: &Columns<S>) {
        columns.axes().into_iter().for_each(|axis| self.reals(axis));
    }
}

/// What something remembered at one moment, to go back to within the same run; its room is used again.
#[derive(Clone, Debug, Default)]
pub struct Keepsake {
    bytes: Vec<u8>,
}

impl Keepsake {
    /// Replaces what was kept by what `remember` writes.
    pub fn keep(&mut self, remember: impl FnOnce(&mut Writer)) {
        let mut writer = Writer { bytes: core::mem::take(&mut self.bytes) };
        writer.bytes.clear();
        remember(&mut writer);
        self.bytes = writer.bytes;
    }
    /// Lets `recall` read what was kept.
    ///
    /// # Errors
    /// Those of `recall`, and when it leaves something unread.
    pub fn give_back(
        &self,
        recall: impl FnOnce(&mut Reader<'_>) -> Result<(), SnapshotError>,
    ) -> Result<(), SnapshotError> {
        let mut reader = Reader { bytes: &self.bytes };
        recall(&mut reader)?;
        reader.finish()
    }
}

/// Reads state back in the order in which it was written.
#[derive(Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
}

/// What is wrong when the numbers that follow are not those that are expected.
const SHORT: SnapshotError = SnapshotError::Foreign { what: "what its parts remember" };

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], SnapshotError> {
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or(SHORT)?;
        self.bytes = rest;
        Ok(taken)
    }
    fn array<const N: usize>(&mut self) -> Result<[u8; N], SnapshotError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }
    /// A whole number.
    ///
    /// # Errors
    /// When nothing is left, as for all that follow.
    pub fn u64(&mut self) -> Result<u64, SnapshotError> {
        self.array().map(u64::from_le_bytes)
    }
    /// A whole number of 32 bits.
    ///
    /// # Errors
    /// When nothing is left.
    pub fn u32(&mut self) -> Result<u32, SnapshotError> {
        self.array().map(u32::from_le_bytes)
    }
    /// How many of something follow, each of at least so many bytes.
    ///
    /// # Errors
    /// When nothing is left, or not enough for so many.
    pub fn count(&mut self, least_bytes: usize) -> Result<usize, SnapshotError> {
        let count = usize::try_from(self.u64()?).map_err(|_| SHORT)?;
        if count.checked_mul(least_bytes).is_none_or(|bytes| bytes > self.bytes.len()) {
            return Err(SHORT);
        }
        Ok(count)
    }
    /// A count that must be this.
    ///
    /// # Errors
    /// When it is another, or nothing is left.
    pub fn exactly(&mut self, count: usize, what: &'static str) -> Result<(), SnapshotError> {
        if self.u64()? == count as u64 { Ok(()) } else { Err(SnapshotError::Foreign { what }) }
    }
    /// A hash that must be this.
    ///
    /// # Errors
    /// When it is another, or nothing is left.
    pub fn agrees(&mut self, hash: u64, what: &'static str) -> Result<(), SnapshotError> {
        if self.u64()? == hash { Ok(()) } else { Err(SnapshotError::Foreign { what }) }
    }
    /// Yes or no.
    ///
    /// # Errors
    /// When nothing is left, or it is neither.
    pub fn flag(&mut self) -> Result<bool, SnapshotError> {
        match self.array::<1>()? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(SHORT),
        }
    }
    /// A number in double precision.
    ///
    /// # Errors
    /// When nothing is left.
    pub fn f64(&mut self) -> Result<f64, SnapshotError> {
        self.u64().map(f64::from_bits)
    }
    /// As many numbers as there is room for.
    ///
    /// # Errors
    /// When not enough are left; the room is then as it was.
    pub fn reals<S: Real>(&mut self, into: &mut [S]) -> Result<(), SnapshotError> {
        let bytes = self.take(size_of_val(into))?;
        if cfg!(target_endian = "little") {
            bytemuck::cast_slice_mut(into).copy_from_slice(bytes);
        } else {
            for (to, from) in into.iter_mut().zip(bytes.chunks_exact(size_of::<S>())) {
                let to = bytemuck::bytes_of_mut(to);
                to.iter_mut().zip(from.iter().rev()).for_each(|(to, from)| *to = *from);
            }
        }
        Ok(())
    }
    /// So many bytes.
    ///
    /// # Errors
    /// When not enough are left.
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], SnapshotError> {
        self.take(count)
    }
    /// One number.
    ///
    /// # Errors
    /// When nothing is left.
    pub fn real<S: Real>(&mut self) -> Result<S, SnapshotError> {
        let mut one = [S::ZERO];
        self.reals(&mut one)?;
        Ok(one[0])
    }
    /// One vector.
    ///
    /// # Errors
    /// When nothing is left.
    pub fn vector<S: Real>(&mut self) -> Result<[S; 3], SnapshotError> {
        let mut vector = [S::ZERO; 3];
        self.reals(&mut vector)?;
        Ok(vector)
    }
    /// As many vectors as there is room for.
    ///
    /// # Errors
    /// When not enough are left.
    pub fn columns<S: Real>(&mut self, into: &mut Columns<S>) -> Result<(), SnapshotError> {
        [&mut into.x, &mut into.y, &mut into.z].into_iter().try_for_each(|axis| self.reals(axis))
    }
    /// As many vectors as there is room for, all of them finite; nothing is read when one is not.
    ///
    /// # Errors
    /// When not enough are left, or a number is not finite.
    pub fn finite_columns<S: Real>(&mut self, into: &mut Columns<S>, what: &'static str) -> Result<(), SnapshotError> {
        let mut ahead = Reader { bytes: self.bytes };
        for _ in 0..3 * into.len() {
            if !ahead.real::<S>()?.is_finite() {
                return Err(SnapshotError::NotFinite { what });
            }
        }
        self.columns(into)
    }
    /// As many numbers as there is room for, all of them finite.
    ///
    /// # Errors
    /// When not enough are left, or a number is not finite.
    pub fn finite_reals<S: Real, const N: usize>(&mut self, what: &'static str) -> Result<[S; N], SnapshotError> {
        let mut numbers = [S::ZERO; N];
        self.reals(&mut numbers)?;
        if numbers.iter().all(|number| number.is_finite()) {
            Ok(numbers)
        } else {
            Err(SnapshotError::NotFinite { what })
        }
    }
    /// The end: nothing may be left.
    ///
    /// # Errors
    /// When something is.
    pub fn finish(self) -> Result<(), SnapshotError> {
        if self.bytes.is_empty() { Ok(()) } else { Err(SHORT) }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]
mod tests {
    use super::*;

    fn sample() -> Snapshot {
        Snapshot::new(7, |to| {
            to.reals(&[1.0_f32, -0.0, f32::NAN]);
            to.flag(true);
            to.u32(5);
            to.count(1);
            to.columns(&[[1.0_f64, 2.0, 3.0]].into_iter().collect::<Columns<f64>>());
        })
    }

    #[test]
    fn what_was_written_is_read_bit_for_bit() {
        let copy = Snapshot::from_bytes(sample().as_bytes()).unwrap();
        let mut from = copy.read(7).unwrap();
        let mut three = [0.0_f32; 3];
        from.reals(&mut three).unwrap();
        assert_eq!(three.map(f32::to_bits), [1.0, -0.0, f32::NAN].map(f32::to_bits));
        assert_eq!((from.flag(), from.u32(), from.count(24)), (Ok(true), Ok(5), Ok(1)));
        let mut columns = Columns::<f64>::zeros(1);
        from.columns(&mut columns).unwrap();
        assert_eq!(columns.get(0), [1.0, 2.0, 3.0]);
        assert_eq!(from.finish(), Ok(()));
        assert!(matches!(copy.read(8), Err(SnapshotError::Foreign { .. })));
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        let good = sample();
        for at in 0..good.as_bytes().len() {
            assert!(Snapshot::from_bytes(&good.as_bytes()[..at]).is_err(), "cut at {at}");
            for bit in 0..8 {
                let mut bad = good.as_bytes().to_vec();
                bad[at] ^= 1 << bit;
                assert!(Snapshot::from_bytes(&bad).is_err(), "bit {bit} of byte {at}");
            }
        }
        let mut long = good.as_bytes().to_vec();
        long.push(0);
        assert!(matches!(Snapshot::from_bytes(&long), Err(SnapshotError::Length { .. })));
    }

    #[test]
    fn counts_that_lie_are_refused_before_anything_is_allocated() {
        let lie = Snapshot::new(0, |to| to.count(usize::MAX));
        assert!(lie.read(0).unwrap().count(16).is_err());
        let lie = Snapshot::new(0, |to| to.count(3));
        assert!(lie.read(0).unwrap().exactly(4, "bodies").is_err());
    }
}
