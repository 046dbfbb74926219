//! Materials: one description in SI units that gives every method which knows compliance the same stiffness; PBD takes all as
//! rigid.
//!
//! A body made of a [`Material`] carries it as a continuum: triangles or tetrahedra with moduli, hinges calibrated to the
//! bending stiffness of a plate. Such elements are constraints and energies at once, so that method, mesh, substeps and
//! iterations may change and the cloth stays the same, up to what a method has not yet converged.
//!
//! ```
//! use pliant_core::body::Body;
//! use pliant_core::material::Material;
//! use pliant_core::mesh::ClothGrid;
//!
//! let mesh = ClothGrid::square(1.0, 20).build()?.mesh;
//! let curtain = Body::sheet_of(&Material::SILK, &mesh, [1.0, 0.0, 0.0])?.pinned([0, 19]);
//! let mass: f64 = curtain.masses().iter().sum();
//! assert!((mass - 0.06).abs() < 1e-9, "a square metre of silk");
//! # Ok::<(), pliant_core::error::BuildError>(())
//! ```

use crate::body::{Bending, Body, Elasticity, Law, Role};
use crate::error::BuildError;
use crate::kinds::Orthotropic;
use crate::mesh::{TetMesh, TriMesh};

/// What something is made of. The fields for sheets (thickness, bending, shear, the second modulus) do not matter to solids.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Material {
    /// Density \[kg/m³\]; that of a sheet per area is this times the thickness.
    pub density: f64,
    /// Young's moduli along warp and weft \[Pa\]; solids use the first.
    pub young: [f64; 2],
    /// Poisson's ratio \[1\].
    pub poisson: f64,
    /// Shear modulus between warp and weft \[Pa\].
    pub shear: f64,
    /// Thickness of a sheet \[m\].
    pub thickness: f64,
    /// Bending stiffness D of a sheet: moment per width and curvature \[N·m\]. Yarns slide, so that cloth has far less of it
    /// than E t³/12.
    pub bending: f64,
    /// How long internal friction takes to stop a deformation: η/E of a Kelvin–Voigt solid \[s\].
    pub damping: f64,
    /// Coulomb friction against a surface of the same material \[1\].
    pub friction: f64,
    /// How stress follows strain in solids.
    pub law: Law,
}

/// Moduli of cloth as fabric testers state them: forces per width.
///
/// | | unit there | in SI |
/// | --- | --- | --- |
/// | tension over strain | gf/cm | 0.981 N/m |
/// | shear G | gf/(cm·°) | 56.2 N/m |
/// | bending B | gf·cm²/cm | 9.81e-5 N·m |
const fn fabric(areal: f64, thickness: f64, tension: [f64; 2], shear: f64, bending: f64, friction: f64) -> Material {
    Material {
        density: areal / thickness,
        young: [tension[0] / thickness, tension[1] / thickness],
        poisson: 0.2,
        shear: shear / thickness,
        thickness,
        bending,
        damping: 0.002,
        friction,
        law: Law::Corotated,
    }
}

/// Presets. Where no source is named, figures of fabrics are round ones from the middle of the ranges that low-stress testing of
/// apparel cloth in Kawabata's system (KES-F: tension at 500 gf/cm, shear at 2°, pure bending, surface friction MIU) gives for
/// each kind, not one measured sample: cloth of a name differs by a factor of two and more. Measure yours, or start from the
/// nearest.
impl Material {
    /// Plain-woven shirt cotton: 0.12 kg/m², G = 1.2 gf/(cm·°), B = 0.07 gf·cm²/cm.
    pub const COTTON: Self = fabric(0.12, 3e-4, [1.2e4, 0.8e4], 67.0, 6.9e-6, 0.25);
    /// Light silk satin: 0.06 kg/m², G = 0.3 gf/(cm·°), B = 0.03 gf·cm²/cm.
    pub const SILK: Self = fabric(0.06, 1.5e-4, [1.0e4, 0.6e4], 17.0, 2.9e-6, 0.15);
    /// Worsted suiting: 0.2 kg/m², G = 0.7 gf/(cm·°), B = 0.12 gf·cm²/cm.
    pub const WOOL: Self = fabric(0.2, 6e-4, [0.7e4, 0.5e4], 39.0, 1.2e-5, 0.2);
    /// 11 ounce denim: 0.324 kg/m² and 6.2e-5 N·m as measured on the black denim of Wang, O'Brien and Ramamoorthi ("Data-driven
    /// elastic models for cloth", 2011; their mean over directions at low curvature). Tension and shear (G = 2.5 gf/(cm·°)) are
    /// those of denim without elastane, which theirs had.
    pub const DENIM: Self = fabric(0.324, 8e-4, [2.5e4, 1.5e4], 140.0, 6.2e-5, 0.3);
    /// Garment leather of 1 mm: 860 kg/m³; the same in every direction, E = 20 MPa. Its fibres are felted and do not slide as
    /// yarns do: the bending stiffness is a tenth of E t³/12.
    pub const LEATHER: Self = Self {
        density: 860.0,
        young: [2.0e7, 2.0e7],
        poisson: 0.3,
        shear: 7.7e6,
        thickness: 1e-3,
        bending: 1.7e-4,
        damping: 0.005,
        friction: 0.5,
        law: Law::Corotated,
    };
    /// Soft natural rubber (40 Shore A: E = 1.7 MPa by Gent's relation), nearly incompressible.
    pub const RUBBER: Self = Self::solid(930.0, 1.7e6, 0.47, 0.001, 0.9);
    /// Gelatine dessert: E = 10 kPa, water's density.
    pub const GEL: Self = Self::solid(1000.0, 1.0e4, 0.45, 0.01, 0.3);

