//! The constraint rows of all bodies, kind by kind: checked, renumbered, and made ready for sweeps.

use core::marker::PhantomData;

use super::check::{check_element, check_not_negative};
use crate::body::{Body, Kind, Role, Table, TableVisitor, Tables};
use crate::constraints::{Balloon, Constraints, Elastic, EnergyVisitor, Set};
use crate::energy::Energy;
use crate::error::BuildError;
use crate::kinds::Tether;
use crate::lane::Real;
use crate::plasticity::{PlasticRows, Plasticity};
use crate::schedule::{Graph, Plan, Stencil};

/// Rows of all bodies.
#[derive(Default)]
pub(super) struct Rows {
    tables: Tables,
    tethers: Table<1, 4>,
    flowing: Flowing,
}

/// Which rows of the kinds that can flow do.
#[derive(Default)]
struct Flowing {
    distance: PlasticRows<1>,
    dihedral: PlasticRows<2>,
    corotated_tet: PlasticRows<11>,
    neo_hookean_tet: PlasticRows<11>,
}

impl Rows {
    /// Checks the rows of body number `number`, whose first particle is `first`, and appends them.
    pub fn append<S: Real>(&mut self, body: &Body, number: usize, first: u32) -> Result<(), BuildError> {
        let laws = &body.plasticity;
        body.tables.visit(&mut CheckRows::<S> { count: body.particle_count(), precision: PhantomData })?;
        crate::tearing::check(body)?;
        laws.iter().try_for_each(|(_, law)| law.check())?;
        body.tables.visit(&mut RefuseFlow { laws })?;
        let flows = self.flowing.append(laws, &self.tables, &body.tables);
        if flows == 0 && !laws.is_empty() {
            let reason = "the body has no element of such a role that could flow";
            return Err(BuildError::Unsupported { what: "plasticity of body", row: number, reason });
        }
        self.tables.append(&body.tables, first);
        Ok(())
    }

    /// The same for the tethers that a body was found to have.
    pub fn append_tethers<S: Real>(&mut self, rows: &Table<1, 4>, count: usize, first: u32) -> Result<(), BuildError> {
        check_rows::<S, 1, 4>(Kind::named(<Tether as Energy<1, 4, 3>>::NAME), rows, count)?;
        self.tethers.append(rows, first);
        Ok(())
    }

    /// The graph of particles that meet in a row, and that of the stiffest links (all of them where there is none).
    pub fn graphs(&self, count: usize) -> [Graph; 2] {
        let all = Orders::of(&self.tables);
        let graph = Graph::from_elements(count, all.0.iter().flat_map(|order| order.ids.chunks_exact(order.corners)));
        let links = &self.tables.distance;
        let stiffest = links.role.iter().max();
        let stiff = links.ids.iter().zip(&links.role).filter(|(_, role)| Some(*role) == stiffest);
        let stiff: Vec<[u32; 2]> = stiff.map(|(ids, _)| *ids).collect();
        let links = if stiff.is_empty() {
            graph.clone()
        } else {
            Graph::from_elements(count, stiff.iter().map(|ids| ids.as_slice()))
        };
        [graph, links]
    }

    /// Whether sweeps over these constraints run in the same order as over those of another model with the same particles and pins.
    pub fn are_like<S: Real>(&self, old: &Constraints<S>) -> bool {
        let mut compare = Compare { orders: Orders::of(&self.tables), alike: true };
        old.visit_energies(&mut compare);
        compare.alike
    }

