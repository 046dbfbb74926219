//! Reading a world: columns without a copy, packed vertices and normals for drawing.

use pliant_core::backend::Backend;
use pliant_core::columns::Columns;
use pliant_core::error::BuildError;
use pliant_core::lane::Real;
use pliant_core::mesh::vertex_normals;

use super::{BodyId, WorldOn};

/// Positions or velocities of one body, one slice a component, straight from the world's memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VectorsView<'a, S> {
    x: &'a [S],
    y: &'a [S],
    z: &'a [S],
}

impl<'a, S: Real> VectorsView<'a, S> {
    fn new(columns: &'a Columns<S>, range: core::ops::Range<usize>) -> Self {
        let [x, y, z] = columns.axes().map(|axis| &axis[range.clone()]);
        Self { x, y, z }
    }
    /// First components.
    pub fn x(&self) -> &'a [S] {
        self.x
    }
    /// Second components.
    pub fn y(&self) -> &'a [S] {
        self.y
    }
    /// Third components.
    pub fn z(&self) -> &'a [S] {
        self.z
    }
    /// How many vectors there are.
    pub fn len(&self) -> usize {
        self.x.len()
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.x.is_empty()
    }
    /// Vector `i`.
    ///
    /// # Panics
    /// When `i` is out of range, like a slice.
    pub fn get(&self, i: usize) -> [S; 3] {
        [self.x[i], self.y[i], self.z[i]]
    }
    /// All vectors in order.
    pub fn iter(&self) -> VectorsIter<'a, S> {
        VectorsIter { view: *self, left: 0..self.len() }
    }
}

/// The vectors of a [`VectorsView`] in order.
#[derive(Clone, Debug)]
pub struct VectorsIter<'a, S> {
    view: VectorsView<'a, S>,
    left: core::ops::Range<usize>,
}

impl<S: Real> Iterator for VectorsIter<'_, S> {
    type Item = [S; 3];
    fn next(&mut self) -> Option<[S; 3]> {
        self.left.next().map(|i| self.view.get(i))
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
    fn nth(&mut self, n: usize) -> Option<[S; 3]> {
        self.left.nth(n).map(|i| self.view.get(i))
    }
}

impl<S: Real> DoubleEndedIterator for VectorsIter<'_, S> {
    fn next_back(&mut self) -> Option<[S; 3]> {
        self.left.next_back().map(|i| self.view.get(i))
    }
}

impl<S: Real> ExactSizeIterator for VectorsIter<'_, S> {}

impl<'a, S: Real> IntoIterator for VectorsView<'a, S> {
    type Item = [S; 3];
    type IntoIter = VectorsIter<'a, S>;
    fn into_iter(self) -> VectorsIter<'a, S> {
        self.iter()
    }
}

impl<'a, S: Real> IntoIterator for &VectorsView<'a, S> {
    type Item = [S; 3];
    type IntoIter = VectorsIter<'a, S>;
    fn into_iter(self) -> VectorsIter<'a, S> {
        self.iter()
    }
}

