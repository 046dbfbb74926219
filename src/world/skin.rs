//! Cloth on bones: particles that follow a weighted set of bones, and how far they may leave them.

use pliant_core::backend::Backend;
use pliant_core::error::BuildError;
use pliant_core::lane::Real;
use pliant_core::mesh::vertex_normals;
use pliant_core::sdf::Pose;
use pliant_core::skin::{FREE, Skin};
use pliant_core::snapshot::{Fingerprint, Reader, SnapshotError, Writer};
use pliant_core::tearing::Torn;

#[cfg(feature = "rigid")]
use super::RigidId;
use super::handles::Handles;
use super::rebuild::Memory;
use super::{BodyId, BoneId, WorldOn};

/// Something that carries skinned particles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum SkinBone {
    /// A pose that the application gives: [`WorldOn::add_bone`], [`WorldOn::move_bone`].
    Pose(BoneId),
    /// A rigid body of any mobility. It is followed and not pulled at; [`WorldOn::fasten`] does that.
    #[cfg(feature = "rigid")]
    Rigid(RigidId),
}

impl From<BoneId> for SkinBone {
    fn from(id: BoneId) -> Self {
        Self::Pose(id)
    }
}

#[cfg(feature = "rigid")]
impl From<RigidId> for SkinBone {
    fn from(id: RigidId) -> Self {
        Self::Rigid(id)
    }
}

/// A ball behind a skinned particle that it may not enter; none by default.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Backstop {
    /// How far behind the skinned place the ball begins, against the surface's normal, 0 or more \[m\].
    pub offset: f64,
    /// Radius of the ball \[m\]; 0 for none.
    pub radius: f64,
}

/// How a body hangs on bones; lists have one row a particle.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
pub struct Skinning {
    /// The bones.
    pub bones: Vec<SkinBone>,
    /// By particle: places among `bones` and their weights, which are brought to a sum of 1. A particle without any has no skin.
    pub weights: Vec<Vec<(usize, f64)>>,
    /// By particle: how far it may be from its skinned place \[m\]; infinity for any distance, 0 to follow exactly.
    pub max_distance: Vec<f64>,
    /// By particle: what it may not enter; empty for none at all. Needs a surface, whose normals point away from the ball.
    pub backstop: Vec<Backstop>,
}

/// Bones and skins of a world.
#[derive(Default)]
pub(super) struct Skins {
    pub handles: Handles<BoneId>,
    /// By the bones' places: where they will be at the end of the next step.
    pub poses: Vec<Pose>,
    worn: Vec<Worn>,
}

/// A body on bones.
#[derive(Clone)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Worn {
    body: BodyId,
    bones: Vec<SkinBone>,
    rows: Vec<Row>,
}

/// A skinned particle.
#[derive(Clone)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Row {
    particle: u32,
    reach: f64,
    radius: f64,
    /// From its place to the centre of its backstop \[m\].
    behind: f64,
    ties: Vec<Tie>,
}

/// What a bone holds of a particle: weight, and its place and normal in the bone's frame.
#[derive(Clone)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Tie {
    bone: usize,
    weight: f64,
    place: [f64; 3],
    normal: [f64; 3],
}

impl Skins {
    /// Lets go of a body that was removed.
    pub fn forget(&mut self, body: BodyId) {
        self.worn.retain(|worn| worn.body != body);
    }

    /// What a body wears is worn by another, whose particle `first` is its first one.
    pub fn pass_on(&mut self, body: BodyId, to: BodyId, first: u32) {
        for worn in self.worn.iter_mut().filter(|worn| worn.body == body) {
            worn.body = to;
            worn.rows.iter_mut().for_each(|row| row.particle += first);
        }
    }

