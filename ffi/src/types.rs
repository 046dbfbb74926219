//! Plain values that cross the border.

use core::ffi::c_char;

use pliant::{Pose, Rotation};

/// A vector or a point.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PliantVec3 {
    /// First component.
    pub x: f64,
    /// Second component.
    pub y: f64,
    /// Third component.
    pub z: f64,
}

impl From<PliantVec3> for [f64; 3] {
    fn from(PliantVec3 { x, y, z }: PliantVec3) -> Self {
        [x, y, z]
    }
}

impl PliantVec3 {
    /// In the precision of worlds; what is too large becomes infinite and is refused.
    pub(crate) fn single(self) -> [f32; 3] {
        <[f64; 3]>::from(self).map(|c| c as f32)
    }
}

/// Where something is and how it is turned.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PliantPose {
    /// Translation [m].
    pub translation: PliantVec3,
    /// Rotation as a quaternion x, y, z, w (w is the cosine of half the angle), of any length; four zeros mean no rotation.
    pub rotation: [f64; 4],
}

impl From<PliantPose> for Pose {
    fn from(PliantPose { translation, rotation }: PliantPose) -> Self {
        let rotation = if rotation == [0.0; 4] { Rotation::IDENTITY } else { Rotation(rotation) };
        Self { translation: translation.into(), rotation }
    }
}

/// How a collider answers to what touches it; zeros are a good start.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PliantContact {
    /// Coulomb's coefficient of friction, 0 or more.
    pub friction: f64,
    /// The share of the approach speed that particles leave with, 0 to 1.
    pub restitution: f64,
}

/// A uniform wind and how surfaces catch it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PliantWind {
    /// Velocity of the air [m/s].
    pub velocity: PliantVec3,
    /// Density of the air [kg/m^3]; 1.2 at sea level.
    pub density: f64,
    /// Drag coefficient: the push along the wind.
    pub drag: f64,
    /// Lift coefficient: the push across the wind.
    pub lift: f64,
}

/// What a world is made with. Zeros and null pointers mean defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PliantWorldOptions {
    /// Name of the method, see `pliant_method_name`; null for coloured XPBD.
    pub method: *const c_char,
    /// Substeps a step; 0 for the method's default.
    pub substeps: u32,
    /// Iterations a substep; 0 for the method's default.
    pub iterations: u32,
    /// Name of the backend, see `pliant_backend_name`; null for the fastest. All compute the same bits.
    pub backend: *const c_char,
    /// Threads of the backend `parallel`; 0 for one a core, at most 1024.
    pub threads: u32,
}

/// Names a body of a world; never 0. A handle whose body was removed is refused for good.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PliantBodyId {
    /// To be stored and compared, not computed with.
    pub bits: u64,
}

/// Names a collider of a world; never 0. A handle whose collider was removed is refused for good.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PliantColliderId {
    /// To be stored and compared, not computed with.
    pub bits: u64,
}

/// Vectors in the memory of a world, one list a component: valid until the next call that changes the world.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PliantColumns {
    /// First components.
    pub x: *const f32,
    /// Second components.
    pub y: *const f32,
    /// Third components.
    pub z: *const f32,
    /// How many there are.
    pub count: usize,
}

/// Triangles in the memory of a world: valid until the next call that changes the world.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PliantTriangles {
    /// Three particle numbers a triangle.
    pub corners: *const u32,
    /// How many triangles there are.
    pub count: usize,
}
