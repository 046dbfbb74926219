//! The constraint kinds, one file each: a file is the only home of its formula.

mod attachment;
mod dihedral;
mod distance;
mod isometric;
mod limit;
mod range;
mod stretch_limit;
mod tet_volume;
mod tether;
mod triangle_strain;
pub mod triangle_volume;

pub use attachment::Attachment;
pub use dihedral::Dihedral;
pub use distance::Distance;
pub use isometric::IsometricBending;
pub use limit::Limit;
pub use range::DistanceRange;
pub use stretch_limit::StretchLimit;
pub use tet_volume::TetVolume;
pub use tether::Tether;
pub use triangle_strain::{Orthotropic, TriangleStrain};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraint::Constraint;
    use crate::energies::elastic::{Corotated, ElasticTet, ElasticTriangle, NeoHookean};
    use crate::lane::{BLOCK, Lane, Octet};
    use crate::vec3::Vec3;

    /// Numbers in [−1, 1) that repeat for no short period; every seventh is 0, to meet degenerate shapes.
    fn sample(i: usize) -> f32 {
        if i.is_multiple_of(7) { 0.0 } else { ((i * 40_503) % 65_536) as f32 / 32_768.0 - 1.0 }
    }

    /// Eight constraints at once give the bits of eight constraints one by one.
    fn same_bits<K: Constraint<N, P>, const N: usize, const P: usize>() {
        for round in 0..500 {
            let column = |slot: usize| {
                let mut octet = Octet([0.0; BLOCK]);
                for lane in 0..BLOCK {
                    octet.0[lane] = sample((round * BLOCK + lane) * 64 + slot * 3);
                }
                octet
            };
            let parameter: [Octet<f32>; P] = core::array::from_fn(column);
            let corner: [[Octet<f32>; 3]; N] =
                core::array::from_fn(|k| [column(P + 3 * k), column(P + 3 * k + 1), column(P + 3 * k + 2)]);

            let load = |octet: &Octet<f32>| wide::f32x8::load(octet, 0);
            let (c, grad) = K::eval(
                &parameter.each_ref().map(load),
                &corner.each_ref().map(|[x, y, z]| Vec3::new(load(x), load(y), load(z))),
            );
            let unpack = |v: wide::f32x8| v.to_array().map(f32::to_bits);
            for lane in 0..BLOCK {
                let one = |octet: &Octet<f32>| octet.0[lane];
                let (c_one, grad_one) = K::eval(
                    &parameter.each_ref().map(one),
                    &corner.each_ref().map(|[x, y, z]| Vec3::new(one(x), one(y), one(z))),
                );
                assert_eq!(unpack(c)[lane], c_one.to_bits(), "{}: value", K::NAME);
                for k in 0..N {
                    let wide = [unpack(grad[k].x)[lane], unpack(grad[k].y)[lane], unpack(grad[k].z)[lane]];
                    assert_eq!(wide, <[f32; 3]>::from(grad_one[k]).map(f32::to_bits), "{}: gradient {k}", K::NAME);
                }
            }
        }
    }

    #[test]
    fn every_width_gives_the_same_bits() {
        same_bits::<Attachment, 1, 3>();
        same_bits::<Dihedral, 4, 2>();
        same_bits::<Distance, 2, 1>();
        same_bits::<DistanceRange, 2, 3>();
        same_bits::<IsometricBending, 4, 5>();
        same_bits::<Limit, 2, 1>();
        same_bits::<StretchLimit, 3, 4>();
        same_bits::<TetVolume, 4, 1>();
        same_bits::<Tether, 1, 4>();
        same_bits::<TriangleStrain, 3, 7>();
        same_bits::<ElasticTet<Corotated>, 4, 11>();
        same_bits::<ElasticTet<NeoHookean>, 4, 11>();
        same_bits::<ElasticTriangle<Corotated>, 3, 6>();
        same_bits::<ElasticTriangle<NeoHookean>, 3, 6>();
    }
}