    /// Hangs the copies of divided vertices on the bones of those they are copies of.
    pub fn divide(&mut self, body: BodyId, torn: &Torn) {
        for worn in self.worn.iter_mut().filter(|worn| worn.body == body) {
            for copy in torn.whole() as u32..torn.body().particle_count() as u32 {
                let row = worn.rows.iter().find(|row| row.particle == torn.origin(copy));
                worn.rows.extend(row.cloned().map(|row| Row { particle: copy, ..row }));
            }
        }
    }
    /// Forgets the particles of a body from `count` on.
    pub fn trim(&mut self, body: BodyId, count: usize) {
        let worn = self.worn.iter_mut().filter(|worn| worn.body == body);
        worn.for_each(|worn| worn.rows.retain(|row| (row.particle as usize) < count));
    }

    /// What bodies wear as long as each has only so many particles.
    #[cfg(feature = "serde")]
    pub fn worn_by(&self, count: impl Fn(BodyId) -> usize) -> Vec<Worn> {
        let mut worn = self.worn.clone();
        worn.iter_mut().for_each(|worn| worn.rows.retain(|row| (row.particle as usize) < count(worn.body)));
        worn
    }

    /// What bodies wear, to be put back by [`Skins::wear`].
    pub fn worn(&self) -> Vec<Worn> {
        self.worn.clone()
    }
    /// Puts back what bodies wore.
    pub fn wear(&mut self, worn: Vec<Worn>) {
        self.worn = worn;
    }

    /// Adds who wears what to a hash; `of` says which member a body is and how many particles it had before it tore.
    pub fn identify(&self, hash: &mut Fingerprint, of: impl Fn(BodyId) -> (usize, usize)) {
        for worn in &self.worn {
            let (member, count) = of(worn.body);
            hash.add(member as u64);
            let particles = worn.rows.iter().map(|row| row.particle).filter(|&particle| (particle as usize) < count);
            hash.add_all(particles.map(u64::from));
        }
    }

    /// Writes down where bones were sent.
    pub fn remember(&self, to: &mut Writer) {
        to.count(self.poses.len());
        self.poses.iter().for_each(|pose| pose.write(to));
    }
    /// Takes it back, for as many bones.
    pub fn recall(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        from.exactly(self.poses.len(), "bones")?;
        for pose in &mut self.poses {
            *pose = Pose::read(from)?;
        }
        Ok(())
    }

    fn pose(&self, id: BoneId) -> Result<Pose, BuildError> {
        Ok(self.poses[self.handles.find(id)?])
    }

    /// Sends the rows of some bodies to where bones put them.
    fn send<S: Real>(
        &self,
        skin: &mut Skin<S>,
        kept: impl Fn(&Worn) -> bool,
        pose: impl Fn(SkinBone) -> Result<Pose, BuildError>,
    ) {
        let rows = self.worn.iter().filter(|worn| kept(worn));
        let rows = rows.flat_map(|worn| worn.rows.iter().map(move |row| (row, &worn.bones)));
        'rows: for (at, (row, bones)) in rows.enumerate() {
            let (mut place, mut normal) = ([0.0; 3], [0.0; 3]);
            for tie in &row.ties {
                // Whoever hangs on a bone that was removed stays where it was.
                let Ok(pose) = pose(bones[tie.bone]) else { continue 'rows };
                let (p, n) = (pose.place(tie.place), pose.turn(tie.normal));
                for k in 0..3 {
                    place[k] += tie.weight * p[k];
                    normal[k] += tie.weight * n[k];
                }
            }
            let length = normal.iter().map(|c| c * c).sum::<f64>().sqrt();
            let back = if length > 0.0 { row.behind / length } else { 0.0 };
            let centre: [f64; 3] = std::array::from_fn(|k| place[k] - normal[k] * back);
            skin.send(at, place.map(S::from_f64), centre.map(S::from_f64));
        }
    }
}

