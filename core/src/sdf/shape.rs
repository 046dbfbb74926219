//! Shapes: what a collider looks like, as a user describes it, in double precision and metres.

use std::cmp::Reverse;
use std::sync::Arc;

use super::flat::Sides;
use super::grid::DistanceGrid;
use super::pose::{Frame, Pose, Rotation};
use super::program::{DEPTH, Leaf, Operation, Program};
use crate::error::BuildError;
use crate::lane::Real;
#[cfg(feature = "serde")]
use crate::serial::nested;

/// A solid, described about the origin. Checked when a collider is added to a model.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
#[must_use]
pub enum Shape {
    /// Everything on the far side of a plane through the origin.
    Plane {
        /// Points out of the solid; of any length above 0.
        normal: [f64; 3],
    },
    /// A ball.
    Sphere {
        /// Radius \[m\].
        radius: f64,
    },
    /// A box with sides along the axes.
    Cuboid {
        /// Half sides \[m\].
        half: [f64; 3],
    },
    /// All points within `radius` of a segment along y.
    Capsule {
        /// Radius \[m\].
        radius: f64,
        /// Half the length of the segment \[m\].
        half_length: f64,
    },
    /// A cylinder about the y axis.
    Cylinder {
        /// Radius \[m\].
        radius: f64,
        /// Half its height \[m\].
        half_height: f64,
    },
    /// A ring about the y axis. One whose tube is thicker than the middle circle is wide is solid, and knows only a bound of the
    /// distance inside.
    Torus {
        /// Radius of its middle circle \[m\].
        major: f64,
        /// Radius of its tube \[m\].
        minor: f64,
    },
    /// Sampled distances to a closed mesh.
    Grid(Arc<DistanceGrid>),
    /// All points within a distance \[m\] of a shape: its corners become round.
    Offset(#[cfg_attr(feature = "serde", serde(deserialize_with = "nested"))] Box<Shape>, f64),
    /// A shape in a pose of its own.
    Posed(#[cfg_attr(feature = "serde", serde(deserialize_with = "nested"))] Box<Shape>, Pose),
    /// Both shapes together.
    Union(
        #[cfg_attr(feature = "serde", serde(deserialize_with = "nested"))] Box<Shape>,
        #[cfg_attr(feature = "serde", serde(deserialize_with = "nested"))] Box<Shape>,
    ),
    /// What both shapes share.
    Intersection(
        #[cfg_attr(feature = "serde", serde(deserialize_with = "nested"))] Box<Shape>,
        #[cfg_attr(feature = "serde", serde(deserialize_with = "nested"))] Box<Shape>,
    ),
    /// The first shape without the second.
    Difference(
        #[cfg_attr(feature = "serde", serde(deserialize_with = "nested"))] Box<Shape>,
        #[cfg_attr(feature = "serde", serde(deserialize_with = "nested"))] Box<Shape>,
    ),
    /// A shape of `parry3d`; see [`Collider::from_parry`](super::Collider::from_parry).
    #[cfg(feature = "parry")]
    #[cfg_attr(feature = "serde", serde(skip))]
    Parry(super::parry::ParryShape),
}

/// What a shape's tree says about the whole.
pub(super) struct Traits {
    /// Corners of a box around it; none for a shape without end.
    pub bounds: Option<[[f64; 3]; 2]>,
    /// Half the thickness of its thinnest part \[m\]: a particle that travels less cannot pass through. 0 where cutting may
    /// have left walls of any thickness: every path is followed then.
    pub feature: f64,
    /// The same as a guess that is never 0: how finely a path along the surface is looked at.
    pub stride: f64,
    /// What walls are taken to be at the least \[m\], where two parts meet and neither says how far it is to the next one.
    pub wall: f64,
    /// φ changes by at most this times the distance travelled.
    pub lipschitz: f64,
    pub convex: bool,
    /// Whether φ is the distance outside, and inside; a bound of it otherwise.
    pub exact: [bool; 2],
}

impl Traits {
    /// Of a half-space.
    const ENDLESS: Self = Self {
        bounds: None,
        feature: f64::INFINITY,
        stride: f64::INFINITY,
        wall: f64::INFINITY,
        lipschitz: 1.0,
        convex: true,
        exact: [true; 2],
    };
}

impl Shape {
    /// All points within r of this shape \[m\].
    ///
    /// Cut shapes know a bound of the distance to their new edges, not the distance: an intersection grows to what its grown
    /// parts share, and a difference to its grown first part without the second one shrunk by r. Edges of cuts then stay sharp;
    /// offset the parts first where they must be round.
    pub fn offset(self, r: f64) -> Self {
        Self::Offset(Box::new(self), r)
    }
    /// The same shape with edges rounded by r \[m\], as large as before: boxes and cylinders are shrunk by r first. Shapes
    /// without edges stay as they are; of combined shapes every part is rounded.
    pub fn rounded(self, r: f64) -> Self {
        let both = |a: Box<Self>, b: Box<Self>| (Box::new(a.rounded(r)), Box::new(b.rounded(r)));
        match self {
            Self::Cuboid { half } => Self::Cuboid { half: half.map(|h| h - r) }.offset(r),
            Self::Cylinder { radius, half_height } => {
                Self::Cylinder { radius: radius - r, half_height: half_height - r }.offset(r)
            }
            Self::Offset(shape, by) => Self::Offset(Box::new(shape.rounded(r)), by),
            Self::Posed(shape, pose) => Self::Posed(Box::new(shape.rounded(r)), pose),
            Self::Union(a, b) => {
                let (a, b) = both(a, b);
                Self::Union(a, b)
            }
            Self::Intersection(a, b) => {
                let (a, b) = both(a, b);
                Self::Intersection(a, b)
            }
            Self::Difference(a, b) => {
                let (a, b) = both(a, b);
                Self::Difference(a, b)
            }
            round => round,
        }
    }
    /// This shape in a pose.
    pub fn posed(self, pose: Pose) -> Self {
        Self::Posed(Box::new(self), pose)
    }
    /// This shape moved \[m\].
    pub fn translated(self, by: impl Into<[f64; 3]>) -> Self {
        self.posed(Pose::at(by))
    }
    /// This shape turned about the origin.
    pub fn turned(self, by: impl Into<Rotation>) -> Self {
        self.posed(Pose::IDENTITY.turned(by))
    }
    /// This shape and another.
    pub fn union(self, other: Self) -> Self {
        Self::Union(Box::new(self), Box::new(other))
    }
    /// What this shape and another share.
    pub fn intersection(self, other: Self) -> Self {
        Self::Intersection(Box::new(self), Box::new(other))
    }
    /// This shape without another.
    pub fn difference(self, other: Self) -> Self {
        Self::Difference(Box::new(self), Box::new(other))
    }

    /// How deep shapes may nest where they are read: formats without a limit of their own would let a few bytes use up the stack.
    pub const DEEPEST: usize = 64;

    /// How many shapes stand around the innermost one; nothing deeper than [`Shape::DEEPEST`] is read back.
    pub fn depth(&self) -> usize {
        match self {
            Self::Offset(shape, _) | Self::Posed(shape, _) => 1 + shape.depth(),
            Self::Union(a, b) | Self::Intersection(a, b) | Self::Difference(a, b) => 1 + a.depth().max(b.depth()),
            _ => 0,
        }
    }

    /// Whether any part of it is a shape of `parry3d`: these are not written down.
    pub fn has_parry(&self) -> bool {
        match self {
            #[cfg(feature = "parry")]
            Self::Parry(_) => true,
            Self::Offset(shape, _) | Self::Posed(shape, _) => shape.has_parry(),
            Self::Union(a, b) | Self::Intersection(a, b) | Self::Difference(a, b) => a.has_parry() || b.has_parry(),
            _ => false,
        }
    }

    /// Corners of a box around the shape \[m\]; none for a shape without end, or one that is described wrongly.
    pub fn bounds(&self) -> Option<[[f64; 3]; 2]> {
        self.compile::<f64>(0).ok().and_then(|(_, traits)| traits.bounds)
    }

    /// The program of a shape that may be wrong, for precision `S`.
    pub(super) fn compile<S: Real>(&self, row: usize) -> Result<(Program<S>, Traits), BuildError> {
        let mut operations = Vec::new();
        let (traits, depth) = self.append(Pose::IDENTITY, row, &mut operations)?;
        if depth > DEPTH {
            let (quantity, value) = ("nesting of its shapes", depth as f64);
            let expected = "at most 4 cuts inside of what is cut off (make several colliders of it)";
            return Err(BuildError::BadValue { what: "collider", row, quantity, value, expected });
        }
        Ok((Program::new(operations), traits))
    }

    /// Appends the operations of this shape, whose frame stands at `pose`; returns the stack they need.
    fn append<S: Real>(
        &self,
        pose: Pose,
        row: usize,
        to: &mut Vec<Operation<S>>,
    ) -> Result<(Traits, usize), BuildError> {
        let size = |quantity, value: f64| {
            let rounded = S::from_f64(value);
            if rounded.is_finite() && rounded > S::ZERO {
                Ok(rounded)
            } else {
                let expected = "a finite number above 0";
                Err(BuildError::BadValue { what: "collider", row, quantity, value, expected })
            }
        };
        let leaf = |leaf, half: [f64; 3], feature, convex, to: &mut Vec<Operation<S>>| {
            to.push(Operation::Push(leaf, Frame::new(pose, [0.0; 3])));
            let bounds = Some(corners_of([half.map(|h| -h), half], pose));
            Ok((
                Traits { bounds, feature, stride: feature, wall: feature, lipschitz: 1.0, convex, exact: [true; 2] },
                1,
            ))
        };
        match self {
            Self::Plane { normal } => {
                let length = size("length of its normal", normal.iter().map(|c| c * c).sum::<f64>().sqrt())?.to_f64();
                let normal = normal.map(|c| S::from_f64(c / length));
                to.push(Operation::Push(Leaf::Plane { normal }, Frame::new(pose, [0.0; 3])));
                Ok((Traits::ENDLESS, 1))
            }
            &Self::Sphere { radius } => {
                leaf(Leaf::Sphere { radius: size("radius", radius)? }, [radius; 3], radius, true, to)
            }
            &Self::Cuboid { half } => {
                let [x, y, z] = half.map(|h| size("half side", h));
                let feature = half[0].min(half[1]).min(half[2]);
                leaf(Leaf::Cuboid(Sides::new([x?, y?, z?])), half, feature, true, to)
            }
            &Self::Capsule { radius, half_length } => {
                let shape =
                    Leaf::Capsule { radius: size("radius", radius)?, half_length: size("half length", half_length)? };
                leaf(shape, [radius, half_length + radius, radius], radius, true, to)
            }
            &Self::Cylinder { radius, half_height } => {
                let shape =
                    Leaf::Cylinder { radius: size("radius", radius)?, half_height: size("half height", half_height)? };
                leaf(shape, [radius, half_height, radius], radius.min(half_height), true, to)
            }
            &Self::Torus { major, minor } => {
                let shape = Leaf::Torus { major: size("major radius", major)?, minor: size("minor radius", minor)? };
                let (traits, depth) = leaf(shape, [major + minor, minor, major + minor], minor, false, to)?;
                Ok((Traits { exact: [true, minor <= major], ..traits }, depth))
            }
            Self::Grid(grid) => {
                let sampled = Leaf::Grid(Arc::new(grid.rounded()));
                let lipschitz = sampled.lipschitz();
                to.push(Operation::Push(sampled, Frame::new(pose, [0.0; 3])));
                let bounds = Some(corners_of(grid.bounds(), pose));
                let (cell, exact) = (grid.cell(), [false; 2]);
                Ok((Traits { bounds, feature: cell, stride: cell, wall: cell, lipschitz, convex: false, exact }, 1))
            }
            #[cfg(feature = "parry")]
            Self::Parry(shape) => {
                shape.check().map_err(|(quantity, value)| {
                    let expected = "a finite number above 0";
                    BuildError::BadValue { what: "collider", row, quantity, value, expected }
                })?;
                to.push(Operation::Push(Leaf::Parry(shape.clone()), Frame::new(pose, [0.0; 3])));
                let skin = if shape.is_open() { super::parry::SKIN } else { 0.0 };
                let [low, high] = shape.bounds();
                let [low, high] = [low.map(|c| c - skin), high.map(|c| c + skin)];
                let bounds = (!shape.is_plane()).then(|| corners_of([low, high], pose));
                let feature = shape.feature();
                let thinnest = (0..3).map(|k| high[k] - low[k]).fold(f64::INFINITY, f64::min);
                let stride = feature.max(CUT * 0.5 * thinnest);
                let (convex, exact) = (shape.is_convex(), [true; 2]);
                Ok((Traits { bounds, feature, stride, wall: stride, lipschitz: 1.0, convex, exact }, 1))
            }
            Self::Offset(shape, r) => {
                let by = size("offset", *r)?;
                let (traits, depth) = shape.append(pose, row, to)?;
                to.push(Operation::Offset(by));
                let bounds = traits.bounds.map(|[low, high]| [low.map(|c| c - r), high.map(|c| c + r)]);
                let (feature, stride, wall) = (traits.feature + r, traits.stride + r, traits.wall + r);
                // Parts of a bent shape may grow into each other.
                let exact = [traits.exact[0], traits.exact[1] && traits.convex];
                Ok((Traits { bounds, feature, stride, wall, exact, ..traits }, depth))
            }
            Self::Posed(shape, inner) => {
                let inner = inner.checked(row)?;
                let rotation = Rotation(product(pose.rotation.0, inner.rotation.0));
                shape.append(Pose { translation: pose.place(inner.translation), rotation }, row, to)
            }
            Self::Union(..) | Self::Intersection(..) | Self::Difference(..) => {
                let mut parts = self
                    .parts()
                    .into_iter()
                    .map(|shape| {
                        let mut operations = Vec::new();
                        let (traits, depth) = shape.append(pose, row, &mut operations)?;
                        Ok(Part { operations, traits, depth })
                    })
                    .collect::<Result<Vec<_>, BuildError>>()?;
                // Which part comes first matters to what is cut off alone.
                if !matches!(self, Self::Difference(..)) && depth_of(&parts) > DEPTH {
                    parts.sort_by_key(|part| Reverse(part.depth));
                }
                let depth = depth_of(&parts);
                let mut all: Option<Traits> = None;
                for part in parts {
                    to.extend(part.operations);
                    all = Some(match all {
                        None => part.traits,
                        Some(before) => {
                            to.push(self.operation());
                            self.combined(before, part.traits)
                        }
                    });
                }
                Ok((all.unwrap_or(Traits::ENDLESS), depth))
            }
        }
    }

    /// What a combined shape is made of. Unions of unions are one: of a thousand parts in halves as well as one after the other.
    fn parts(&self) -> Vec<&Self> {
        let (Self::Intersection(a, b) | Self::Difference(a, b)) = self else {
            let (mut left, mut parts) = (vec![self], Vec::new());
            while let Some(shape) = left.pop() {
                match shape {
                    Self::Union(a, b) => left.extend([&**b, &**a]),
                    part => parts.push(part),
                }
            }
            return parts;
        };
        vec![a, b]
    }

    /// What is done with the distances of two parts.
    fn operation<S>(&self) -> Operation<S> {
        match self {
            Self::Intersection(..) => Operation::Intersection,
            Self::Difference(..) => Operation::Difference,
            _ => Operation::Union,
        }
    }

    /// What two parts, combined as this shape does, say about the whole.
    fn combined(&self, a: Traits, b: Traits) -> Traits {
        let (lipschitz, stride) = (a.lipschitz.max(b.lipschitz), a.stride.min(b.stride));
        // Parts without end have no size to take a share of.
        let cut = CUT * if stride.is_finite() { stride } else { ENDLESS };
        let (bounds, feature, stride, wall) = match self {
            Self::Intersection(..) => (a.bounds.or(b.bounds), 0.0, cut, cut * WALL),
            Self::Difference(..) => (a.bounds, 0.0, cut, cut * WALL),
            _ => (joined(a.bounds, b.bounds), a.feature.min(b.feature), stride, a.wall.min(b.wall)),
        };
        let convex = matches!(self, Self::Intersection(..)) && a.convex && b.convex;
        // Outside, the nearer part of two is as far as both; anything else is a bound.
        let exact = [matches!(self, Self::Union(..)) && a.exact[0] && b.exact[0], false];
        Traits { bounds, feature, stride, wall, lipschitz, convex, exact }
    }
}

/// A part of a combined shape, flattened.
struct Part<S> {
    operations: Vec<Operation<S>>,
    traits: Traits,
    /// The stack it needs.
    depth: usize,
}

/// The stack that parts need one after the other: all but the first stand on what came before.
fn depth_of<S>(parts: &[Part<S>]) -> usize {
    parts.iter().enumerate().map(|(at, part)| part.depth + usize::from(at > 0)).max().unwrap_or_default()
}

/// How thin cut shapes are taken to be, as a share of their parts, where a guess is needed.
const CUT: f64 = 0.01;
/// How thin their walls are at the least, as a share of that: next to rims, paths along them are looked at as closely.
const WALL: f64 = 1.0 / 64.0;
/// The thickness of a part without end, where a finite one is needed \[m\].
const ENDLESS: f64 = 1.0;

/// The box around a box in a pose.
fn corners_of([low, high]: [[f64; 3]; 2], pose: Pose) -> [[f64; 3]; 2] {
    let mut bounds = [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]];
    for corner in 0..8 {
        let p = pose.place(std::array::from_fn(|k| if corner >> k & 1 == 0 { low[k] } else { high[k] }));
        for k in 0..3 {
            bounds[0][k] = bounds[0][k].min(p[k]);
            bounds[1][k] = bounds[1][k].max(p[k]);
        }
    }
    bounds
}

fn joined(a: Option<[[f64; 3]; 2]>, b: Option<[[f64; 3]; 2]>) -> Option<[[f64; 3]; 2]> {
    let ([a_low, a_high], [b_low, b_high]) = (a?, b?);
    Some([std::array::from_fn(|k| a_low[k].min(b_low[k])), std::array::from_fn(|k| a_high[k].max(b_high[k]))])
}

/// The quaternion of b followed by a.
fn product([ax, ay, az, aw]: [f64; 4], [bx, by, bz, bw]: [f64; 4]) -> [f64; 4] {
    [
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    ]
}

#[cfg(test)]
mod tests {
    use super::super::tests::Random;
    use super::super::{Collider, Colliders};
    use super::*;
    use crate::vec3::Vec3;

