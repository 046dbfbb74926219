//! Mass properties: how heavy a solid is, where its centre is, and how it resists turning.

use ultraviolet::DVec3;

use super::quaternion::Quaternion;
use crate::error::BuildError;
use crate::mat3::Mat3;
use crate::mesh::TriMesh;
use crate::sdf::Pose;
use crate::svd::svd;
use crate::vec3::Vec3;

/// Mass, centre of mass and inertia of a solid, in double precision.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct MassProperties {
    /// Mass \[kg\].
    pub mass: f64,
    /// Centre of mass \[m\].
    pub centre: [f64; 3],
    /// Inertia about the centre of mass, symmetric: I = ∫ ρ (rᵀr 1 − r rᵀ) \[kg m²\] (R 12).
    pub inertia: [[f64; 3]; 3],
}

impl MassProperties {
    /// A body whose principal axes are the coordinate axes and whose centre is the origin.
    pub fn diagonal(mass: f64, inertia: [f64; 3]) -> Self {
        let [x, y, z] = inertia;
        Self { mass, centre: [0.0; 3], inertia: [[x, 0.0, 0.0], [0.0, y, 0.0], [0.0, 0.0, z]] }
    }
    /// A ball \[m, kg/m³\]: I = 2/5 m r².
    pub fn sphere(radius: f64, density: f64) -> Self {
        let mass = density * 4.0 / 3.0 * core::f64::consts::PI * radius.powi(3);
        Self::diagonal(mass, [0.4 * mass * radius * radius; 3])
    }
    /// A box of these half sides \[m, kg/m³\]: I_x = m (y² + z²)/3, and so on.
    pub fn cuboid(half: [f64; 3], density: f64) -> Self {
        let [x, y, z] = half;
        let mass = density * 8.0 * x * y * z;
        Self::diagonal(mass, [y * y + z * z, z * z + x * x, x * x + y * y].map(|sum| mass * sum / 3.0))
    }
    /// A cylinder about y \[m, kg/m³\]: I_y = m r²/2, I_x = I_z = m (3r² + 4h²)/12 with h half its height.
    pub fn cylinder(radius: f64, half_height: f64, density: f64) -> Self {
        let mass = density * core::f64::consts::PI * radius * radius * 2.0 * half_height;
        let across = mass * (3.0 * radius * radius + 4.0 * half_height * half_height) / 12.0;
        Self::diagonal(mass, [across, 0.5 * mass * radius * radius, across])
    }
    /// A capsule along y \[m, kg/m³\]: a cylinder and two half balls, whose centres are 3r/8 above their flat sides.
    pub fn capsule(radius: f64, half_length: f64, density: f64) -> Self {
        let (r, h) = (radius, half_length);
        let body = Self::cylinder(r, h, density);
        let ball = Self::sphere(r, density);
        // Both halves together: 2/5 m r² about y; across, each half about its own centre, moved out to h + 3r/8.
        let across = body.inertia[0][0] + ball.mass * (0.4 * r * r + h * h + 0.75 * h * r);
        let along = body.inertia[1][1] + ball.inertia[1][1];
        Self::diagonal(body.mass + ball.mass, [across, along, across])
    }
    /// A ring about y \[m, kg/m³\]: I_y = m (R² + 3r²/4), I_x = I_z = m (R²/2 + 5r²/8).
    pub fn torus(major: f64, minor: f64, density: f64) -> Self {
        let mass = density * 2.0 * core::f64::consts::PI.powi(2) * major * minor * minor;
        let across = mass * (0.5 * major * major + 0.625 * minor * minor);
        Self::diagonal(mass, [across, mass * (major * major + 0.75 * minor * minor), across])
    }

