//! Poses: where a collider is and how it is turned.

use ultraviolet::{DRotor3, Rotor3};

use crate::error::BuildError;
use crate::lane::{Lane, Real};
use crate::snapshot::{Reader, SnapshotError, Writer};
use crate::vec3::Vec3;

/// A rotation as a quaternion `[x, y, z, w]`, w the cosine of half the angle. Normalised when it is used.
///
/// Converts from `ultraviolet`'s `Rotor3` and `DRotor3` and from an array; with the features `glam` and `mint` from and to
/// their quaternions.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Rotation(pub [f64; 4]);

impl Rotation {
    /// No rotation.
    pub const IDENTITY: Self = Self([0.0, 0.0, 0.0, 1.0]);

    /// A turn by `angle` \[rad\] about an axis of any length above 0, counter-clockwise seen from its tip.
    pub fn about(axis: impl Into<[f64; 3]>, angle: f64) -> Self {
        let axis = axis.into();
        let length = axis.iter().map(|c| c * c).sum::<f64>().sqrt();
        let (sin, cos) = (0.5 * angle).sin_cos();
        // An axis without length becomes NaN here, which the checks of a collider name.
        let [x, y, z] = axis.map(|c| c / length * sin);
        Self([x, y, z, cos])
    }

    /// Columns of the rotation matrix of a unit quaternion.
    pub(super) fn columns(self) -> [[f64; 3]; 3] {
        let [x, y, z, w] = self.0;
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)],
            [2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x)],
            [2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)],
        ]
    }
}

impl From<[f64; 4]> for Rotation {
    fn from(quaternion: [f64; 4]) -> Self {
        Self(quaternion)
    }
}

impl From<DRotor3> for Rotation {
    fn from(rotor: DRotor3) -> Self {
        Self(rotor.into_quaternion_array())
    }
}

impl From<Rotor3> for Rotation {
    fn from(rotor: Rotor3) -> Self {
        Self(rotor.into_quaternion_array().map(f64::from))
    }
}

/// A rigid pose: a point p of the shape stands at R p + t.
///
/// With the features `glam` and `mint` it converts from and to pairs of their vectors (or points) and quaternions.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
pub struct Pose {
    /// Translation t \[m\].
    pub translation: [f64; 3],
    /// Rotation R.
    pub rotation: Rotation,
}

impl Pose {
    /// Where shapes are described.
    pub const IDENTITY: Self = Self { translation: [0.0; 3], rotation: Rotation::IDENTITY };

    /// A pose that is not turned.
    pub fn at(translation: impl Into<[f64; 3]>) -> Self {
        Self { translation: translation.into(), ..Self::IDENTITY }
    }
    /// The same place with another rotation.
    #[must_use]
    pub fn turned(self, rotation: impl Into<Rotation>) -> Self {
        Self { rotation: rotation.into(), ..self }
    }

    /// Writes all seven numbers down.
    pub fn write(&self, to: &mut Writer) {
        self.translation.iter().chain(&self.rotation.0).for_each(|&number| to.f64(number));
    }
    /// Reads what [`Pose::write`] wrote.
    ///
    /// # Errors
    /// When nothing is left, or it is no pose.
    pub fn read(from: &mut Reader<'_>) -> Result<Self, SnapshotError> {
        let mut numbers = [0.0; 7];
        for number in &mut numbers {
            *number = from.f64()?;
        }
        let [x, y, z, i, j, k, w] = numbers;
        let pose = Self { translation: [x, y, z], rotation: Rotation([i, j, k, w]) };
        // Only looked at: every bit stays as it was written.
        pose.checked_as("pose", 0).map(|_| pose).map_err(|_| SnapshotError::NotFinite { what: "pose" })
    }

    /// The pose with a unit quaternion, or what is wrong with it.
    pub(super) fn checked(self, row: usize) -> Result<Self, BuildError> {
        self.checked_as("collider", row)
    }

    /// The pose of a thing of some name with a unit quaternion, or what is wrong with it.
    ///
    /// # Errors
    /// When a number is not finite or the quaternion has no length.
    pub fn checked_as(self, what: &'static str, row: usize) -> Result<Self, BuildError> {
        let bad = |quantity, value, expected| BuildError::BadValue { what, row, quantity, value, expected };
        if let Some(&value) = self.translation.iter().find(|c| !(c.is_finite() && c.abs() < 1e9)) {
            return Err(bad("translation", value, "a finite number below 1e9"));
        }
        if let Some(&value) = self.rotation.0.iter().find(|c| !c.is_finite()) {
            return Err(bad("rotation", value, "four finite numbers, not all 0"));
        }
        let length = self.rotation.0.iter().map(|c| c * c).sum::<f64>().sqrt();
        if !(length > 1e-12 && length.is_finite()) {
            return Err(bad("length of the rotation's quaternion", length, "a number above 0"));
        }
        // What was checked before stays as it is, bit for bit.
        if (length - 1.0).abs() <= 4.0 * f64::EPSILON {
            return Ok(self);
        }
        Ok(Self { rotation: Rotation(self.rotation.0.map(|c| c / length)), ..self })
    }

