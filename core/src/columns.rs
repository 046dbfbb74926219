//! Columns: how vectors rest in memory between steps, one array a component.

use core::ops::Range;

use crate::error::StepError;
use crate::lane::Real;

/// Vectors as a structure of arrays: the user's view of positions, velocities and forces.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(remote = "Self", deny_unknown_fields)
)]
pub struct Columns<S> {
    /// First components.
    pub x: Vec<S>,
    /// Second components.
    pub y: Vec<S>,
    /// Third components.
    pub z: Vec<S>,
}

impl<S: Real> Columns<S> {
    /// `count` zero vectors.
    pub fn zeros(count: usize) -> Self {
        Self { x: vec![S::ZERO; count], y: vec![S::ZERO; count], z: vec![S::ZERO; count] }
    }
    /// How many vectors there are.
    pub fn len(&self) -> usize {
        self.x.len()
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.x.is_empty()
    }
    /// How many vectors there are, if every component has as many entries: the lists are public, and somebody may have pushed onto
    /// one of them.
    ///
    /// # Errors
    /// The first component whose list is longer or shorter than that of the first: its axis, 1 or 2, and its entries.
    pub fn shape(&self) -> Result<usize, (usize, usize)> {
        let [x, y, z] = self.axes().map(<[S]>::len);
        match (y == x, z == x) {
            (true, true) => Ok(x),
            (false, _) => Err((1, y)),
            (true, false) => Err((2, z)),
        }
    }
    /// Checks that there are so many vectors; `what` names the list.
    ///
    /// # Errors
    /// [`StepError::Ragged`] when components are not equally many, [`StepError::WrongState`] when there are more or fewer vectors.
    pub fn fit(&self, what: &'static str, expected: usize) -> Result<(), StepError> {
        match self.shape() {
            Ok(found) if found == expected => Ok(()),
            Ok(found) => Err(StepError::WrongState { found, expected }),
            Err((axis, found)) => {
                let (axis, expected) = (['x', 'y', 'z'][axis], self.len());
                Err(StepError::Ragged { what, axis, found, expected })
            }
        }
    }
    /// Vector `i`.
    ///
    /// # Panics
    /// When `i` is out of range, like a slice.
    #[inline]
    pub fn get(&self, i: usize) -> [S; 3] {
        [self.x[i], self.y[i], self.z[i]]
    }
    /// Replaces vector `i`.
    ///
    /// # Panics
    /// When `i` is out of range, like a slice.
    #[inline]
    pub fn set(&mut self, i: usize, v: [S; 3]) {
        self.x[i] = v[0];
        self.y[i] = v[1];
        self.z[i] = v[2];
    }
    /// Appends a vector.
    pub fn push(&mut self, v: [S; 3]) {
        self.x.push(v[0]);
        self.y.push(v[1]);
        self.z.push(v[2]);
    }
    /// All vectors in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = [S; 3]> + '_ {
        (0..self.len()).map(|i| self.get(i))
    }
    /// The three components as slices, for bulk reading without a copy.
    pub fn axes(&self) -> [&[S]; 3] {
        [&self.x, &self.y, &self.z]
    }
    /// Copies the vectors of `from` from `start` on into a range, without allocating; rows that `from` has not are left alone.
    ///
    /// # Panics
    /// When the range is out of range, like a slice.
    pub fn copy_from(&mut self, range: Range<usize>, from: &Self, start: usize) {
        for (to, from) in [&mut self.x, &mut self.y, &mut self.z].into_iter().zip(from.axes()) {
            for (to, &value) in to[range.clone()].iter_mut().zip(from.get(start..).unwrap_or_default()) {
                *to = value;
            }
        }
    }
    /// The first vector with an infinite or NaN component.
    pub fn first_non_finite(&self) -> Option<usize> {
        (0..self.len()).find(|&i| !self.get(i).into_iter().all(S::is_finite))
    }
}

impl<S: Real> FromIterator<[S; 3]> for Columns<S> {
    fn from_iter<I: IntoIterator<Item = [S; 3]>>(vectors: I) -> Self {
        let mut columns = Self::zeros(0);
        for v in vectors {
            columns.push(v);
        }
        columns
    }
}

/// The moving state of a model's particles, in the user's order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Particles<S> {
    /// Positions \[m\].
    pub x: Columns<S>,
    /// Velocities \[m/s\].
    pub v: Columns<S>,
}

impl<S: Real> Particles<S> {
    /// Particles at rest at these positions.
    pub fn at_rest(x: Columns<S>) -> Self {
        let v = Columns::zeros(x.len());
        Self { x, v }
    }
    /// How many particles there are.
    pub fn len(&self) -> usize {
        self.x.len()
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.x.is_empty()
    }
    /// Checks that this is the state of so many particles.
    ///
    /// # Errors
    /// As for [`Columns::fit`].
    pub fn fit(&self, expected: usize) -> Result<(), StepError> {
        self.x.fit("position", expected)?;
        self.v.fit("velocity", expected)
    }
    /// A 64-bit FNV-1a hash over every bit of positions and velocities: equal ones hash equally on every machine.
    pub fn state_hash(&self) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for column in self.x.axes().into_iter().chain(self.v.axes()) {
            for value in column {
                for byte in value.bits().to_le_bytes() {
                    hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
                }
            }
        }
        hash
    }
}