    /// All of the above by name, for settings and scene files.
    pub const PRESETS: [(&'static str, Self); 7] = [
        ("cotton", Self::COTTON),
        ("silk", Self::SILK),
        ("wool", Self::WOOL),
        ("denim", Self::DENIM),
        ("leather", Self::LEATHER),
        ("rubber", Self::RUBBER),
        ("gel", Self::GEL),
    ];

    /// A solid that is the same in every direction, and follows the law of rubber.
    pub const fn solid(density: f64, young: f64, poisson: f64, damping: f64, friction: f64) -> Self {
        let shear = young / (2.0 * (1.0 + poisson));
        let (thickness, law) = (1e-3, Law::NeoHookean);
        let bending = young * thickness * thickness * thickness / (12.0 * (1.0 - poisson * poisson));
        Self { density, young: [young; 2], poisson, shear, thickness, bending, damping, friction, law }
    }

    /// Mass of a sheet per area \[kg/m²\].
    pub fn areal_density(&self) -> f64 {
        self.density * self.thickness
    }

    /// How a sheet resists strain in its plane.
    pub fn orthotropic(&self) -> Orthotropic {
        Orthotropic { young: self.young, poisson: self.poisson, shear: self.shear }
    }

    fn check(&self) -> Result<(), BuildError> {
        for (name, value, zero_is_fine) in [
            ("density", self.density, false),
            ("thickness", self.thickness, false),
            ("bending stiffness", self.bending, true),
            ("damping of a material", self.damping, true),
            ("friction of a material", self.friction, true),
        ] {
            if !(value.is_finite() && (value > 0.0 || zero_is_fine && value == 0.0)) {
                let expected = if zero_is_fine { "a finite number, 0 or more" } else { "a finite number above 0" };
                return Err(BuildError::BadOption { name, value, expected });
            }
        }
        Ok(())
    }
}

impl Body {
    /// A sheet of a material whose warp runs along `warp`; for every method, though PBD takes it as rigid. Hinges keep the angles of the rest shape, and are
    /// calibrated so that the sheet has the material's bending stiffness on this mesh.
    ///
    /// Its damping is left to [`Body::damped_like`], because methods that minimise do not carry it.
    ///
    /// # Errors
    /// When a figure of the material is outside its range, a triangle is perpendicular to the warp, or as for
    /// [`Body::surface`].
    pub fn sheet_of(material: &Material, mesh: &TriMesh, warp: [f64; 3]) -> Result<Self, BuildError> {
        material.check()?;
        let bending = if material.bending > 0.0 { Bending::Dihedral } else { Bending::None };
        let body = Self::woven_sheet(mesh, &material.orthotropic(), material.thickness, warp, bending)?;
        let body = body.with_masses(mesh.vertex_masses(material.areal_density())?);
        if bending == Bending::None {
            return Ok(body);
        }
        let stiffness = material.bending / mesh.mean_bending_factor(warp);
        Ok(body.with_compliance(Role::Bend, 1.0 / stiffness))
    }

    /// A solid of a material; for Newton, Projective Dynamics and the sweeps of XPBD (and of PBD, which takes it as rigid).
    ///
    /// # Errors
    /// When a figure of the material is outside its range or the mesh's masses cannot be computed.
    pub fn solid_of(material: &Material, mesh: &TetMesh) -> Result<Self, BuildError> {
        material.check()?;
        let elasticity = Elasticity { law: material.law, young: material.young[0], poisson: material.poisson };
        Ok(Self::elastic_solid(mesh, elasticity)?.with_masses(mesh.vertex_masses(material.density)?))
    }

