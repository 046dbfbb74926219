//! Tables: the constraint rows of a body, kind by kind, and what each row is for.

use crate::energies::CubicShell;
use crate::energies::elastic::{Corotated, ElasticTet, ElasticTriangle, NeoHookean};
use crate::energy::Energy;
use crate::error::BuildError;
use crate::kinds::{
    Attachment, Dihedral, Distance, DistanceRange, IsometricBending, StretchLimit, TetVolume, TriangleStrain,
};

/// Rows of one constraint kind: `N` particles and `P` parameters each.
#[derive(Clone, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(remote = "Self", deny_unknown_fields)
)]
pub struct Table<const N: usize, const P: usize> {
    /// Particles of every constraint.
    #[cfg_attr(feature = "serde", serde(with = "crate::serial::rows"))]
    pub ids: Vec<[u32; N]>,
    /// Parameters of the formula.
    #[cfg_attr(feature = "serde", serde(with = "crate::serial::rows"))]
    pub parameters: Vec<[f64; P]>,
    /// Compliance α: inverse stiffness, 0 for rigid.
    pub compliance: Vec<f64>,
    /// Damping β of the constraint.
    pub damping: Vec<f64>,
    /// What the constraint is for; roles are solved in order.
    pub role: Vec<Role>,
    /// Order inside a role: constraints that point the same way belong together.
    pub direction: Vec<u8>,
    /// What the stiffness given to a role is multiplied with in a row, so that one number means the same for every kind that
    /// plays the role; 1 unless a kind measures something else than the role's stiffness speaks of \[1\].
    pub scale: Vec<f64>,
}

impl<const N: usize, const P: usize> Default for Table<N, P> {
    fn default() -> Self {
        Self {
            ids: Vec::new(),
            parameters: Vec::new(),
            compliance: Vec::new(),
            damping: Vec::new(),
            role: Vec::new(),
            direction: Vec::new(),
            scale: Vec::new(),
        }
    }
}

impl<const N: usize, const P: usize> Table<N, P> {
    /// Appends a rigid, undamped constraint.
    pub fn push(&mut self, role: Role, direction: u8, ids: [u32; N], parameters: [f64; P]) {
        self.ids.push(ids);
        self.parameters.push(parameters);
        self.compliance.push(0.0);
        self.damping.push(0.0);
        self.role.push(role);
        self.direction.push(direction);
        self.scale.push(1.0);
    }
    /// The same for a hinge whose stiffness is `scale` times that of its role.
    pub(super) fn push_hinge(&mut self, ids: [u32; N], parameters: [f64; P], scale: f64) {
        self.push(Role::Bend, 0, ids, parameters);
        self.scale_last(scale);
    }
    /// Checks that every list has one entry a row; `what` names the table. The lists are public: somebody may have pushed onto one.
    ///
    /// # Errors
    /// [`BuildError::Length`] with the first list's length that differs.
    pub(crate) fn check(&self, what: &'static str) -> Result<(), BuildError> {
        let Self { ids, parameters, compliance, damping, role, direction, scale } = self;
        let lengths = [parameters.len(), compliance.len(), damping.len(), role.len(), direction.len(), scale.len()];
        match lengths.into_iter().find(|&length| length != ids.len()) {
            Some(found) => Err(BuildError::Length { what, found, expected: ids.len() }),
            None => Ok(()),
        }
    }
    /// Whether rows can be changed. Where lists have different lengths it is not known which entries belong together: such a table
    /// is left as it is, and refused when a model is built.
    pub(super) fn is_even(&self) -> bool {
        self.check("").is_ok()
    }
    /// Makes the stiffness of the last row `scale` times that of its role.
    pub(super) fn scale_last(&mut self, scale: f64) {
        if let Some(last) = self.scale.last_mut() {
            *last = scale;
        }
    }
    /// Appends an elastic element of stiffness k \[m³\].
    pub(super) fn push_scaled(&mut self, ids: [u32; N], parameters: [f64; P], k: f64) {
        self.push(Role::Elastic, 0, ids, parameters);
        if let Some(last) = self.compliance.last_mut() {
            *last = 1.0 / k;
        }
    }
    /// Keeps the rows whose role passes.
    pub(super) fn keep(&mut self, passes: impl Fn(Role) -> bool) {
        if self.is_even() {
            let kept: Vec<usize> = (0..self.ids.len()).filter(|&i| passes(self.role[i])).collect();
            self.select(&kept);
        }
    }
    /// Rows by their old places, in this order; for tables whose lists are equally long.
    pub(crate) fn select(&mut self, kept: &[usize]) {
        self.ids = kept.iter().map(|&i| self.ids[i]).collect();
        self.parameters = kept.iter().map(|&i| self.parameters[i]).collect();
        self.compliance = kept.iter().map(|&i| self.compliance[i]).collect();
        self.damping = kept.iter().map(|&i| self.damping[i]).collect();
        self.direction = kept.iter().map(|&i| self.direction[i]).collect();
        self.scale = kept.iter().map(|&i| self.scale[i]).collect();
        self.role = kept.iter().map(|&i| self.role[i]).collect();
    }
    /// Appends the rows of another table, whose particle 0 is particle `first` here. Ids that do not exist stay so.
    pub(crate) fn append(&mut self, rows: &Self, first: u32) {
        self.ids.extend(rows.ids.iter().map(|ids| ids.map(|id| id.saturating_add(first))));
        self.parameters.extend_from_slice(&rows.parameters);
        self.compliance.extend_from_slice(&rows.compliance);
        self.damping.extend_from_slice(&rows.damping);
        self.role.extend_from_slice(&rows.role);
        self.direction.extend_from_slice(&rows.direction);
        self.scale.extend_from_slice(&rows.scale);
    }
    pub(super) fn for_role(&mut self, role: Role, compliance: Option<f64>, damping: Option<f64>) {
        if !self.is_even() {
            return;
        }
        for i in (0..self.ids.len()).filter(|&i| self.role[i] == role) {
            let scale = self.scale[i];
            self.compliance[i] = compliance.map_or(self.compliance[i], |alpha| alpha / scale);
            self.damping[i] = damping.map_or(self.damping[i], |beta| beta * scale);
        }
    }
}

