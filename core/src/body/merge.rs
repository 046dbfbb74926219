//! Merging: one body out of several.

use super::Body;
use crate::error::BuildError;

impl Body {
    /// One body out of several: particles, constraints, pins, triangles and clusters of the first, then of the second, and so on.
    /// Grids go on as any mesh.
    ///
    /// ```
    /// use pliant_core::body::{Body, Role};
    /// use pliant_core::mesh::ClothGrid;
    ///
    /// let half = Body::cloth(&ClothGrid::square(1.0, 5))?;
    /// let mut whole = Body::merged([&half, &half.clone().translated([1.2, 0.0, 0.0])])?;
    /// // A seam: the last particle of the first row to the first of the other half's.
    /// whole.tables_mut().distance.push(Role::Stretch, 0, [4, 25], [0.2]);
    /// # Ok::<(), pliant_core::error::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// When there is no body, a table's lists are not equally long, or bodies differ in what there is one of a body: tethers,
    /// plasticity, tearing, self contact. A
    /// balloon holds the volume inside all of its triangles and is not merged with anything.
    pub fn merged<'a>(bodies: impl IntoIterator<Item = &'a Self>) -> Result<Self, BuildError> {
        let mut bodies = bodies.into_iter();
        let mut merged = bodies.next().ok_or(BuildError::NothingToMerge)?.clone();
        for (row, body) in (1..).zip(bodies) {
            merged.append(body, row)?;
        }
        Ok(merged)
    }

    fn append(&mut self, body: &Self, row: usize) -> Result<(), BuildError> {
        // Lists of different lengths in two bodies may add up to equal ones that belong to each other no more.
        self.tables.check()?;
        body.tables.check()?;
        let refuse = |reason| Err(BuildError::Unsupported { what: "body to be merged", row, reason });
        if self.inflation.is_some() || body.inflation.is_some() {
            return refuse("a balloon holds the volume inside all triangles of its body; leave it a body of its own");
        }
        if self.tethers != body.tethers {
            return refuse("its tethers differ from those of the first body; make them equal with tethers_mut");
        }
        if self.plasticity != body.plasticity {
            return refuse("its plasticity differs from that of the first body; make them equal with plasticity_mut");
        }
        if self.tearing != body.tearing {
            return refuse("it tears at other loads than the first body; make them equal with with_tearing");
        }
        #[cfg(feature = "collision")]
        if self.self_contact != body.self_contact {
            return refuse(
                "its self contact differs from that of the first body; make them equal with with_self_contact",
            );
        }
        #[cfg(feature = "collision")]
        if self.collider_groups != body.collider_groups {
            return refuse("it meets other colliders than the first body; make them equal with with_collider_groups");
        }
        let (own, theirs) = (self.particle_count(), body.particle_count());
        let Some(first) = u32::try_from(own).ok().filter(|first| first.checked_add(theirs as u32).is_some()) else {
            return refuse("there are more particles than 32 bits can number");
        };
        if !(self.thickness.is_empty() && body.thickness.is_empty()) {
            if self.thickness.is_empty() {
                self.thickness = vec![0.0; own];
            }
            let none = if body.thickness.is_empty() { theirs } else { 0 };
            self.thickness.extend(body.thickness.iter().copied().chain(core::iter::repeat_n(0.0, none)));
        }
        let renumbered = |id: u32| id.saturating_add(first);
        self.positions.extend_from_slice(&body.positions);
        self.rest.extend_from_slice(&body.rest);
        self.velocities.extend_from_slice(&body.velocities);
        self.masses.extend_from_slice(&body.masses);
        self.pins.extend(body.pins.iter().map(|&pin| renumbered(pin)));
        self.triangles.extend(body.triangles.iter().map(|triangle| triangle.map(renumbered)));
        self.tables.append(&body.tables, first);
        #[cfg(feature = "rigid")]
        self.clusters.extend(body.clusters.iter().cloned().map(|mut cluster| {
            cluster.particles.iter_mut().for_each(|particle| *particle = renumbered(*particle));
            cluster
        }));
        self.grid = None;
        Ok(())
    }
}