    /// A sheet of a material as a network of springs along edges, for methods and engines that want nothing else: spring
    /// k = E t (A₁ + A₂)/L² for the areas A of the triangles at an edge of length L. Young's modulus is the mean of warp and
    /// weft, and Poisson's ratio comes out as about 1/3: springs know no better.   [Van Gelder 1998]
    ///
    /// # Errors
    /// As for [`Body::sheet_of`].
    pub fn springs_of(material: &Material, mesh: &TriMesh, warp: [f64; 3]) -> Result<Self, BuildError> {
        material.check()?;
        material.orthotropic().rows()?;
        let mut body = Self::surface(mesh, if material.bending > 0.0 { Bending::Dihedral } else { Bending::None })?;
        body = body.with_masses(mesh.vertex_masses(material.areal_density())?);
        if material.bending > 0.0 {
            body = body.with_compliance(Role::Bend, mesh.mean_bending_factor(warp) / material.bending);
        }
        let mut around: Vec<([u32; 2], f64)> = Vec::with_capacity(3 * mesh.triangle_count());
        for (&[a, b, c], area) in mesh.triangles().iter().zip(mesh.areas()) {
            around.extend([[a, b], [b, c], [c, a]].map(|[p, q]| ([p.min(q), p.max(q)], area)));
        }
        around.sort_by_key(|side| side.0);
        let tension = 0.5 * (material.young[0] + material.young[1]) * material.thickness;
        let links = &mut body.tables.distance;
        for row in (0..links.ids.len()).filter(|&row| links.role[row] == Role::Stretch) {
            let [p, q] = links.ids[row];
            let edge = [p.min(q), p.max(q)];
            let first = around.partition_point(|side| side.0 < edge);
            let area: f64 = around[first..].iter().take_while(|side| side.0 == edge).map(|side| side.1).sum();
            let length = links.parameters[row][0];
            links.compliance[row] = length * length / (tension * area);
        }
        Ok(body)
    }

    /// Gives every constraint the internal friction of a material: β = τ/α, for methods that carry damping (XPBD and explicit
    /// ones; Newton and Projective Dynamics refuse it and damp by their own step). Rigid constraints stay undamped.
    pub fn damped_like(mut self, material: &Material) -> Self {
        self.tables.damp(material.damping);
        self
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]
mod tests {
    use super::*;
    use crate::mesh::ClothGrid;

    const WARP: [f64; 3] = [1.0, 0.0, 0.0];

    #[test]
    fn every_preset_makes_a_body_of_its_weight() {
        let mesh = ClothGrid::square(2.0, 12).build().unwrap().mesh;
        for material in [Material::COTTON, Material::SILK, Material::WOOL, Material::DENIM, Material::LEATHER] {
            let sheet = Body::sheet_of(&material, &mesh, WARP).unwrap();
            let mass: f64 = sheet.masses().iter().sum();
            assert!((mass - 4.0 * material.areal_density()).abs() < 1e-12 * mass);
            let springs = Body::springs_of(&material, &mesh, WARP).unwrap();
            assert!(springs.tables().distance.compliance.iter().all(|a| a.is_finite() && *a > 0.0));
        }
        let cube = crate::mesh::tet_box([2; 3], [0.1; 3], crate::mesh::Split::Five).unwrap();
        for material in [Material::RUBBER, Material::GEL] {
            let mass: f64 = Body::solid_of(&material, &cube).unwrap().masses().iter().sum();
            assert!((mass - 0.001 * material.density).abs() < 1e-12);
        }
    }

    #[test]
    fn every_compliant_row_is_damped() {
        let cube = crate::mesh::tet_box([2; 3], [0.1; 3], crate::mesh::Split::Five).unwrap();
        let mesh = ClothGrid::square(1.0, 6).build().unwrap().mesh;
        let sheet = Body::sheet_of(&Material::WOOL, &mesh, WARP).unwrap().damped_like(&Material::WOOL);
        let gel = Body::solid_of(&Material::GEL, &cube).unwrap().damped_like(&Material::GEL);
        for (alpha, beta) in [
            (&sheet.tables().triangle_strain.compliance, &sheet.tables().triangle_strain.damping),
            (&sheet.tables().dihedral.compliance, &sheet.tables().dihedral.damping),
            (&gel.tables().neo_hookean_tet.compliance, &gel.tables().neo_hookean_tet.damping),
        ] {
            assert!(!alpha.is_empty() && alpha.iter().zip(beta).all(|(alpha, beta)| alpha * beta > 0.0));
        }
    }

    #[test]
    fn bad_figures_are_named() {
        let mesh = ClothGrid::square(1.0, 4).build().unwrap().mesh;
        for (material, wanted) in [
            (Material { density: 0.0, ..Material::COTTON }, "density"),
            (Material { thickness: f64::NAN, ..Material::COTTON }, "thickness"),
            (Material { bending: -1.0, ..Material::COTTON }, "bending stiffness"),
            (Material { friction: f64::INFINITY, ..Material::COTTON }, "friction of a material"),
            (Material { damping: -0.1, ..Material::COTTON }, "damping of a material"),
            (Material { shear: 0.0, ..Material::COTTON }, "shear modulus"),
        ] {
            for made in [Body::sheet_of(&material, &mesh, WARP), Body::springs_of(&material, &mesh, WARP)] {
                assert!(matches!(made, Err(BuildError::BadOption { name, .. }) if name == wanted), "{wanted}");
            }
        }
    }
}
