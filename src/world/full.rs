//! Full snapshots: a world from bytes alone, descriptions and moving state.
//!
//! ```text
//!   fingerprint of precision and features   descriptions (postcard)   fingerprints of the world   moving state
//! ```
//! Nothing that was derived is written: models, schedules and factors are built again from descriptions, which are checked as if
//! a user had just described them. Then the moving state is read as from any snapshot.

use core::mem::swap;
use std::borrow::Cow;

use pliant_core::backend::Backend;
use pliant_core::body::Body;
use pliant_core::columns::{Columns, Particles};
use pliant_core::error::BuildError;
use pliant_core::lane::Real;
use pliant_core::model::Model;
#[cfg(feature = "rigid")]
use pliant_core::rigid::{Joint, RigidBody};
#[cfg(feature = "collision")]
use pliant_core::sdf::{Collider, Colliders, Pose, Shape};
use pliant_core::snapshot::{Snapshot, SnapshotError};

#[cfg(feature = "rigid")]
use super::JointId;
#[cfg(feature = "rigid")]
use super::RigidId;
use super::handles::Handles;
use super::rebuild::{Member, Memory, prepare};
use super::snapshot::format;
use super::{BodyId, WorldOn, tearing};
#[cfg(feature = "collision")]
use super::{BoneId, ColliderId, skin};
#[cfg(feature = "rigid")]
use super::{rigid, rigid::Fastened};

/// Everything that was described.
#[derive(serde::Serialize, serde::Deserialize)]
struct Scene<'a> {
    handles: Cow<'a, Handles<BodyId>>,
    bodies: Vec<Cow<'a, Body>>,
    #[cfg(feature = "collision")]
    solid: Surroundings<'a>,
    #[cfg(feature = "rigid")]
    rigid: Pieces<'a>,
}

/// Colliders, and bones with what hangs on them.
#[cfg(feature = "collision")]
#[derive(serde::Serialize, serde::Deserialize)]
struct Surroundings<'a> {
    handles: Cow<'a, Handles<ColliderId>>,
    colliders: Cow<'a, [Collider]>,
    bone_handles: Cow<'a, Handles<BoneId>>,
    bones: Cow<'a, [Pose]>,
    worn: Vec<skin::Worn>,
    watched: bool,
}

/// Rigid bodies and joints.
#[cfg(feature = "rigid")]
#[derive(serde::Serialize, serde::Deserialize)]
struct Pieces<'a> {
    options: pliant_solvers::RigidOptions,
    handles: Cow<'a, Handles<RigidId>>,
    bodies: Cow<'a, [RigidBody]>,
    joint_handles: Cow<'a, Handles<JointId>>,
    joints: Vec<Joined<'a>>,
    fastened: Cow<'a, [Fastened]>,
}

/// A joint, and its places in the bodies as they stood when it was made.
#[cfg(feature = "rigid")]
#[derive(serde::Serialize, serde::Deserialize)]
struct Joined<'a> {
    joint: Cow<'a, Joint>,
    anchors: [[f64; 3]; 2],
    frames: [[f64; 4]; 2],
}

/// All of a world but its solver and backend.
struct Contents<S> {
    model: Model<S>,
    particles: Particles<S>,
    members: Vec<Member>,
    handles: Handles<BodyId>,
    settled: Columns<S>,
    tears: tearing::Tears,
    time: f64,
    #[cfg(feature = "collision")]
    collider_handles: Handles<ColliderId>,
    #[cfg(feature = "collision")]
    watch: Option<Box<pliant_solvers::ContactWatch<S>>>,
    #[cfg(feature = "collision")]
    skins: skin::Skins,
    #[cfg(feature = "rigid")]
    rigid: rigid::Rigid<S>,
}

impl<S: Real> Contents<S> {
    fn of_nothing() -> Result<Self, BuildError> {
        let (model, particles) = Model::build(&[])?;
        Ok(Self {
            model,
            particles,
            members: Vec::new(),
            handles: Handles::default(),
            settled: Columns::zeros(0),
            tears: Default::default(),
            time: 0.0,
            #[cfg(feature = "collision")]
            collider_handles: Handles::default(),
            #[cfg(feature = "collision")]
            watch: None,
            #[cfg(feature = "collision")]
            skins: Default::default(),
            #[cfg(feature = "rigid")]
            rigid: rigid::Rigid::new(),
        })
    }
}