    /// The solid inside a closed mesh of this density \[kg/m³\]; exact.
    ///
    /// The solid is the sum of the signed tetrahedra (o, a, b, c) over all triangles, with o the first vertex. For one of them,
    /// D = a·(b × c), s = a + b + c:   V = D/6,   ∫ r = D/24 s,   ∫ r rᵀ = D/120 (a aᵀ + b bᵀ + c cᵀ + s sᵀ).
    ///
    /// # Errors
    /// When the mesh is open or its triangles do not agree on an outside ([`BuildError::Mesh`]), when they agree on the wrong
    /// one or enclose nothing, or when the density is not a finite number above 0.
    pub fn of_mesh(mesh: &TriMesh, density: f64) -> Result<Self, BuildError> {
        mesh.require_closed()?;
        check_positive("density", density)?;
        let positions = mesh.positions();
        let origin = positions[0];
        let (mut volume, mut first, mut second) = (0.0, DVec3::zero(), [DVec3::zero(); 3]);
        for &[a, b, c] in mesh.triangles() {
            let [a, b, c] = [a, b, c].map(|i| positions[i as usize] - origin);
            let (d, s) = (a.dot(b.cross(c)), a + b + c);
            volume += d / 6.0;
            first += s * (d / 24.0);
            for (k, row) in second.iter_mut().enumerate() {
                *row += (a * a[k] + b * b[k] + c * c[k] + s * s[k]) * (d / 120.0);
            }
        }
        let size = mesh.area().powf(1.5);
        if !(volume > 1e-12 * size && volume.is_finite()) {
            let expected = "a number above 0 (triangles run counter-clockwise seen from outside)";
            return Err(bad("enclosed volume", volume, expected));
        }
        let centre = first * (1.0 / volume);
        // About the centre: ∫ r rᵀ − V c cᵀ; then I = tr(S) 1 − S.
        let moment = |i: usize, j: usize| density * (second[i][j] - volume * centre[i] * centre[j]);
        let trace = moment(0, 0) + moment(1, 1) + moment(2, 2);
        let inertia = std::array::from_fn(|i| {
            std::array::from_fn(|j| if i == j { trace - moment(i, i) } else { -0.5 * (moment(i, j) + moment(j, i)) })
        });
        let centre = centre + origin;
        Ok(Self { mass: density * volume, centre: [centre.x, centre.y, centre.z], inertia })
    }

    /// The same solid in a pose: its centre moves, its inertia turns, I' = R I Rᵀ.
    #[must_use]
    pub fn posed(self, pose: Pose) -> Self {
        let r = Quaternion::new(pose.rotation.0).normalized().matrix();
        let i = Mat3::from_columns(self.inertia[0].into(), self.inertia[1].into(), self.inertia[2].into());
        let turned = r * i * r.transpose();
        let centre = r * Vec3::from(self.centre) + Vec3::from(pose.translation);
        Self { mass: self.mass, centre: centre.into(), inertia: turned.columns.map(Into::into) }
    }

    /// Inertia about another point \[kg m²\]: I + m (d² 1 − d dᵀ), d from the centre to the point (parallel axes).
    pub fn inertia_about(&self, point: [f64; 3]) -> [[f64; 3]; 3] {
        let d: [f64; 3] = std::array::from_fn(|k| point[k] - self.centre[k]);
        let sq = d.iter().map(|c| c * c).sum::<f64>();
        std::array::from_fn(|i| {
            std::array::from_fn(|j| {
                let unit = if i == j { sq } else { 0.0 };
                self.inertia[i][j] + self.mass * (unit - d[i] * d[j])
            })
        })
    }

    /// Both solids as one; where they overlap, both count.
    #[must_use]
    pub fn joined(self, other: Self) -> Self {
        let mass = self.mass + other.mass;
        let centre = std::array::from_fn(|k| (self.mass * self.centre[k] + other.mass * other.centre[k]) / mass);
        let (a, b) = (self.inertia_about(centre), other.inertia_about(centre));
        Self { mass, centre, inertia: std::array::from_fn(|i| std::array::from_fn(|j| a[i][j] + b[i][j])) }
    }

    /// The same shape with another mass \[kg\].
    #[must_use]
    pub fn with_mass(self, mass: f64) -> Self {
        let scale = mass / self.mass;
        Self { mass, inertia: self.inertia.map(|row| row.map(|v| v * scale)), ..self }
    }

    /// Principal moments \[kg m²\] and the rotation whose columns are the principal axes, as a quaternion.
    ///
    /// Axes that are principal already stay as they are.
    pub fn principal(&self) -> ([f64; 3], Quaternion<f64>) {
        let i = &self.inertia;
        let moments = [i[0][0], i[1][1], i[2][2]];
        let off = i[0][1].abs() + i[0][2].abs() + i[1][2].abs();
        if off <= 1e-13 * moments.iter().sum::<f64>() {
            return (moments, Quaternion::identity());
        }
        // Of a positive matrix, the right singular vectors are the eigenvectors.
        let tensor = Mat3::from_columns(i[0].into(), i[1].into(), i[2].into());
        let axes = svd(tensor).v;
        let axes = Mat3 { columns: axes.columns.map(|axis| axis * (1.0 / axis.length())) };
        let moment = |k: usize| axes.columns[k].dot(tensor * axes.columns[k]);
        ([moment(0), moment(1), moment(2)], quaternion_of(axes))
    }

