//! Changing the bodies of a running world: what they are made of, and which are one.

use pliant_core::backend::Backend;
use pliant_core::body::Body;
use pliant_core::error::BuildError;

use super::rebuild::{Heir, Member};
use super::{BodyId, WorldOn};

impl<B: Backend> WorldOn<B> {
    /// Changes what a body is made of while time runs: masses, compliances, materials, constraints of any kind, pins, surfaces.
    /// `change` gets the description of the body ([`WorldOn::body`]) and returns another one of the same particles.
    ///
    /// Where particles are, how they move and where pins were sent is kept bit for bit, for this body and all others; the start
    /// positions and velocities of the new description do not count. So do, where they are the same as before: attachments
    /// (their targets), links, hinges and clusters that flowed, skins, fastenings, and what the solver remembers of contacts if
    /// particles, pins, attachments, surfaces and clusters are the same.
    ///
    /// The model is built again, but memory order and schedules are chosen anew only if constraints join other particles or pins
    /// changed: other masses and compliances cost less than other links.
    ///
    /// ```
    /// use pliant::prelude::*;
    ///
    /// let mut world = World::new();
    /// let cloth = world.add(Body::cloth(&ClothGrid::square(1.0, 10))?.pinned([0, 9]))?;
    /// world.step(1.0 / 60.0)?;
    /// // It gets wet: three times as heavy, and softer.
    /// world.edit(cloth, |body| {
    ///     let mass: f64 = body.masses().iter().sum();
    ///     Ok(body.with_mass(3.0 * mass).with_compliance(Role::Stretch, 1e-5))
    /// })?;
    /// world.step(1.0 / 60.0)?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such body, `change` fails, the new description has another number of particles
    /// ([`BuildError::Length`]; add or remove a body instead), or something is wrong with it; the world is then as it was.
    pub fn edit(
        &mut self,
        id: BodyId,
        change: impl FnOnce(Body) -> Result<Body, BuildError>,
    ) -> Result<(), BuildError> {
        let index = self.handles.find(id)?;
        let before = &self.members[index].body;
        let expected = before.particle_count();
        let changed = change(before.clone())?;
        let found = changed.particle_count();
        if found != expected {
            return Err(BuildError::Length { what: "the list of particles of an edited body", found, expected });
        }
        self.change_body(index, changed)
    }

    /// Makes one body of several: particles, constraints and triangles of the first, then of the second, and so on. Old handles are
    /// stale from then on; the new body stands behind all others.
    ///
    /// Positions, velocities, pins and their targets, attachments, rest shapes that flowed, forces, skins and fastenings are kept
    /// bit for bit, with particles renumbered. Nothing holds the parts together: [`WorldOn::edit`] adds the links of a seam. Grids
    /// go on as any mesh, so that their links are solved in another order than before.
    ///
    /// ```
    /// use pliant::prelude::*;
    ///
    /// let mut world = World::new();
    /// let left = world.add(Body::cloth(&ClothGrid::square(1.0, 10))?.pinned([0, 90]))?;
    /// let right = world.add(Body::cloth(&ClothGrid::square(1.0, 10))?.translated([1.1, 0.0, 0.0]).pinned([9, 99]))?;
    /// let both = world.merge(&[left, right])?;
    /// // Sews the last column of the left cloth to the first of the right one.
    /// world.edit(both, |mut body| {
    ///     for row in 0..10 {
    ///         body.tables_mut().distance.push(Role::Stretch, 0, [10 * row + 9, 100 + 10 * row], [0.1]);
    ///     }
    ///     Ok(body)
    /// })?;
    /// world.step(1.0 / 60.0)?;
    /// assert!(!world.contains(left) && world.positions(both)?.len() == 200);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// When a body is not there or listed twice, or bodies differ in what there is one of a body, as for [`Body::merged`]; the world
    /// is then as it was.
    pub fn merge(&mut self, ids: &[BodyId]) -> Result<BodyId, BuildError> {
        let members = ids.iter().map(|&id| self.handles.find(id)).collect::<Result<Vec<_>, _>>()?;
        for (row, id) in ids.iter().enumerate() {
            if let Some(first) = ids[..row].iter().position(|earlier| earlier == id) {
                return Err(BuildError::MergedTwice { row, first });
            }
        }
        let merged = Body::merged(members.iter().map(|&member| &self.members[member].body))?;
        let kept = (0..self.members.len()).filter(|member| !members.contains(member));
        let mut heirs: Vec<_> = kept.map(|member| Heir::kept(&self.members[member].body, member)).collect();
        heirs.push(Heir::made_of(&merged, members.clone()));
        let draft = self.draft(&heirs)?;
        #[cfg(feature = "collision")]
        let counts: Vec<u32> = members.iter().map(|&member| self.range_of(member).len() as u32).collect();
        self.adopt(draft)?;
        for &id in ids {
            self.handles.remove(id);
        }
        self.members.retain(|member| !ids.contains(&member.id));
        let whole = self.handles.insert(self.members.len());
        self.members.push(Member::new(merged, whole));
        #[cfg(feature = "collision")]
        self.pass_on(ids.iter().copied().zip(counts), whole);
        Ok(whole)
    }

    /// What hung on parts hangs on the whole; parts come with their number of particles, in order.
    #[cfg(feature = "collision")]
    fn pass_on(&mut self, parts: impl Iterator<Item = (BodyId, u32)>, whole: BodyId) {
        let mut first = 0;
        for (part, count) in parts {
            self.skins.pass_on(part, whole, first);
            #[cfg(feature = "rigid")]
            self.pass_on_fastenings(part, whole, first);
            first += count;
        }
        #[cfg(feature = "rigid")]
        self.refasten();
    }
}