    /// The rows made ready. `like` are those of a model on the same plan, whose stencils may serve again.
    pub fn into_constraints<S: Real>(
        self,
        plan: &Plan,
        like: Option<&Constraints<S>>,
        balloons: Vec<Balloon<S>>,
    ) -> Constraints<S> {
        let Tables {
            tet_volume,
            dihedral,
            isometric,
            triangle_strain,
            stretch_limit,
            cubic_shell,
            range,
            distance,
            attachment,
            corotated_tet,
            neo_hookean_tet,
            corotated_triangle,
            neo_hookean_triangle,
        } = self.tables;
        let flowing = self.flowing;
        let elastic = like.map(|like| &like.elastic);
        Constraints {
            tet_volume: ready(plan, tet_volume, rigid(), like.map(|like| &like.tet_volume)),
            dihedral: ready(plan, dihedral, flowing.dihedral, like.map(|like| &like.dihedral)),
            isometric: ready(plan, isometric, rigid(), like.map(|like| &like.isometric)),
            triangle_strain: ready(plan, triangle_strain, rigid(), like.map(|like| &like.triangle_strain)),
            stretch_limit: ready(plan, stretch_limit, rigid(), like.map(|like| &like.stretch_limit)),
            tether: ready(plan, self.tethers, rigid(), like.map(|like| &like.tether)),
            range: ready(plan, range, rigid(), like.map(|like| &like.range)),
            distance: ready(plan, distance, flowing.distance, like.map(|like| &like.distance)),
            attachment: ready(plan, attachment, rigid(), like.map(|like| &like.attachment)),
            balloons,
            elastic: Elastic {
                corotated_tet: ready(
                    plan,
                    corotated_tet,
                    flowing.corotated_tet,
                    elastic.map(|like| &like.corotated_tet),
                ),
                neo_hookean_tet: ready(
                    plan,
                    neo_hookean_tet,
                    flowing.neo_hookean_tet,
                    elastic.map(|like| &like.neo_hookean_tet),
                ),
                corotated_triangle: ready(
                    plan,
                    corotated_triangle,
                    rigid(),
                    elastic.map(|like| &like.corotated_triangle),
                ),
                neo_hookean_triangle: ready(
                    plan,
                    neo_hookean_triangle,
                    rigid(),
                    elastic.map(|like| &like.neo_hookean_triangle),
                ),
                cubic_shell: ready(plan, cubic_shell, rigid(), elastic.map(|like| &like.cubic_shell)),
            },
        }
    }
}

impl Flowing {
    /// Marks the rows of a body that flow, which come behind those of `before`; returns how many there are.
    fn append(&mut self, laws: &[(Role, Plasticity)], before: &Tables, rows: &Tables) -> usize {
        fn mark<const N: usize, const P: usize>(
            laws: &[(Role, Plasticity)],
            flowing: &mut PlasticRows<P>,
            [before, rows]: [&Table<N, P>; 2],
        ) -> usize {
            flowing.append(laws, before.ids.len(), &rows.role, &rows.parameters)
        }
        mark(laws, &mut self.distance, [&before.distance, &rows.distance])
            + mark(laws, &mut self.dihedral, [&before.dihedral, &rows.dihedral])
            + mark(laws, &mut self.corotated_tet, [&before.corotated_tet, &rows.corotated_tet])
            + mark(laws, &mut self.neo_hookean_tet, [&before.neo_hookean_tet, &rows.neo_hookean_tet])
    }
}

/// Rows none of which flow.
fn rigid<const P: usize>() -> PlasticRows<P> {
    PlasticRows::default()
}

/// Rows made ready on a plan. `like` is a set on the same plan, whose stencil may serve again.
fn ready<S: Real, K, const N: usize, const P: usize>(
    plan: &Plan,
    rows: Table<N, P>,
    plastic: PlasticRows<P>,
    like: Option<&Set<S, K, N, P>>,
) -> Set<S, K, N, P> {
    let classes = classes(&rows);
    let stencil = match like.filter(|like| like.ids == rows.ids && like.classes == classes) {
        Some(like) => like.stencil.clone(),
        None => Stencil::new(plan, &rows.ids, &classes),
    };
    let round = |values: &[f64]| values.iter().map(|&value| S::from_f64(value)).collect();
    Set {
        parameters: core::array::from_fn(|k| rows.parameters.iter().map(|row| S::from_f64(row[k])).collect()),
        compliance: round(&rows.compliance),
        damping: round(&rows.damping),
        ids: rows.ids,
        stencil,
        classes,
        plastic,
        kind: PhantomData,
    }
}

/// Classes in solving order: role first, then direction.
fn classes<const N: usize, const P: usize>(rows: &Table<N, P>) -> Vec<u8> {
    rows.role.iter().zip(&rows.direction).map(|(&role, &d)| role as u8 * 32 + d.min(31)).collect()
}

