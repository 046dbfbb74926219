//! The constraint sets of a model, one field a kind, and a visitor that reaches all of them.
//!
//! What to extend for a new kind: a field here, a line in [`Constraints::visit`] and in [`Constraints::visit_energies`], and its
//! table in [`crate::body::Tables`]; the compiler names what is missing. Solvers and backends need no change.

use core::marker::PhantomData;

use crate::body::{Role, Table};
use crate::constraint::{Constraint, Radial};
use crate::energies::CubicShell;
use crate::energies::elastic::{Corotated, ElasticTet, ElasticTriangle, NeoHookean};
use crate::energy::Energy;
use crate::error::BuildError;
use crate::kinds::{
    Attachment, Dihedral, Distance, DistanceRange, IsometricBending, StretchLimit, TetVolume, Tether, TriangleStrain,
};
use crate::lane::Real;
use crate::model::Model;
use crate::plasticity::PlasticRows;
use crate::schedule::Stencil;

/// All constraints of one kind: columns in the user's order, and the stencil that orders them for sweeps.
#[derive(Clone, Debug)]
pub struct Set<S, K, const N: usize, const P: usize> {
    pub(crate) ids: Vec<[u32; N]>,
    pub(crate) parameters: [Vec<S>; P],
    pub(crate) compliance: Vec<S>,
    pub(crate) damping: Vec<S>,
    pub(crate) stencil: Stencil<N>,
    /// What the stencil's order goes by: role and direction of every constraint.
    pub(crate) classes: Vec<u8>,
    pub(crate) plastic: PlasticRows<P>,
    pub(crate) kind: PhantomData<K>,
}

impl<S: Real, K, const N: usize, const P: usize> Set<S, K, N, P> {
    /// Elements of the user's own on the particles of a model, for methods that take energies beside the model's.
    ///
    /// Rows of `ids`, parameters and stiffness k belong together.
    ///
    /// # Errors
    /// When lists differ in length, a particle is out of range or repeated, a parameter is not finite, or a stiffness is
    /// not above 0.
    pub fn for_model(
        model: &Model<S>,
        what: &'static str,
        ids: Vec<[u32; N]>,
        parameters: &[[f64; P]],
        stiffness: &[f64],
    ) -> Result<Self, BuildError> {
        let table = Table {
            compliance: stiffness.iter().map(|k| 1.0 / k).collect(),
            parameters: parameters.to_vec(),
            damping: vec![0.0; ids.len()],
            role: vec![Role::Elastic; ids.len()],
            scale: vec![1.0; ids.len()],
            direction: vec![0; ids.len()],
            ids,
        };
        if let Some((row, &value)) = stiffness.iter().enumerate().find(|(_, k)| !(k.is_finite() && **k > 0.0)) {
            let (quantity, expected) = ("stiffness", "a finite number above 0");
            return Err(BuildError::BadValue { what, row, quantity, value, expected });
        }
        model.set_of(what, table)
    }