    /// Part t of the way to another pose: a straight line, and the shorter arc between the rotations.
    ///
    /// Quaternions are mixed and normalised: along the arc exactly, at nearly constant speed for less than a quarter turn a
    /// step, and without sines that differ between machines.
    pub(super) fn towards(self, to: Self, t: f64) -> Self {
        let mix = |a: f64, b: f64| a + (b - a) * t;
        let (a, b) = (self.rotation.0, to.rotation.0);
        let side = if a.iter().zip(&b).map(|(a, b)| a * b).sum::<f64>() < 0.0 { -1.0 } else { 1.0 };
        let mixed: [f64; 4] = std::array::from_fn(|k| mix(a[k], side * b[k]));
        let length = mixed.iter().map(|c| c * c).sum::<f64>().sqrt();
        Self {
            translation: std::array::from_fn(|k| mix(self.translation[k], to.translation[k])),
            // Opposite by exactly half a turn there is no shorter arc, and the mean may vanish: stay, then jump.
            rotation: if length > 1e-9 { Rotation(mixed.map(|c| c / length)) } else { self.rotation },
        }
    }

    /// R p + t, for a unit quaternion.
    pub fn place(self, p: [f64; 3]) -> [f64; 3] {
        let turned = self.turn(p);
        std::array::from_fn(|k| turned[k] + self.translation[k])
    }
    /// Rᵀ (p − t).
    pub fn unplace(self, p: [f64; 3]) -> [f64; 3] {
        self.unturn(std::array::from_fn(|k| p[k] - self.translation[k]))
    }
    /// R d.
    pub fn turn(self, d: [f64; 3]) -> [f64; 3] {
        let [a, b, c] = self.rotation.columns();
        std::array::from_fn(|k| a[k] * d[0] + b[k] * d[1] + c[k] * d[2])
    }
    /// Rᵀ d.
    pub fn unturn(self, d: [f64; 3]) -> [f64; 3] {
        self.rotation.columns().map(|column| column[0] * d[0] + column[1] * d[1] + column[2] * d[2])
    }
}

impl Default for Pose {
    fn default() -> Self {
        Self::IDENTITY
    }
}

/// A pose on lanes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Frame<S> {
    columns: [[S; 3]; 3],
    translation: [S; 3],
    /// Whether the rotation is any at all: most colliders have none, and then its arithmetic is skipped.
    turned: bool,
    /// Whether the translation is any at all: shapes have none inside their collider, mostly.
    shifted: bool,
    /// Neither of both.
    plain: bool,
}

impl<S: Real> Frame<S> {
    /// A pose seen from `origin`; subtracted in double precision.
    pub fn new(pose: Pose, origin: [f64; 3]) -> Self {
        let translation = std::array::from_fn(|k| S::from_f64(pose.translation[k] - origin[k]));
        let (turned, shifted) = (pose.rotation.0[..3] != [0.0; 3], translation != [S::ZERO; 3]);
        Self {
            columns: pose.rotation.columns().map(|column| column.map(S::from_f64)),
            translation,
            turned,
            shifted,
            plain: !turned && !shifted,
        }
    }

    /// Whether it has a rotation.
    pub fn is_turned(&self) -> bool {
        self.turned
    }
    /// How far translations are apart, and rotations: the root of the sum of squares.
    pub fn apart(&self, other: &Self) -> [f64; 2] {
        let apart = |(a, b): (&S, &S)| (a.to_f64() - b.to_f64()).powi(2);
        let rows = |one: &[S], other: &[S]| one.iter().zip(other).map(apart).sum::<f64>().sqrt();
        [rows(&self.translation, &other.translation), rows(self.columns.as_flattened(), other.columns.as_flattened())]
    }
    /// Whether it changes nothing.
    #[inline(always)]
    pub fn is_plain(&self) -> bool {
        self.plain
    }
    /// Rᵀ (x − t).
    #[inline(always)]
    pub fn inner<L: Lane<Scalar = S>>(&self, x: Vec3<L>) -> Vec3<L> {
        self.unturn(if self.shifted { x - Vec3::splat(self.translation) } else { x })
    }
    /// Rᵀ (x − t), where x is measured from `origin`.
    #[inline(always)]
    pub fn enter<L: Lane<Scalar = S>>(&self, x: Vec3<L>, origin: Vec3<L>) -> Vec3<L> {
        // Grounds stand at the origin, mostly, and then bodies near it are where they are: nothing is left to compute where
        // the compiler knows the origin to be 0.
        if self.shifted {
            self.unturn(x - (Vec3::splat(self.translation) - origin))
        } else {
            self.unturn(x - (Vec3::zero() - origin))
        }
    }
    /// R q + t, measured from `origin`.
    #[inline(always)]
    pub fn leave<L: Lane<Scalar = S>>(&self, q: Vec3<L>, origin: Vec3<L>) -> Vec3<L> {
        self.turn(q) + (Vec3::splat(self.translation) - origin)
    }
    /// R q.
    #[inline(always)]
    pub fn turn<L: Lane<Scalar = S>>(&self, q: Vec3<L>) -> Vec3<L> {
        if !self.turned {
            return q;
        }
        let [a, b, c] = self.columns;
        Vec3::splat(a) * q.x + Vec3::splat(b) * q.y + Vec3::splat(c) * q.z
    }
    /// Rᵀ x.
    #[inline(always)]
    pub fn unturn<L: Lane<Scalar = S>>(&self, x: Vec3<L>) -> Vec3<L> {
        if !self.turned {
            return x;
        }
        let [a, b, c] = self.columns;
        Vec3::new(x.dot(Vec3::splat(a)), x.dot(Vec3::splat(b)), x.dot(Vec3::splat(c)))
    }
}