impl<B: Backend> WorldOn<B> {
    /// Descriptions and moving state as bytes, from which [`WorldOn::restore_full`] makes this world again: bodies, colliders, bones
    /// and skins, rigid bodies, joints and fastenings, and all handles. The solver is not in it.
    ///
    /// [`WorldOn::snapshot`] is what rolls a world back from frame to frame; this is a file that stands for itself. It holds all
    /// constraint rows in double precision, and is many times the size of a snapshot.
    ///
    /// ```
    /// use pliant::prelude::*;
    ///
    /// let mut world = World::new();
    /// let cloth = world.add(Body::cloth(&ClothGrid::square(1.0, 10))?.pinned([0, 9]))?;
    /// world.step(1.0 / 60.0)?;
    /// let stored = world.full_snapshot()?.as_bytes().to_vec();
    ///
    /// let mut other = World::new();
    /// other.restore_full(&Snapshot::from_bytes(&stored)?)?;
    /// world.step(1.0 / 60.0)?;
    /// other.step(1.0 / 60.0)?;
    /// assert_eq!(other.state_hash(), world.state_hash());
    /// assert_eq!(other.positions(cloth)?.len(), 100, "handles still mean what they meant");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`SnapshotError::Unwritable`] when a collider or rigid body has a shape of `parry3d`, or shapes in shapes deeper than
    /// [`Shape::DEEPEST`](pliant_core::sdf::Shape::DEEPEST).
    pub fn full_snapshot(&self) -> Result<Snapshot, SnapshotError> {
        self.check_writable()?;
        // Serialising into memory fails for nothing that has a description.
        let scene = postcard::to_allocvec(&self.scene()).map_err(|_| SnapshotError::Unreadable)?;
        Ok(Snapshot::new(format::<B::Scalar>("full snapshot"), |to| {
            to.count(scene.len());
            to.bytes(&scene);
            self.sign(to);
            self.remember(to);
        }))
    }

    /// Makes this world what a full snapshot says, whatever it was before. Handles are those of the world it was taken of, and every
    /// later step gives the same bits as it gave there, with the same solver and options, on any backend.
    ///
    /// Bytes may come from anywhere: descriptions are checked like those of a user, and nothing is allocated because a length says
    /// so.
    ///
    /// # Errors
    /// When it is no full snapshot, of another precision or solver, from a build with or without `collision` or `rigid`, or describes
    /// what cannot be built; this world is then as it was.
    pub fn restore_full(&mut self, snapshot: &Snapshot) -> Result<(), SnapshotError> {
        let mut from = snapshot.read(format::<B::Scalar>("full snapshot"))?;
        let length = from.count(1)?;
        let (scene, rest) =
            postcard::take_from_bytes::<Scene<'_>>(from.bytes(length)?).map_err(|_| SnapshotError::Unreadable)?;
        if !rest.is_empty() {
            return Err(SnapshotError::Unreadable);
        }
        let memory = Memory::of(&*self.solver);
        let mut before = Contents::of_nothing()?;
        self.exchange(&mut before);
        let rebuild = || {
            self.build(scene)?;
            self.check_signature(&mut from)?;
            self.recall(&mut from)?;
            from.finish()
        };
        let rebuilt = rebuild();
        if rebuilt.is_err() {
            self.exchange(&mut before);
            if !self.members.is_empty() {
                memory.resume(&mut *self.solver, &mut self.model, &self.settled)?;
            }
        }
        rebuilt
    }

    fn exchange(&mut self, with: &mut Contents<B::Scalar>) {
        swap(&mut self.model, &mut with.model);
        swap(&mut self.particles, &mut with.particles);
        swap(&mut self.members, &mut with.members);
        swap(&mut self.handles, &mut with.handles);
        swap(&mut self.settled, &mut with.settled);
        swap(&mut self.tears, &mut with.tears);
        swap(&mut self.time, &mut with.time);
        #[cfg(feature = "collision")]
        {
            swap(&mut self.collider_handles, &mut with.collider_handles);
            swap(&mut self.watch, &mut with.watch);
            swap(&mut self.skins, &mut with.skins);
        }
        #[cfg(feature = "rigid")]
        swap(&mut self.rigid, &mut with.rigid);
    }