    /// How many constraints there are.
    pub fn len(&self) -> usize {
        self.ids.len()
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
    /// The particles of every constraint.
    pub fn ids(&self) -> &[[u32; N]] {
        &self.ids
    }
    /// The parameters of the formula, one column each.
    pub fn parameters(&self) -> &[Vec<S>; P] {
        &self.parameters
    }
    /// The parameters that a constraint was made with: those of [`Set::parameters`], unless its rest shape has flowed since.
    ///
    /// Whatever is built once from rest shapes is built from these, so that it is the same whenever that happens.
    pub fn made_with(&self, row: usize) -> [S; P] {
        match self.plastic.start(row) {
            Some(start) => start.map(S::from_f64),
            None => self.parameters.each_ref().map(|column| column[row]),
        }
    }
    /// Compliance α of every constraint: the inverse of its stiffness, 0 for rigid \[m/N for lengths\].
    pub fn compliance(&self) -> &[S] {
        &self.compliance
    }
    /// Damping β of every constraint \[N·s/m for lengths\].
    pub fn damping(&self) -> &[S] {
        &self.damping
    }
    /// How sweeps run over the set.
    pub fn stencil(&self) -> &Stencil<N> {
        &self.stencil
    }
    /// The constraints whose rest shape flows: their parameters change while time runs.
    pub fn plastic(&self) -> &PlasticRows<P> {
        &self.plastic
    }
}

/// A closed surface whose enclosed volume is held: one constraint on all its vertices.
#[derive(Clone, Debug)]
pub struct Balloon<S> {
    /// Outward triangles.
    pub triangles: Vec<[u32; 3]>,
    /// Volume to hold \[m³\]: rest volume times inflation.
    pub volume: S,
    /// Compliance α \[m³/Pa\], 0 for incompressible.
    pub compliance: S,
    /// How sweeps run over the triangles.
    pub stencil: Stencil<3>,
}

/// Every constraint of a model, kind by kind.
#[derive(Clone, Debug)]
pub struct Constraints<S> {
    /// Volume of tetrahedra.
    pub tet_volume: Set<S, TetVolume, 4, 1>,
    /// Dihedral angle of hinges.
    pub dihedral: Set<S, Dihedral, 4, 2>,
    /// Quadratic bending of hinges, flat at rest or with a rest curvature.
    pub isometric: Set<S, IsometricBending, 4, 5>,
    /// Strain of woven triangles, three rows each.
    pub triangle_strain: Set<S, TriangleStrain, 3, 7>,
    /// Stretch of triangles along warp or weft, between bounds.
    pub stretch_limit: Set<S, StretchLimit, 3, 4>,
    /// Longest distance to a pin.
    pub tether: Set<S, Tether, 1, 4>,
    /// Pairs with a range of allowed distances.
    pub range: Set<S, DistanceRange, 2, 3>,
    /// Pairs at a distance.
    pub distance: Set<S, Distance, 2, 1>,
    /// Particles held at a moving target.
    pub attachment: Set<S, Attachment, 1, 3>,
    /// Closed surfaces with a volume.
    pub balloons: Vec<Balloon<S>>,
    /// Elastic elements: energies first of all, and constraints for sweeps.
    pub elastic: Elastic<S>,
}

/// Elements that are energies first of all. The compliance of tetrahedra and triangles is 1 over their rest volume \[1/m³\].
#[derive(Clone, Debug)]
pub struct Elastic<S> {
    /// Tetrahedra that follow Hooke's law in a rotated frame.
    pub corotated_tet: Set<S, ElasticTet<Corotated>, 4, 11>,
    /// Tetrahedra of rubber.
    pub neo_hookean_tet: Set<S, ElasticTet<NeoHookean>, 4, 11>,
    /// Triangles that follow Hooke's law in a rotated frame.
    pub corotated_triangle: Set<S, ElasticTriangle<Corotated>, 3, 6>,
    /// Triangles of rubber.
    pub neo_hookean_triangle: Set<S, ElasticTriangle<NeoHookean>, 3, 6>,
    /// Hinges around a curved rest shape: the one element that has no constraint form.
    pub cubic_shell: Set<S, CubicShell, 4, 12>,
}

impl<S: Real> Elastic<S> {
    /// The first kind of element there is, with its number of elements.
    pub fn first(&self) -> Option<(&'static str, usize)> {
        struct First(Option<(&'static str, usize)>);
        impl<S: Real> EnergyVisitor<S> for First {
            fn visit<E: Energy<N, P, R>, const N: usize, const P: usize, const R: usize>(
                &mut self,
                set: &Set<S, E, N, P>,
            ) {
                self.0 = self.0.or((!set.is_empty()).then_some((E::NAME, set.len())));
            }
        }
        let mut first = First(None);
        self.visit(&mut first);
        first.0
    }

    fn visit(&self, visitor: &mut impl EnergyVisitor<S>) {
        visitor.visit(&self.corotated_tet);
        visitor.visit(&self.neo_hookean_tet);
        visitor.visit(&self.corotated_triangle);
        visitor.visit(&self.neo_hookean_triangle);
        visitor.visit(&self.cubic_shell);
    }
}

/// Something done to the sets of every kind.
pub trait Visitor<S: Real> {
    /// A set of any kind.
    fn visit<K: Constraint<N, P>, const N: usize, const P: usize>(&mut self, set: &Set<S, K, N, P>);
    /// A set of pairs that only depend on their distance; treated like any other unless overridden.
    fn visit_pairs<K: Radial>(&mut self, set: &Set<S, K, 2, 1>) {
        self.visit(set);
    }
}

/// Something done to every set of energies.
pub trait EnergyVisitor<S: Real> {
    /// A set of any energy.
    fn visit<E: Energy<N, P, R>, const N: usize, const P: usize, const R: usize>(&mut self, set: &Set<S, E, N, P>);
    /// The springs, which are many: treated like any other energy unless overridden.
    fn visit_springs(&mut self, set: &Set<S, Distance, 2, 1>) {
        self.visit(set);
    }
}

impl<S: Real> Constraints<S> {
    /// Visits every set in the order in which a sweep runs them: soft kinds first, because what is solved last is
    /// satisfied best.
    pub fn visit(&self, visitor: &mut impl Visitor<S>) {
        let Self {
            tet_volume,
            dihedral,
            isometric,
            triangle_strain,
            stretch_limit,
            tether,
            range,
            distance,
            attachment,
            balloons: _,
            elastic: _,
        } = self;
        visitor.visit(tet_volume);
        visitor.visit(dihedral);
        visitor.visit(isometric);
        visitor.visit(triangle_strain);
        visitor.visit(range);
        visitor.visit_pairs(distance);
        visitor.visit(stretch_limit);
        visitor.visit(tether);
        visitor.visit(attachment);
    }

    /// The same with elastic tetrahedra and triangles first, as the constraints C = √(2Ψ): for methods that sweep.
    pub fn visit_with_elements(&self, visitor: &mut impl Visitor<S>) {
        visitor.visit(&self.elastic.corotated_tet);
        visitor.visit(&self.elastic.neo_hookean_tet);
        visitor.visit(&self.elastic.corotated_triangle);
        visitor.visit(&self.elastic.neo_hookean_triangle);
        self.visit(visitor);
    }

    /// Name and number of the constraints of every kind, in the order of [`Constraints::visit`].
    pub fn sizes(&self) -> Vec<(&'static str, usize)> {
        struct Sizes(Vec<(&'static str, usize)>);
        impl<S: Real> Visitor<S> for Sizes {
            fn visit<K: Constraint<N, P>, const N: usize, const P: usize>(&mut self, set: &Set<S, K, N, P>) {
                self.0.push((K::NAME, set.len()));
            }
        }
        let mut sizes = Sizes(Vec::new());
        self.visit(&mut sizes);
        sizes.0
    }

    /// Visits every set as an energy, E = C²/(2α): the constraint kinds in the order of [`Constraints::visit`], then the
    /// elastic elements. Balloons are not among them.
    pub fn visit_energies(&self, visitor: &mut impl EnergyVisitor<S>) {
        let Self {
            tet_volume,
            dihedral,
            isometric,
            triangle_strain,
            stretch_limit,
            tether,
            range,
            distance,
            attachment,
            balloons: _,
            elastic,
        } = self;
        visitor.visit(tet_volume);
        visitor.visit(dihedral);
        visitor.visit(isometric);
        visitor.visit(triangle_strain);
        visitor.visit(range);
        visitor.visit_springs(distance);
        visitor.visit(stretch_limit);
        visitor.visit(tether);
        visitor.visit(attachment);
        elastic.visit(visitor);
    }

    /// Constraints and elements in all; a balloon counts once.
    pub fn len(&self) -> usize {
        struct Count(usize);
        impl<S: Real> EnergyVisitor<S> for Count {
            fn visit<E: Energy<N, P, R>, const N: usize, const P: usize, const R: usize>(
                &mut self,
                set: &Set<S, E, N, P>,
            ) {
                self.0 += set.len();
            }
        }
        let mut count = Count(self.balloons.len());
        self.visit_energies(&mut count);
        count.0
    }
    /// Whether there is no constraint.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