impl<B: Backend> WorldOn<B> {
    /// Positions of a body's particles \[m\], without a copy.
    ///
    /// # Errors
    /// [`BuildError::NotFound`] when it was removed.
    pub fn positions(&self, id: BodyId) -> Result<VectorsView<'_, B::Scalar>, BuildError> {
        let range = self.range_of(self.handles.find(id)?);
        Ok(VectorsView::new(&self.particles.x, range))
    }

    /// Velocities of a body's particles \[m/s\], without a copy.
    ///
    /// # Errors
    /// [`BuildError::NotFound`] when it was removed.
    pub fn velocities(&self, id: BodyId) -> Result<VectorsView<'_, B::Scalar>, BuildError> {
        let range = self.range_of(self.handles.find(id)?);
        Ok(VectorsView::new(&self.particles.v, range))
    }

    /// Writes positions packed `x y z x y z …` into a vertex buffer of yours, one row a particle \[m\].
    ///
    /// One pass over the body, about a nanosecond a particle. `bytemuck::cast_slice_mut` turns the bytes of a mapped
    /// buffer into such rows.
    ///
    /// # Errors
    /// When there is no such body, or the buffer has not one row a particle; nothing is written then.
    pub fn write_vertices(&self, id: BodyId, to: &mut [[f32; 3]]) -> Result<(), BuildError> {
        let positions = self.positions(id)?;
        check_rows("vertex buffer", to.len(), positions.len())?;
        for (vertex, position) in to.iter_mut().zip(positions.iter()) {
            *vertex = position.map(single);
        }
        Ok(())
    }

    /// Positions packed for a vertex buffer \[m\]: `bytemuck::cast_slice` makes bytes of them, or vectors of `glam`.
    ///
    /// Costs a pass over the body, as [`WorldOn::write_vertices`], into a buffer that the world keeps for the body and
    /// allocates on the first call.
    ///
    /// # Errors
    /// [`BuildError::NotFound`] when it was removed.
    pub fn vertices(&mut self, id: BodyId) -> Result<&[[f32; 3]], BuildError> {
        let index = self.handles.find(id)?;
        let mut vertices = core::mem::take(&mut self.members[index].vertices);
        vertices.resize(self.range_of(index).len(), [0.0; 3]);
        let written = self.write_vertices(id, &mut vertices);
        self.members[index].vertices = vertices;
        written.map(|()| self.members[index].vertices.as_slice())
    }

    /// Writes unit normals, one row a particle: the mean of its triangles' normals by area; zero without triangles.
    ///
    /// # Errors
    /// When there is no such body, or the buffer has not one row a particle; nothing is written then.
    pub fn normals(&self, id: BodyId, to: &mut [[f32; 3]]) -> Result<(), BuildError> {
        let positions = self.positions(id)?;
        check_rows("normal buffer", to.len(), positions.len())?;
        vertex_normals(self.triangles(id)?, |vertex| positions.get(vertex).map(single), to)?;
        Ok(())
    }

    /// Writes positions and unit normals interleaved `x y z nx ny nz …` into a vertex buffer of yours, one row a particle.
    ///
    /// # Errors
    /// When there is no such body, or the buffer has not one row a particle; nothing is written then.
    pub fn write_interleaved(&self, id: BodyId, to: &mut [[f32; 6]]) -> Result<(), BuildError> {
        let positions = self.positions(id)?;
        let count = positions.len();
        check_rows("interleaved buffer", to.len(), count)?;
        // Normals into the first half; from the last one on they move to their places, which nobody needs any more.
        let halves: &mut [[f32; 3]] = bytemuck::cast_slice_mut(to);
        vertex_normals(self.triangles(id)?, |vertex| positions.get(vertex).map(single), &mut halves[..count])?;
        for (vertex, position) in positions.iter().enumerate().rev() {
            halves[2 * vertex + 1] = halves[vertex];
            halves[2 * vertex] = position.map(single);
        }
        Ok(())
    }

    /// Positions and unit normals interleaved for a vertex buffer; [`WorldOn::triangles`] are its indices.
    ///
    /// Into a buffer that the world keeps for the body and allocates on the first call, as [`WorldOn::vertices`].
    ///
    /// ```
    /// use pliant::{bytemuck, prelude::*};
    ///
    /// let mut world = World::new();
    /// let cloth = world.add(Body::cloth(&ClothGrid::square(1.0, 10))?)?;
    /// let indices: &[u8] = bytemuck::cast_slice(world.triangles(cloth)?);
    /// assert_eq!(indices.len(), 9 * 9 * 2 * 12);
    /// let vertices: &[u8] = bytemuck::cast_slice(world.interleaved(cloth)?);
    /// assert_eq!(vertices.len(), 100 * 24, "ready for a graphics card");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`BuildError::NotFound`] when it was removed.
    pub fn interleaved(&mut self, id: BodyId) -> Result<&[[f32; 6]], BuildError> {
        let index = self.handles.find(id)?;
        let mut rows = core::mem::take(&mut self.members[index].interleaved);
        rows.resize(self.range_of(index).len(), [0.0; 6]);
        let written = self.write_interleaved(id, &mut rows);
        self.members[index].interleaved = rows;
        written.map(|()| self.members[index].interleaved.as_slice())
    }

    /// Surface triangles of a body, by its own particle numbers: the index buffer to [`WorldOn::vertices`]
    /// and [`WorldOn::interleaved`].
    ///
    /// # Errors
    /// [`BuildError::NotFound`] when it was removed.
    pub fn triangles(&self, id: BodyId) -> Result<&[[u32; 3]], BuildError> {
        Ok(self.body(id)?.triangles())
    }
}

fn single<S: Real>(value: S) -> f32 {
    value.to_f64() as f32
}

fn check_rows(what: &'static str, found: usize, expected: usize) -> Result<(), BuildError> {
    if found == expected { Ok(()) } else { Err(BuildError::Length { what, found, expected }) }
}