/// What a constraint is for. A sweep solves soft roles first and the stretch of links last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Role {
    /// Keeps volumes.
    Volume,
    /// Resists bending.
    Bend,
    /// Limits the distance to pins.
    Tether,
    /// Resists shear.
    Shear,
    /// Resists stretch.
    Stretch,
    /// Holds a particle at a target.
    Attach,
    /// Resists strain as a continuum; its stiffness comes from the material, not from a compliance.
    Elastic,
}

/// The constraint rows of a body, kind by kind.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
pub struct Tables {
    /// `[V₀]` \[m³\].
    pub tet_volume: Table<4, 1>,
    /// `[cos θ₀, sin θ₀]`.
    pub dihedral: Table<4, 2>,
    /// Scaled bending coefficients and rest curvature: see [`IsometricBending`](crate::kinds::IsometricBending).
    pub isometric: Table<4, 5>,
    /// See [`TriangleStrain`](crate::kinds::TriangleStrain).
    pub triangle_strain: Table<3, 7>,
    /// See [`StretchLimit`](crate::kinds::StretchLimit).
    pub stretch_limit: Table<3, 4>,
    /// See [`CubicShell`](crate::energies::CubicShell).
    pub cubic_shell: Table<4, 12>,
    /// `[lower, upper, compression scale]`.
    pub range: Table<2, 3>,
    /// `[L]` \[m\].
    pub distance: Table<2, 1>,
    /// `[x, y, z]` of the target \[m\].
    pub attachment: Table<1, 3>,
    /// See [`ElasticTet`](crate::energies::elastic::ElasticTet).
    pub corotated_tet: Table<4, 11>,
    /// See [`ElasticTet`](crate::energies::elastic::ElasticTet).
    pub neo_hookean_tet: Table<4, 11>,
    /// See [`ElasticTriangle`](crate::energies::elastic::ElasticTriangle).
    pub corotated_triangle: Table<3, 6>,
    /// See [`ElasticTriangle`](crate::energies::elastic::ElasticTriangle).
    pub neo_hookean_triangle: Table<3, 6>,
}

/// What a kind says of its rows.
#[derive(Clone, Copy)]
pub(crate) struct Kind<const P: usize> {
    /// In reports and errors.
    pub name: &'static str,
    /// Whether finite parameters make sense.
    pub accept: fn(&[f64; P]) -> Result<(), Unfit>,
    /// Whether rest shapes may [flow](crate::plasticity::Yields).
    pub flows: bool,
}

/// Why parameters make no sense: which quantity, its value, and what was expected.
pub(crate) type Unfit = (&'static str, f64, &'static str);