/// Checks rows on `count` particles: parameters must be finite and accepted by their kind.
fn check_rows<S: Real, const N: usize, const P: usize>(
    kind: Kind<P>,
    rows: &Table<N, P>,
    count: usize,
) -> Result<(), BuildError> {
    let what = kind.name;
    rows.check(what)?;
    for (row, (ids, parameters)) in rows.ids.iter().zip(&rows.parameters).enumerate() {
        check_element(what, row, ids, count)?;
        let fit = match parameters.iter().find(|v| !S::from_f64(**v).is_finite()) {
            Some(&value) => Err(("a parameter", value, "a finite number")),
            None => (kind.accept)(parameters),
        };
        fit.map_err(|(quantity, value, expected)| BuildError::BadValue { what, row, quantity, value, expected })?;
        check_not_negative::<S>(what, row, "compliance", rows.compliance[row])?;
        check_not_negative::<S>(what, row, "damping", rows.damping[row])?;
    }
    Ok(())
}

struct CheckRows<S> {
    /// Particles of the body.
    count: usize,
    precision: PhantomData<S>,
}

impl<'a, S: Real> TableVisitor<'a> for CheckRows<S> {
    fn visit<const N: usize, const P: usize>(
        &mut self,
        kind: Kind<P>,
        rows: &'a Table<N, P>,
    ) -> Result<(), BuildError> {
        check_rows::<S, N, P>(kind, rows, self.count)
    }
}

/// Refuses rows that ought to flow but cannot.
struct RefuseFlow<'a> {
    laws: &'a [(Role, Plasticity)],
}

impl<'a> TableVisitor<'a> for RefuseFlow<'_> {
    fn visit<const N: usize, const P: usize>(
        &mut self,
        kind: Kind<P>,
        rows: &'a Table<N, P>,
    ) -> Result<(), BuildError> {
        let reason = "this kind cannot flow; links, dihedral hinges (Bending::Dihedral) and elastic tetrahedra can";
        match rows.role.iter().position(|role| !kind.flows && self.laws.iter().any(|(of, _)| of == role)) {
            Some(row) => Err(BuildError::Unsupported { what: kind.name, row, reason }),
            None => Ok(()),
        }
    }
}

/// What plan and order of sweeps go by.
struct Order<'a> {
    kind: &'static str,
    corners: usize,
    /// The corners of one element after the other.
    ids: &'a [u32],
    classes: Vec<u8>,
}

/// All kinds that join particles. What holds a single one decides nothing.
struct Orders<'a>(Vec<Order<'a>>);

impl<'a> Orders<'a> {
    fn of(tables: &'a Tables) -> Self {
        let mut orders = Self(Vec::new());
        // It refuses nothing.
        let _ = tables.visit(&mut orders);
        orders
    }
}

impl<'a> TableVisitor<'a> for Orders<'a> {
    fn visit<const N: usize, const P: usize>(
        &mut self,
        kind: Kind<P>,
        rows: &'a Table<N, P>,
    ) -> Result<(), BuildError> {
        if N > 1 {
            let (ids, classes) = (rows.ids.as_flattened(), classes(rows));
            self.0.push(Order { kind: kind.name, corners: N, ids, classes });
        }
        Ok(())
    }
}

/// Compares orders with those of a model.
struct Compare<'a> {
    orders: Orders<'a>,
    alike: bool,
}

impl<S: Real> EnergyVisitor<S> for Compare<'_> {
    fn visit<E: Energy<N, P, R>, const N: usize, const P: usize, const R: usize>(&mut self, set: &Set<S, E, N, P>) {
        if let Some(order) = self.orders.0.iter().find(|order| order.kind == E::NAME) {
            self.alike &= order.ids == set.ids.as_flattened() && order.classes == set.classes;
        }
    }
}

/// Checks rows of a kind of the user's own against the particles of a plan, and makes them ready.
pub(super) fn own<S: Real, K, const N: usize, const P: usize>(
    what: &'static str,
    rows: Table<N, P>,
    (count, plan): (usize, &Plan),
) -> Result<Set<S, K, N, P>, BuildError> {
    check_rows::<S, N, P>(Kind::named(what), &rows, count)?;
    Ok(ready(plan, rows, rigid(), None))
}