#[cfg(feature = "serde")]
impl Worn {
    /// Refuses what no skinning makes, for a body of so many particles.
    pub fn check(&self, count: usize) -> Result<(), BuildError> {
        let mut seen = vec![false; count];
        for (row, Row { particle, behind, ties, .. }) in self.rows.iter().enumerate() {
            let (what, particle) = ("skinned particle", *particle);
            let taken = seen.get_mut(particle as usize);
            let taken = taken.ok_or(BuildError::OutOfRange { what, row, corner: 0, particle, count })?;
            if core::mem::replace(taken, true) {
                return Err(BuildError::Repeated { what, row, particle });
            }
            if ties.is_empty() {
                let (quantity, value, expected) = ("number of bones", 0.0, "1 or more");
                return Err(BuildError::BadValue { what, row, quantity, value, expected });
            }
            let count = self.bones.len();
            if let Some(tie) = ties.iter().find(|tie| tie.bone >= count) {
                return Err(BuildError::NoSuchRow { what: "bone of the skinning", row: tie.bone, count });
            }
            let numbers = ties.iter().flat_map(|tie| tie.place.iter().chain(&tie.normal).chain([&tie.weight]));
            if let Some(&value) = numbers.chain([behind]).find(|number| !number.is_finite()) {
                let (quantity, expected) = ("its tie to a bone", "finite numbers");
                return Err(BuildError::BadValue { what, row, quantity, value, expected });
            }
        }
        Ok(())
    }
    /// Who wears it.
    pub fn body(&self) -> BodyId {
        self.body
    }
}

impl<B: Backend> WorldOn<B> {
    /// Adds a bone: a pose that cloth can hang on.
    ///
    /// # Errors
    /// When the pose is not finite or its quaternion has no length.
    pub fn add_bone(&mut self, pose: Pose) -> Result<BoneId, BuildError> {
        let pose = pose.checked_as("bone", self.skins.poses.len())?;
        let id = self.skins.handles.insert(self.skins.poses.len());
        self.skins.poses.push(pose);
        Ok(id)
    }

    /// Sends a bone to a new pose; what hangs on it arrives with it at the end of the next step, in straight lines.
    ///
    /// # Errors
    /// When there is no such bone, or the pose is not finite or its quaternion has no length.
    pub fn move_bone(&mut self, id: BoneId, to: Pose) -> Result<(), BuildError> {
        let place = self.skins.handles.find(id)?;
        self.skins.poses[place] = to.checked_as("bone", place)?;
        Ok(())
    }

    /// Removes a bone for good. Particles that hang on it, alone or among others, are kept where they were put last; give their body
    /// another skin to move them on.
    ///
    /// # Errors
    /// [`BuildError::NotFound`] when it was removed before.
    pub fn remove_bone(&mut self, id: BoneId) -> Result<(), BuildError> {
        let place = self.skins.handles.find(id)?;
        self.skins.handles.remove(id);
        self.skins.poses.remove(place);
        Ok(())
    }

    /// Where a bone is, or will be at the end of the next step.
    ///
    /// # Errors
    /// [`BuildError::NotFound`] when there is no such bone.
    pub fn bone(&self, id: BoneId) -> Result<Pose, BuildError> {
        self.skins.pose(id)
    }

    /// Hangs a body on bones as both stand now; replaces the skin it had. The solver is prepared again.
    ///
    /// In every substep of every method particles are brought within `max_distance` of their skinned places and out of their
    /// backstops, after everything else: limits hold even where colliders are in the way. Pinned particles are left alone.
    ///
    /// ```
    /// use pliant::prelude::*;
    ///
    /// let mut world = World::new();
    /// let cloth = world.add(Body::cloth(&ClothGrid::square(1.0, 10))?)?;
    /// let hip = world.add_bone(Pose::IDENTITY)?;
    /// // The first row follows exactly, the others may go farther and farther away.
    /// let max_distance = (0..100).map(|i| 0.1 * f64::from(i / 10)).collect();
    /// let weights = vec![vec![(0, 1.0)]; 100];
    /// world.skin(cloth, &Skinning { bones: vec![hip.into()], weights, max_distance, backstop: Vec::new() })?;
    /// world.move_bone(hip, Pose::at([0.25, 0.0, 0.0]))?;
    /// world.step(1.0 / 60.0)?;
    /// assert_eq!(world.positions(cloth)?.get(0), [0.25, 0.0, 0.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// When a list has not one row a particle, a bone is missing, weights are negative or all 0, a distance is negative or
    /// NaN, or a backstop meets a particle without a normal; the world is then as it was.
    pub fn skin(&mut self, body: BodyId, skinning: &Skinning) -> Result<(), BuildError> {
        let new = self.tailor(body, skinning)?;
        let others = self.skins.worn.iter().filter(|worn| worn.body != body).cloned();
        self.fit_skins(others.chain([new]).collect(), Some(body))
    }

