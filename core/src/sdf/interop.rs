//! Poses and rotations to and from the types of `glam` and `mint`. Vectors need nothing here: theirs convert into arrays.

use super::pose::{Pose, Rotation};

/// Conversions with a pair of a vector and a quaternion, through arrays `[x, y, z]` and `[x, y, z, w]`.
macro_rules! pair {
    ($vector:ty, $quaternion:ty, $scalar:ty) => {
        impl From<($vector, $quaternion)> for Pose {
            fn from((translation, rotation): ($vector, $quaternion)) -> Self {
                let translation: [$scalar; 3] = translation.into();
                Self { translation: translation.map(f64::from), rotation: rotation.into() }
            }
        }
        impl From<Pose> for ($vector, $quaternion) {
            fn from(pose: Pose) -> Self {
                (pose.translation.map(|c| c as $scalar).into(), pose.rotation.into())
            }
        }
    };
}

/// Conversions with a quaternion, through arrays `[x, y, z, w]`.
macro_rules! quaternion {
    ($quaternion:ty, $scalar:ty, $to_array:expr, $of_array:expr) => {
        impl From<$quaternion> for Rotation {
            fn from(rotation: $quaternion) -> Self {
                let components: [$scalar; 4] = $to_array(rotation);
                Self(components.map(f64::from))
            }
        }
        impl From<Rotation> for $quaternion {
            fn from(rotation: Rotation) -> Self {
                $of_array(rotation.0.map(|c| c as $scalar))
            }
        }
    };
}

#[cfg(feature = "glam")]
mod with_glam {
    use super::{Pose, Rotation};
    use glam::{Affine3A, DAffine3, DQuat, DVec3, Quat, Vec3};

    quaternion!(Quat, f32, <[f32; 4]>::from, Quat::from_array);
    quaternion!(DQuat, f64, <[f64; 4]>::from, DQuat::from_array);
    pair!(Vec3, Quat, f32);
    pair!(DVec3, DQuat, f64);

    impl From<Pose> for DAffine3 {
        fn from(pose: Pose) -> Self {
            let (translation, rotation) = pose.into();
            Self::from_rotation_translation(rotation, translation)
        }
    }
    impl From<Pose> for Affine3A {
        fn from(pose: Pose) -> Self {
            let (translation, rotation) = pose.into();
            Self::from_rotation_translation(rotation, translation)
        }
    }
}

#[cfg(feature = "mint")]
mod with_mint {
    use super::{Pose, Rotation};
    use mint::{Point3, Quaternion, Vector3};

    quaternion!(Quaternion<f32>, f32, <[f32; 4]>::from, Quaternion::from);
    quaternion!(Quaternion<f64>, f64, <[f64; 4]>::from, Quaternion::from);
    pair!(Vector3<f32>, Quaternion<f32>, f32);
    pair!(Vector3<f64>, Quaternion<f64>, f64);
    pair!(Point3<f32>, Quaternion<f32>, f32);
    pair!(Point3<f64>, Quaternion<f64>, f64);
}