impl<const P: usize> Kind<P> {
    /// A kind that takes any finite parameters and does not flow.
    pub fn named(name: &'static str) -> Self {
        Self { name, accept: |_| Ok(()), flows: false }
    }
    fn of<E: Energy<N, P, R>, const N: usize, const R: usize>() -> Self {
        Self::named(E::NAME)
    }
    fn accepting(self, accept: fn(&[f64; P]) -> Result<(), Unfit>) -> Self {
        Self { accept, ..self }
    }
    fn flowing(self) -> Self {
        Self { flows: true, ..self }
    }
}

/// Something done to the table of every kind.
pub(crate) trait TableVisitor<'a> {
    fn visit<const N: usize, const P: usize>(&mut self, kind: Kind<P>, rows: &'a Table<N, P>)
    -> Result<(), BuildError>;
}

/// A change of the table of every kind.
trait TableEdit {
    fn edit<const N: usize, const P: usize>(&self, rows: &mut Table<N, P>);
}

macro_rules! kinds {
    ($($table:ident: $kind:expr),+ $(,)?) => {
        impl Tables {
            /// Visits every table, until the first error.
            pub(crate) fn visit<'a>(&'a self, visitor: &mut impl TableVisitor<'a>) -> Result<(), BuildError> {
                // Without `..`: a table that is not on the list is an error of the compiler.
                let Self { $($table),+ } = self;
                $(visitor.visit($kind, $table)?;)+
                Ok(())
            }
            fn edit(&mut self, edit: &impl TableEdit) {
                $(edit.edit(&mut self.$table);)+
            }
            /// Appends the rows of other tables, whose particle 0 is particle `first` here.
            pub(crate) fn append(&mut self, rows: &Self, first: u32) {
                $(self.$table.append(&rows.$table, first);)+
            }
        }
    };
}

// The list to extend for a new kind.
kinds! {
    tet_volume: Kind::of::<TetVolume, _, _>().accepting(TetVolume::accept),
    dihedral: Kind::of::<Dihedral, _, _>().flowing(),
    isometric: Kind::of::<IsometricBending, _, _>(),
    triangle_strain: Kind::of::<TriangleStrain, _, _>(),
    stretch_limit: Kind::of::<StretchLimit, _, _>().accepting(StretchLimit::accept),
    cubic_shell: Kind::of::<CubicShell, _, _>(),
    range: Kind::of::<DistanceRange, _, _>().accepting(DistanceRange::accept),
    distance: Kind::of::<Distance, _, _>().accepting(Distance::accept).flowing(),
    attachment: Kind::of::<Attachment, _, _>(),
    corotated_tet: Kind::of::<ElasticTet<Corotated>, _, _>().flowing(),
    neo_hookean_tet: Kind::of::<ElasticTet<NeoHookean>, _, _>().flowing(),
    corotated_triangle: Kind::of::<ElasticTriangle<Corotated>, _, _>(),
    neo_hookean_triangle: Kind::of::<ElasticTriangle<NeoHookean>, _, _>(),
}

impl Tables {
    /// Checks that the lists of every table are equally long.
    ///
    /// # Errors
    /// [`BuildError::Length`], with the kind of the first table whose lists are not.
    pub(crate) fn check(&self) -> Result<(), BuildError> {
        struct Even;
        impl<'a> TableVisitor<'a> for Even {
            fn visit<const N: usize, const P: usize>(
                &mut self,
                kind: Kind<P>,
                rows: &'a Table<N, P>,
            ) -> Result<(), BuildError> {
                rows.check(kind.name)
            }
        }
        self.visit(&mut Even)
    }

    /// Sets compliance α and damping β of every row of a role, where given. The stiffness of elastic elements is that of their material.
    pub(super) fn set_role(&mut self, role: Role, compliance: Option<f64>, damping: Option<f64>) {
        struct Set(Role, Option<f64>, Option<f64>);
        impl TableEdit for Set {
            fn edit<const N: usize, const P: usize>(&self, rows: &mut Table<N, P>) {
                rows.for_role(self.0, self.1, self.2);
            }
        }
        if role != Role::Elastic {
            self.edit(&Set(role, compliance, damping));
        }
    }

    /// Gives every compliant row the damping β = τ/α that stops its deformation in the time τ \[s\].
    pub(crate) fn damp(&mut self, time: f64) {
        struct Damp(f64);
        impl TableEdit for Damp {
            fn edit<const N: usize, const P: usize>(&self, rows: &mut Table<N, P>) {
                for (beta, alpha) in rows.damping.iter_mut().zip(&rows.compliance).filter(|(_, alpha)| **alpha > 0.0) {
                    *beta = self.0 / alpha;
                }
            }
        }
        self.edit(&Damp(time));
    }
}