    /// Takes a body off its bones. The solver is prepared again.
    ///
    /// # Errors
    /// When there is no such body, or it has no skin; the world is then as it was.
    pub fn unskin(&mut self, body: BodyId) -> Result<(), BuildError> {
        self.handles.find(body)?;
        let others: Vec<_> = self.skins.worn.iter().filter(|worn| worn.body != body).cloned().collect();
        if self.skins.worn.len() == others.len() {
            return Err(BuildError::NotFound { what: "skin" });
        }
        self.fit_skins(others, None)
    }

    /// Checks a skinning and binds every particle to its bones.
    fn tailor(&self, body: BodyId, skinning: &Skinning) -> Result<Worn, BuildError> {
        let positions = self.positions(body)?;
        let count = positions.len();
        let lengths = [
            ("weights", skinning.weights.len()),
            ("max distance", skinning.max_distance.len()),
            ("backstop", if skinning.backstop.is_empty() { count } else { skinning.backstop.len() }),
        ];
        for (what, found) in lengths {
            if found != count {
                return Err(BuildError::Length { what, found, expected: count });
            }
        }
        let poses = skinning.bones.iter().map(|&bone| self.bone_pose(bone)).collect::<Result<Vec<_>, _>>()?;
        let mut normals = vec![[0.0; 3]; count];
        vertex_normals(self.triangles(body)?, |v| positions.get(v).map(|c| c.to_f64() as f32), &mut normals)?;
        let bad = |row, quantity, value, expected| {
            Err(BuildError::BadValue { what: "skinned particle", row, quantity, value, expected })
        };
        let mut rows = Vec::new();
        for (row, weights) in skinning.weights.iter().enumerate() {
            if let Some(&(_, value)) = weights.iter().find(|(_, w)| !(w.is_finite() && *w >= 0.0)) {
                return bad(row, "weight", value, "a finite number, 0 or more");
            }
            if let Some(&(bone, _)) = weights.iter().find(|&&(bone, _)| bone >= poses.len()) {
                let count = poses.len();
                return Err(BuildError::NoSuchRow { what: "bone of the skinning", row: bone, count });
            }
            let reach = skinning.max_distance[row];
            if reach.is_nan() || reach < 0.0 {
                return bad(row, "max distance", reach, "a number, 0 or more");
            }
            let Backstop { offset, radius } =
                skinning.backstop.get(row).copied().unwrap_or(Backstop { offset: 0.0, radius: 0.0 });
            for (quantity, value) in [("backstop offset", offset), ("backstop radius", radius)] {
                if !(value.is_finite() && value >= 0.0) {
                    return bad(row, quantity, value, "a finite number, 0 or more");
                }
            }
            if weights.is_empty() {
                continue;
            }
            let sum: f64 = weights.iter().map(|(_, w)| w).sum();
            if !(sum.is_finite() && sum > 0.0) {
                return bad(row, "sum of weights", sum, "a finite number above 0");
            }
            let (x, normal) = (positions.get(row).map(Real::to_f64), normals[row].map(f64::from));
            if radius > 0.0 && normal == [0.0; 3] {
                return bad(row, "length of the normal", 0.0, "a surface around particles with a backstop");
            }
            let tie = |&(bone, weight): &(usize, f64)| {
                let pose: Pose = poses[bone];
                Tie { bone, weight: weight / sum, place: pose.unplace(x), normal: pose.unturn(normal) }
            };
            let ties = weights.iter().filter(|(_, w)| *w > 0.0).map(tie).collect();
            let behind = offset + radius;
            rows.push(Row { particle: row as u32, reach: reach.min(FREE), radius, behind, ties });
        }
        Ok(Worn { body, bones: skinning.bones.clone(), rows })
    }