    /// Refuses what no solid has: masses and moments that are not finite and above 0, moments that break I_x + I_y ≥ I_z.
    ///
    /// # Errors
    /// Which quantity, and what it should be.
    pub fn check(&self, row: usize) -> Result<(), BuildError> {
        let bad =
            |quantity, value, expected| BuildError::BadValue { what: "rigid body", row, quantity, value, expected };
        if !(self.mass.is_finite() && self.mass > 0.0) {
            return Err(bad("mass", self.mass, "a finite number above 0"));
        }
        if let Some(&value) = self.centre.iter().find(|c| !c.is_finite()) {
            return Err(bad("centre of mass", value, "a finite number"));
        }
        if let Some(&value) = self.inertia.iter().flatten().find(|c| !c.is_finite()) {
            return Err(bad("inertia", value, "a finite number"));
        }
        let (moments, _) = self.principal();
        let sum: f64 = moments.iter().sum();
        for value in moments {
            if value <= 1e-9 * sum {
                return Err(bad("principal moment of inertia", value, "a number above 0 (give the body a thickness)"));
            }
            if value > (sum - value) * (1.0 + 1e-6) {
                return Err(bad("principal moment of inertia", value, "at most the sum of the other two"));
            }
        }
        Ok(())
    }
}

/// The quaternion of a rotation matrix; its largest component is found first, so that nothing cancels.
fn quaternion_of(m: Mat3<f64>) -> Quaternion<f64> {
    let [a, b, c] = m.columns;
    let squares = [1.0 + a.x - b.y - c.z, 1.0 - a.x + b.y - c.z, 1.0 - a.x - b.y + c.z, 1.0 + a.x + b.y + c.z];
    let largest = (0..4).fold(0, |best, k| if squares[k] > squares[best] { k } else { best });
    let components = match largest {
        0 => [squares[0], a.y + b.x, a.z + c.x, b.z - c.y],
        1 => [a.y + b.x, squares[1], b.z + c.y, c.x - a.z],
        2 => [a.z + c.x, b.z + c.y, squares[2], a.y - b.x],
        _ => [b.z - c.y, c.x - a.z, a.y - b.x, squares[3]],
    };
    Quaternion::new(components).normalized()
}

fn bad(quantity: &'static str, value: f64, expected: &'static str) -> BuildError {
    BuildError::BadValue { what: "rigid body", row: 0, quantity, value, expected }
}