    /// Bodies as they were before anything tore: tears are part of the moving state.
    fn scene(&self) -> Scene<'_> {
        Scene {
            handles: Cow::Borrowed(&self.handles),
            bodies: self.members.iter().map(|member| Cow::Borrowed(member.whole())).collect(),
            #[cfg(feature = "collision")]
            solid: Surroundings {
                handles: Cow::Borrowed(&self.collider_handles),
                colliders: Cow::Borrowed(self.model.colliders().described()),
                bone_handles: Cow::Borrowed(&self.skins.handles),
                bones: Cow::Borrowed(&self.skins.poses),
                worn: self.skins.worn_by(|body| {
                    self.handles.find(body).map_or(0, |member| self.members[member].whole().particle_count())
                }),
                watched: self.watch.is_some(),
            },
            #[cfg(feature = "rigid")]
            rigid: self.pieces(),
        }
    }

    #[cfg(feature = "rigid")]
    fn pieces(&self) -> Pieces<'_> {
        let rigid = &self.rigid;
        let joints = rigid.bodies.joints().iter().zip(rigid.bodies.joint_terms());
        Pieces {
            options: *rigid.together.solver().options(),
            handles: Cow::Borrowed(&rigid.handles),
            // Behind them stand the twins of colliders.
            bodies: Cow::Borrowed(&rigid.bodies.described()[..rigid.ids.len()]),
            joint_handles: Cow::Borrowed(&rigid.joint_handles),
            joints: joints
                .map(|(joint, terms)| Joined {
                    joint: Cow::Borrowed(joint),
                    anchors: terms.anchors.map(|anchor| anchor.map(Real::to_f64)),
                    frames: terms.frames.map(|frame| frame.map(Real::to_f64)),
                })
                .collect(),
            fastened: Cow::Borrowed(&rigid.fastened),
        }
    }

    fn check_writable(&self) -> Result<(), SnapshotError> {
        #[cfg(feature = "collision")]
        for (row, collider) in self.model.colliders().described().iter().enumerate() {
            let (reason, what) = (unwritable(&collider.shape), "collider");
            reason.map_or(Ok(()), |reason| Err(SnapshotError::Unwritable { what, row, reason }))?;
        }
        #[cfg(feature = "rigid")]
        for (row, body) in self.rigid.bodies.described()[..self.rigid.ids.len()].iter().enumerate() {
            let (reason, what) = (body.parts.iter().find_map(|part| unwritable(&part.solid.shape()?)), "rigid body");
            reason.map_or(Ok(()), |reason| Err(SnapshotError::Unwritable { what, row, reason }))?;
        }
        Ok(())
    }

    /// Fills a world without contents; what is wrong with the descriptions leaves it half filled.
    fn build(&mut self, scene: Scene<'_>) -> Result<(), SnapshotError> {
        let ids = scene.handles.all(scene.bodies.len()).ok_or(SnapshotError::Unreadable)?;
        let bodies: Vec<&Body> = scene.bodies.iter().map(|body| &**body).collect();
        (self.model, self.particles) = Model::build(&bodies)?;
        self.settled = self.model.attachment_targets().clone();
        self.handles = scene.handles.into_owned();
        let members = scene.bodies.into_iter().zip(ids);
        self.members = members.map(|(body, id)| Member::new(body.into_owned(), id)).collect();
        #[cfg(feature = "collision")]
        self.build_surroundings(scene.solid)?;
        if !self.members.is_empty() {
            prepare(&mut *self.solver, &mut self.model, &self.settled)?;
        }
        #[cfg(feature = "rigid")]
        self.build_pieces(scene.rigid)?;
        Ok(())
    }

    #[cfg(feature = "collision")]
    fn build_surroundings(&mut self, solid: Surroundings<'_>) -> Result<(), SnapshotError> {
        let known = solid.handles.all(solid.colliders.len()).is_some();
        if !known || solid.bone_handles.all(solid.bones.len()).is_none() {
            return Err(SnapshotError::Unreadable);
        }
        *self.model.colliders_mut() = Colliders::new(solid.colliders.into_owned())?;
        self.collider_handles = solid.handles.into_owned();
        for (row, &pose) in solid.bones.iter().enumerate() {
            self.skins.poses.push(pose.checked_as("bone", row)?);
        }
        self.skins.handles = solid.bone_handles.into_owned();
        for worn in &solid.worn {
            worn.check(self.range_of(self.handles.find(worn.body())?).len())?;
        }
        self.skins.wear(solid.worn);
        let skin = self.renumbered_skin(&self.starts(), |_, particle| Some(particle))?;
        self.model.set_skin(skin)?;
        self.watch_contacts(solid.watched);
        Ok(())
    }

    #[cfg(feature = "rigid")]
    fn build_pieces(&mut self, pieces: Pieces<'_>) -> Result<(), SnapshotError> {
        let ids = pieces.handles.all(pieces.bodies.len()).ok_or(SnapshotError::Unreadable)?;
        let joint_ids = pieces.joint_handles.all(pieces.joints.len()).ok_or(SnapshotError::Unreadable)?;
        let rigid = &mut self.rigid;
        rigid.together.set_options(pieces.options, &rigid.bodies)?;
        for body in pieces.bodies.iter() {
            rigid.check(body)?;
            rigid.bodies.push(body)?;
        }
        for Joined { joint, anchors, frames } in &pieces.joints {
            let anchors = anchors.map(|anchor| anchor.map(B::Scalar::from_f64));
            let frames = frames.map(|frame| frame.map(B::Scalar::from_f64));
            rigid.bodies.rejoin(joint, anchors, frames)?;
        }
        (rigid.handles, rigid.joint_handles) = (pieces.handles.into_owned(), pieces.joint_handles.into_owned());
        (rigid.ids, rigid.joint_ids) = (ids, joint_ids);
        rigid.together.mirror(&mut rigid.bodies, self.model.colliders())?;
        for fastened in pieces.fastened.iter() {
            rigid::finite(fastened.particle as usize, "point of its fastening", fastened.point)?;
        }
        rigid.fastened = pieces.fastened.into_owned();
        self.refasten();
        Ok(())
    }
}

/// Why a shape cannot be written so that it can be read, if so.
#[cfg(feature = "collision")]
fn unwritable(shape: &Shape) -> Option<&'static str> {
    if shape.has_parry() {
        return Some("shapes of parry3d have no description here; use a Shape, or sample a mesh with Collider::mesh");
    }
    let deep = "shapes nest deeper than Shape::DEEPEST; join them in pairs, or as several colliders or parts";
    (shape.depth() > Shape::DEEPEST).then_some(deep)
}