    /// Lets bodies wear this and prepares the solver; on an error nothing has changed. Whoever wore it before stays where it is
    /// on its way, but for the body `new`, which begins where bones are.
    fn fit_skins(&mut self, worn: Vec<Worn>, new: Option<BodyId>) -> Result<(), BuildError> {
        let memory = Memory::of(&*self.solver);
        let worn_before = core::mem::replace(&mut self.skins.worn, worn);
        let skin_before = self.model.skin().cloned();
        let starts = self.starts();
        let kept = |member: usize, particle| (Some(self.members[member].id) != new).then_some(particle);
        let skin = self.renumbered_skin(&starts, kept);
        let fitted = skin.and_then(|skin| {
            self.model.set_skin(skin)?;
            memory.resume(&mut *self.solver, &mut self.model, &self.settled)
        });
        if fitted.is_err() {
            self.skins.worn = worn_before;
            self.model.set_skin(skin_before)?;
            memory.resume(&mut *self.solver, &mut self.model, &self.settled)?;
        }
        fitted
    }

    /// By member: its first particle.
    pub(super) fn starts(&self) -> Vec<Option<u32>> {
        (0..self.members.len()).map(|member| Some(self.range_of(member).start as u32)).collect()
    }

    /// The skins of all bodies for a model of some of the members, whose first particles are `starts`. `origin` says which particle
    /// a member's particle was in the model as it is: it stays where it is on its way. Whoever was none begins where bones are.
    pub(super) fn renumbered_skin(
        &self,
        starts: &[Option<u32>],
        origin: impl Fn(usize, u32) -> Option<u32>,
    ) -> Result<Option<Skin<B::Scalar>>, BuildError> {
        let member = |worn: &Worn| self.handles.find(worn.body).ok();
        let start = |worn: &Worn| member(worn).and_then(|member| starts[member]);
        let kept = || self.skins.worn.iter().filter(|worn| start(worn).is_some());
        let rows = kept().flat_map(|worn| {
            let first = start(worn).unwrap_or_default();
            worn.rows.iter().map(move |row| (first + row.particle, row.reach, row.radius))
        });
        let mut skin = Skin::new(rows)?;
        if skin.particles().is_empty() {
            return Ok(None);
        }
        self.skins.send(&mut skin, |worn| start(worn).is_some(), |bone| self.bone_pose(bone));
        skin.settle();
        let Some(before) = self.model.skin() else { return Ok(Some(skin)) };
        let mut row_of = vec![None; self.model.particle_count()];
        before.particles().iter().enumerate().for_each(|(row, &particle)| row_of[particle as usize] = Some(row));
        let rows = kept().flat_map(|worn| worn.rows.iter().map(move |row| (member(worn), row.particle)));
        for (row, (member, particle)) in rows.enumerate() {
            let old_row =
                member.and_then(|member| row_of[self.range_of(member)].get(origin(member, particle)? as usize));
            if let Some(&Some(old_row)) = old_row {
                skin.resume(row, before, old_row);
            }
        }
        Ok(Some(skin))
    }

    /// Sends skinned particles to where bones will be after `dt` \[s\].
    pub(super) fn follow_bones(&mut self, dt: f64) {
        if self.skins.worn.is_empty() {
            return;
        }
        #[cfg(not(feature = "rigid"))]
        let _ = dt;
        let Self { skins, model, .. } = self;
        #[cfg(feature = "rigid")]
        let rigid = &self.rigid;
        let pose = |bone| match bone {
            SkinBone::Pose(id) => skins.pose(id),
            #[cfg(feature = "rigid")]
            SkinBone::Rigid(id) => rigid.pose_after(id, dt),
        };
        if let Some(skin) = model.skin_mut() {
            skins.send(skin, |_| true, pose);
        }
    }

    /// Where a bone is.
    fn bone_pose(&self, bone: SkinBone) -> Result<Pose, BuildError> {
        match bone {
            SkinBone::Pose(id) => self.skins.pose(id),
            #[cfg(feature = "rigid")]
            SkinBone::Rigid(id) => self.rigid_pose(id),
        }
    }
}