    /// Unions mean the same however they are put together, and so they all may be.
    #[test]
    fn unions_may_be_nested_in_any_way() {
        let part = |k: usize| {
            let ball = Shape::Sphere { radius: 0.1 }.translated([0.15 * k as f64, 0.0, 0.0]);
            if k % 5 == 3 { ball.difference(Shape::Cuboid { half: [9.0, 0.05, 0.05] }) } else { ball }
        };
        fn halved(parts: &[Shape]) -> Shape {
            match parts {
                [one] => one.clone(),
                parts => halved(&parts[..parts.len() / 2]).union(halved(&parts[parts.len() / 2..])),
            }
        }
        let parts: Vec<_> = (0..64).map(part).collect();
        let to_the_left = parts.iter().cloned().reduce(Shape::union).expect("parts");
        let to_the_right = parts.iter().cloned().rev().reduce(|all, part| part.union(all)).expect("parts");
        let shapes = [to_the_left, to_the_right.clone(), halved(&parts), to_the_right.intersection(halved(&parts))];
        let set = Colliders::<f64>::new(shapes.map(Collider::new)).expect("all of them fit");
        // Many of them in halves are no deeper than a few: nothing may go down by calls from one to the next.
        let crowd: Vec<_> = (0..30_000).map(part).collect();
        Colliders::<f64>::new([Collider::new(halved(&crowd))]).expect("it fits, too");
        let mut random = Random(3);
        for _ in 0..500 {
            let [x, y, z] = random.point();
            let p = Vec3::new(5.0 + 6.0 * x, 0.3 * y, 0.3 * z);
            let [expected, others @ ..] = set.solids() else { panic!("four colliders") };
            for solid in others {
                assert_eq!(solid.program.eval(p), expected.program.eval(p), "at {p:?}");
            }
        }
    }
}
