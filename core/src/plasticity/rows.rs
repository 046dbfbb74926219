//! The rows of a set that flow, and how far they have flowed.

use core::ops::Range;

use super::{Plasticity, Yields};
use crate::body::Role;
use crate::columns::Columns;
use crate::lane::Real;
use crate::snapshot::{Reader, SnapshotError, Writer};
use crate::vec3::Vec3;

/// Plastic rows of one set, body after body, in double precision.
#[derive(Clone, Debug)]
pub struct PlasticRows<const P: usize> {
    /// Rows of the set, ascending.
    pub(crate) rows: Vec<u32>,
    laws: Vec<Plasticity>,
    /// Parameters that the bodies were made with.
    start: Vec<[f64; P]>,
    /// Parameters after everything that flowed.
    pub(crate) now: Vec<[f64; P]>,
    /// By body: how many plastic rows, and rows at all, there are before it.
    bodies: Vec<[u32; 2]>,
}

impl<const P: usize> Default for PlasticRows<P> {
    fn default() -> Self {
        Self { rows: Vec::new(), laws: Vec::new(), start: Vec::new(), now: Vec::new(), bodies: Vec::new() }
    }
}

impl<const P: usize> PlasticRows<P> {
    /// The rows, ascending.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }
    /// Whether nothing flows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
    /// The parameters that a row was made with, if it is plastic.
    pub fn start(&self, row: usize) -> Option<&[f64; P]> {
        self.rows.binary_search(&u32::try_from(row).ok()?).ok().map(|at| &self.start[at])
    }
    /// The laws, in the order of the rows.
    pub(crate) fn laws(&self) -> &[Plasticity] {
        &self.laws
    }

    /// Appends a body whose first row in the set is `first`; returns how many of its rows flow.
    pub(crate) fn append(
        &mut self,
        laws: &[(Role, Plasticity)],
        first: usize,
        roles: &[Role],
        p: &[[f64; P]],
    ) -> usize {
        self.bodies.push([self.rows.len() as u32, first as u32]);
        if laws.is_empty() {
            return 0;
        }
        let before = self.rows.len();
        for (row, (role, parameters)) in roles.iter().zip(p).enumerate() {
            if let Some((_, law)) = laws.iter().rev().find(|(of, _)| of == role) {
                self.rows.push((first + row) as u32);
                self.laws.push(*law);
                self.start.push(*parameters);
                self.now.push(*parameters);
            }
        }
        self.rows.len() - before
    }

    /// Lets every row flow for `dt` \[s\] and writes changed parameters to their columns; returns whether any did.
    pub(crate) fn flow<K: Yields<N, P>, S: Real, const N: usize>(
        &mut self,
        ids: &[[u32; N]],
        columns: &mut [Vec<S>; P],
        x: &Columns<S>,
        dt: f64,
    ) -> bool {
        let mut any = false;
        // Rows of a body follow the same law: the exponential is rarely needed anew.
        let (mut creep, mut left) = (0.0, 1.0);
        for (i, &row) in self.rows.iter().enumerate() {
            let law = &self.laws[i];
            if law.creep != creep {
                (creep, left) = (law.creep, law.left_after(dt));
            }
            if left >= 1.0 {
                continue;
            }
            // Loops, not `map`: a closure would send every corner through memory.
            let mut corners = [Vec3::zero(); N];
            for k in 0..N {
                let [a, b, c] = x.get(ids[row as usize][k] as usize);
                corners[k] = Vec3::new(a.to_f64(), b.to_f64(), c.to_f64());
            }
            let flowed = K::flow(law, left, &self.start[i], &self.now[i], &corners);
            if flowed != self.now[i] && flowed.iter().all(|value| S::from_f64(*value).is_finite()) {
                self.now[i] = flowed;
                self.put(i, columns);
                any = true;
            }
        }
        any
    }

    /// Writes the parameters of a plastic row, rounded, to their columns.
    fn put<S: Real>(&self, i: usize, columns: &mut [Vec<S>; P]) {
        for (column, &value) in columns.iter_mut().zip(&self.now[i]) {
            column[self.rows[i] as usize] = S::from_f64(value);
        }
    }

    /// Writes all of them.
    pub(crate) fn put_all<S: Real>(&self, columns: &mut [Vec<S>; P]) {
        (0..self.rows.len()).for_each(|i| self.put(i, columns));
    }

    /// A body's first row in the set, plastic or not.
    pub(crate) fn first_row(&self, body: usize) -> u32 {
        self.of_body(body).1
    }

    /// The plastic rows of a body, and its first row in the set.
    pub(crate) fn of_body(&self, body: usize) -> (Range<usize>, u32) {
        let Some(&[first, row]) = self.bodies.get(body) else { return (0..0, 0) };
        let end = self.bodies.get(body + 1).map_or(self.rows.len(), |next| next[0] as usize);
        (first as usize..end, row)
    }

    /// Takes over what flowed in a body of another model; `origin` is the row there of each row here, by the body's own
    /// numbers, and nothing when they are the same.
    pub(crate) fn inherit(&mut self, body: usize, from: &Self, old_body: usize, origin: Option<&[u32]>) {
        let ((range, first), (old_range, old_first)) = (self.of_body(body), from.of_body(old_body));
        for i in range {
            let own = self.rows[i] - first;
            let old = old_first + origin.map_or(own, |origin| origin[own as usize]);
            if let Ok(at) = from.rows[old_range.clone()].binary_search(&old) {
                self.now[i] = from.now[old_range.start + at];
            }
        }
    }

    /// Lets a plastic row go on from the first of these rows of another list that was made with the same parameters.
    pub(crate) fn go_on(&mut self, at: usize, from: &Self, mut candidates: impl Iterator<Item = usize>) {
        if let Some(old) = candidates.find(|&old| from.start[old] == self.start[at]) {
            self.now[at] = from.now[old];
        }
    }

    /// Writes down what flowed.
    pub(crate) fn remember(&self, to: &mut Writer) {
        self.now.iter().flatten().for_each(|&value| to.f64(value));
    }
    /// Takes it back.
    pub(crate) fn recall(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        self.now.iter_mut().flatten().try_for_each(|value| {
            *value = from.f64()?;
            Ok(())
        })
    }
}
