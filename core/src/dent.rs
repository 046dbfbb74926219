//! Dents: the plastic deformation of one cluster, apart from the layout it is kept in.
//!
//! Known in every build, so that a method around another one passes them on whatever features there are.

use crate::lane::Real;
use crate::mat3::Mat3;
use crate::vec3::Vec3;

/// What a cluster has flowed, to be carried to another model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dent<S> {
    /// The plastic deformation P in the principal axes, column after column \[1\].
    pub plastic: [[S; 3]; 3],
    /// The principal axes of the rest shape, as columns.
    pub axes: Mat3<f64>,
}

impl<S: Real> Dent<S> {
    /// No deformation.
    pub const NONE: [[S; 3]; 3] = [[S::ONE, S::ZERO, S::ZERO], [S::ZERO, S::ONE, S::ZERO], [S::ZERO, S::ZERO, S::ONE]];

    /// The same deformation in other principal axes, such as those of a cluster with a new pin; the same bits in the same axes.
    ///
    /// With axes A and B as columns:   P' = Q P Qᵀ,   Q = Bᵀ A.
    pub fn about(&self, axes: &Mat3<f64>) -> [[S; 3]; 3] {
        if self.axes == *axes {
            return self.plastic;
        }
        let q = axes.transpose() * self.axes;
        let [a, b, c] = self.plastic.map(|column| Vec3::from(column.map(Real::to_f64)));
        let turned = q * Mat3::from_columns(a, b, c) * q.transpose();
        turned.columns.map(|column| <[f64; 3]>::from(column).map(S::from_f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_axes_hold_the_same_deformation() {
        let (s, c) = 0.7_f64.sin_cos();
        let turned = Mat3::from_columns(Vec3::new(c, s, 0.0), Vec3::new(-s, c, 0.0), Vec3::new(0.0, 0.0, 1.0));
        let shuffled = Mat3::from_columns(Vec3::new(0.0, 1.0, 0.0), Vec3::new(0.0, 0.0, 1.0), Vec3::new(1.0, 0.0, 0.0));
        let dent = Dent { plastic: [[1.2, 0.1, 0.0], [0.05, 0.9, -0.1], [0.0, 0.2, 1.1]], axes: turned };
        let in_space = |plastic: [[f64; 3]; 3], axes: Mat3<f64>| {
            let [a, b, c] = plastic.map(Vec3::from);
            axes * Mat3::from_columns(a, b, c) * axes.transpose()
        };
        assert_eq!(dent.about(&turned), dent.plastic);
        let (was, is) = (in_space(dent.plastic, turned), in_space(dent.about(&shuffled), shuffled));
        for (was, is) in was.columns.into_iter().zip(is.columns) {
            assert!((was - is).length() < 1e-14, "{was:?}, {is:?}");
        }
        assert!(dent.about(&shuffled) != dent.plastic);
    }
}