fn check_positive(quantity: &'static str, value: f64) -> Result<(), BuildError> {
    if value.is_finite() && value > 0.0 { Ok(()) } else { Err(bad(quantity, value, "a finite number above 0")) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]
mod tests {
    use super::*;
    use crate::mesh::{MeshError, icosphere, tube};
    use crate::sdf::Rotation;

    fn box_mesh(half: [f64; 3], at: [f64; 3]) -> TriMesh {
        let p = (0..8).map(|i| {
            let corner = |k: usize| if i >> k & 1 == 0 { -half[k] } else { half[k] };
            DVec3::new(corner(0) + at[0], corner(1) + at[1], corner(2) + at[2])
        });
        let quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        TriMesh::new(p, quads.into_iter().flat_map(|[a, b, c, d]| [[a, b, c], [a, c, d]])).unwrap()
    }

    fn close(a: &MassProperties, b: &MassProperties, tolerance: f64) {
        let size = b.inertia.iter().flatten().fold(0.0_f64, |m, v| m.max(v.abs()));
        assert!((a.mass / b.mass - 1.0).abs() < tolerance, "{a:?} {b:?}");
        for i in 0..3 {
            assert!((a.centre[i] - b.centre[i]).abs() < tolerance.max(1e-12), "{a:?} {b:?}");
            for j in 0..3 {
                assert!((a.inertia[i][j] - b.inertia[i][j]).abs() < tolerance * size, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn a_box_as_a_mesh_is_the_box() {
        let half = [0.3, 0.5, 0.2];
        let expected = MassProperties::cuboid(half, 700.0);
        close(&MassProperties::of_mesh(&box_mesh(half, [0.0; 3]), 700.0).unwrap(), &expected, 1e-12);
        let moved = MassProperties::of_mesh(&box_mesh(half, [3.0, -2.0, 8.0]), 700.0).unwrap();
        close(&moved, &expected.posed(Pose::at([3.0, -2.0, 8.0])), 1e-10);
    }

    #[test]
    fn round_primitives_are_what_their_meshes_tend_to() {
        let ball = icosphere(0.4, 5).unwrap();
        close(&MassProperties::of_mesh(&ball, 1000.0).unwrap(), &MassProperties::sphere(0.4, 1000.0), 2e-3);
        // Volume integrals on a fine lattice.
        let lattice = |inside: &dyn Fn(f64, f64, f64) -> bool| {
            let (n, side) = (120, 2.0);
            let cell = side / f64::from(n);
            let (mut mass, mut inertia) = (0.0, [[0.0; 3]; 3]);
            for i in 0..n {
                for j in 0..n {
                    for k in 0..n {
                        let r = [i, j, k].map(|c| (f64::from(c) + 0.5) * cell - 1.0);
                        if inside(r[0], r[1], r[2]) {
                            mass += cell.powi(3);
                            let sq = r.iter().map(|c| c * c).sum::<f64>();
                            for (a, row) in inertia.iter_mut().enumerate() {
                                for (b, v) in row.iter_mut().enumerate() {
                                    *v += cell.powi(3) * (if a == b { sq } else { 0.0 } - r[a] * r[b]);
                                }
                            }
                        }
                    }
                }
            }
            MassProperties { mass, centre: [0.0; 3], inertia }
        };
        let (r, h) = (0.4, 0.5);
        let capsule = |x: f64, y: f64, z: f64| {
            let beyond = (y.abs() - h).max(0.0);
            x * x + z * z + beyond * beyond < r * r
        };
        close(&MassProperties::capsule(r, h, 1.0), &lattice(&capsule), 5e-3);
        let cylinder = |x: f64, y: f64, z: f64| x * x + z * z < r * r && y.abs() < h;
        close(&MassProperties::cylinder(r, h, 1.0), &lattice(&cylinder), 5e-3);
        let torus = |x: f64, y: f64, z: f64| ((x * x + z * z).sqrt() - 0.6).powi(2) + y * y < 0.3 * 0.3;
        close(&MassProperties::torus(0.6, 0.3, 1.0), &lattice(&torus), 5e-3);
    }

    #[test]
    fn two_halves_make_a_whole_and_principal_axes_undo_a_turn() {
        let half = MassProperties::cuboid([0.15, 0.5, 0.2], 10.0);
        let whole = half.posed(Pose::at([-0.15, 0.0, 0.0])).joined(half.posed(Pose::at([0.15, 0.0, 0.0])));
        close(&whole, &MassProperties::cuboid([0.3, 0.5, 0.2], 10.0), 1e-12);

        let turned = whole.posed(Pose::IDENTITY.turned(Rotation::about([1.0, 2.0, -0.5], 0.7)));
        let (moments, axes) = turned.principal();
        let mut sorted = moments;
        sorted.sort_by(f64::total_cmp);
        let mut expected = [0, 1, 2].map(|k| whole.inertia[k][k]);
        expected.sort_by(f64::total_cmp);
        assert!(sorted.iter().zip(expected).all(|(a, b)| (a / b - 1.0).abs() < 1e-9), "{sorted:?} {expected:?}");
        // R diag Rᵀ is the tensor again.
        let back = MassProperties::diagonal(turned.mass, moments).posed(Pose::IDENTITY.turned(axes.components()));
        close(&back, &turned, 1e-9);
    }

    #[test]
    fn open_inverted_and_flat_input_is_refused() {
        let open = MassProperties::of_mesh(&tube(0.2, 1.0, 8, 2).unwrap(), 1.0);
        assert!(matches!(open, Err(BuildError::Mesh(MeshError::OpenSurface { .. }))));
        let ball = icosphere(0.5, 1).unwrap();
        let inside_out =
            TriMesh::new(ball.positions().iter().copied(), ball.triangles().iter().map(|&[a, b, c]| [a, c, b]));
        let inverted = MassProperties::of_mesh(&inside_out.unwrap(), 1.0);
        assert!(
            matches!(inverted, Err(BuildError::BadValue { quantity: "enclosed volume", value, .. }) if value < 0.0)
        );
        assert!(MassProperties::of_mesh(&ball, f64::NAN).is_err() && MassProperties::of_mesh(&ball, 0.0).is_err());
        for moments in [[1.0, 1.0, 0.0], [1.0, f64::NAN, 1.0], [1.0, 1.0, 3.0], [-1.0, 1.0, 1.0]] {
            assert!(MassProperties::diagonal(1.0, moments).check(3).is_err(), "{moments:?}");
        }
        assert!(MassProperties::diagonal(0.0, [1.0; 3]).check(0).is_err());
        assert_eq!(MassProperties::diagonal(1.0, [13.0, 10.0, 5.0]).check(0), Ok(()));
    }
}
