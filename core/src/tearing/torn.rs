//! A body being torn, and where everything in it comes from.

use super::cut::{Fans, tear};
use super::rows::{Nearness, Parting};
use super::{Tear, VertexSplit, check_surface};
use crate::body::Body;
use crate::columns::Particles;
use crate::error::BuildError;
use crate::lane::Real;
use crate::model::Model;
use crate::vec3::Vec3;

/// A body that has been torn, with what is needed to carry the state of the whole one over to it.
///
/// Grids lose their layout (their links run through memory as those of any mesh), balloons their volume: both end with the
/// first tear. Tethers are found anew, along the links that are left.
///
/// ```
/// use pliant_core::body::Body;
/// use pliant_core::mesh::ClothGrid;
/// use pliant_core::model::Model;
/// use pliant_core::tearing::Torn;
///
/// let cloth = Body::cloth(&ClothGrid::square(1.0, 5))?;
/// let (model, particles) = Model::<f32>::build(&[&cloth])?;
///
/// let mut torn = Torn::new(&cloth);
/// torn.tear([11, 12], |vertex| particles.x.get(vertex as usize).map(f64::from))?;
/// assert_eq!((torn.tears()[0].splits[0].vertex, torn.body().particle_count()), (11, 26));
///
/// let (mut new_model, mut new_particles) = Model::build(&[torn.body()])?;
/// torn.carry((&model, &particles, 0), (&mut new_model, &mut new_particles, 0));
/// # Ok::<(), pliant_core::error::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Torn {
    body: Body,
    tears: Vec<Tear>,
    whole: usize,
    /// Of each copy: the vertex of the whole body that it was.
    copies: Vec<u32>,
    /// Of each link and hinge: its row in the whole body.
    distance: Vec<u32>,
    dihedral: Vec<u32>,
    /// Vertices around what was torn.
    touched: Vec<bool>,
}

impl Torn {
    /// A body that is still whole.
    pub fn new(body: &Body) -> Self {
        let rows = |count: usize| (0..count as u32).collect();
        Self {
            tears: Vec::new(),
            whole: body.particle_count(),
            copies: Vec::new(),
            distance: rows(body.tables().distance.ids.len()),
            dihedral: rows(body.tables().dihedral.ids.len()),
            touched: vec![false; body.particle_count()],
            body: body.clone(),
        }
    }

    /// The body as it is now.
    pub fn body(&self) -> &Body {
        &self.body
    }
    /// The body and what tore.
    pub fn into_parts(self) -> (Body, Vec<Tear>) {
        (self.body, self.tears)
    }
    /// What tore, in order.
    pub fn tears(&self) -> &[Tear] {
        &self.tears
    }
    /// How many vertices the whole body had.
    pub fn whole(&self) -> usize {
        self.whole
    }
    /// The vertex of the whole body that a vertex is, or is a copy of.
    pub fn origin(&self, vertex: u32) -> u32 {
        (vertex as usize).checked_sub(self.whole).map_or(vertex, |copy| self.copies[copy])
    }

    /// Tears an edge; `x` says where the vertices of the whole body are \[m\].
    ///
    /// # Errors
    /// When there is no such edge any more, or nothing to tear it from: all triangles around either end are on its side; when the
    /// body is a rope, a solid or made of clusters, which do not tear. The body is then as it was.
    pub fn tear(&mut self, edge: [u32; 2], x: impl Fn(u32) -> [f64; 3]) -> Result<&Tear, BuildError> {
        let edge = [edge[0].min(edge[1]), edge[0].max(edge[1])];
        let inside = edge.iter().all(|&v| (v as usize) < self.body.particle_count());
        let length = |at: &dyn Fn(u32) -> [f64; 3]| (Vec3::from(at(edge[0])) - Vec3::from(at(edge[1]))).length();
        let rest = if inside { length(&|v| self.body.rest[v as usize]) } else { 0.0 };
        let strain = if rest > 0.0 { length(&|v| x(self.origin(v))) / rest - 1.0 } else { 0.0 };
        self.tear_strained(edge, strain, x)
    }

    /// The same for an edge whose strain is known.
    pub(super) fn tear_strained(
        &mut self,
        edge: [u32; 2],
        strain: f64,
        x: impl Fn(u32) -> [f64; 3],
    ) -> Result<&Tear, BuildError> {
        check_surface(&self.body)?;
        let fans = Fans::new(&self.body.triangles, self.body.particle_count());
        let splits = tear(&fans, edge, &|v| x(self.origin(v)))?;
        Ok(self.part(&fans, Tear { edge, strain, splits }))
    }

    /// Tears what another body, equal to this one, was torn by.
    ///
    /// # Errors
    /// When the tear names vertices or triangles that are not there, or the body does not tear; the body is then as it was.
    pub fn tear_again(&mut self, tear: &Tear) -> Result<(), BuildError> {
        check_surface(&self.body)?;
        let (count, triangles) = (self.body.particle_count(), &self.body.triangles);
        let fits = |(i, split): (usize, &VertexSplit)| {
            let has = |t: &u32| triangles.get(*t as usize).is_some_and(|corners| corners.contains(&split.vertex));
            (split.vertex as usize) < count && split.copy as usize == count + i && split.triangles.iter().all(has)
        };
        if !tear.splits.iter().enumerate().all(fits) {
            return Err(BuildError::NotFound { what: "edge" });
        }
        self.part(&Fans::new(triangles, count), tear.clone());
        Ok(())
    }

    /// Whether a tear was next to an edge.
    pub(super) fn touches(&self, edge: [u32; 2]) -> bool {
        edge.iter().any(|&v| self.touched[v as usize])
    }

    /// Gives triangles their new corners, and everything else with them.
    fn part(&mut self, fans: &Fans, tear: Tear) -> &Tear {
        let splits = &tear.splits;
        let mut nearness = vec![Nearness::Far; self.body.particle_count()];
        let fan = splits.iter().flat_map(|split| fans.around(split.vertex));
        fan.flat_map(|&t| fans.corners(t)).for_each(|v| nearness[v as usize] = Nearness::Beside);
        splits.iter().for_each(|split| nearness[split.vertex as usize] = Nearness::Divided);
        for (touched, &nearness) in self.touched.iter_mut().zip(&nearness) {
            *touched |= nearness > Nearness::Far;
        }
        let body = &mut self.body;
        for VertexSplit { vertex, copy, triangles } in splits {
            for &t in triangles {
                body.triangles[t as usize].iter_mut().filter(|v| **v == *vertex).for_each(|v| *v = *copy);
            }
        }
        share_masses(body, fans, splits);
        for &VertexSplit { vertex, .. } in splits {
            let v = vertex as usize;
            body.positions.push(body.positions[v]);
            body.velocities.push(body.velocities[v]);
            if !body.thickness.is_empty() {
                body.thickness.push(body.thickness[v]);
            }
            self.copies.push(v.checked_sub(self.whole).map_or(vertex, |copy| self.copies[copy]));
            self.touched.push(true);
        }
        let parting = Parting { before: fans, after: &body.triangles, nearness: &nearness, rest: &body.rest };
        let tables = &mut body.tables;
        let links = parting.links(&mut tables.distance);
        let hinges = parting.hinges(&mut tables.dihedral);
        parting.links(&mut tables.range);
        parting.hinges(&mut tables.isometric);
        parting.hinges(&mut tables.cubic_shell);
        parting.triangles(&mut tables.triangle_strain);
        parting.triangles(&mut tables.stretch_limit);
        parting.triangles(&mut tables.corotated_triangle);
        parting.triangles(&mut tables.neo_hookean_triangle);
        self.distance = links.iter().map(|&row| self.distance[row as usize]).collect();
        self.dihedral = hinges.iter().map(|&row| self.dihedral[row as usize]).collect();
        splits.iter().for_each(|split| body.rest.push(body.rest[split.vertex as usize]));
        (body.grid, body.inflation) = (None, None);
        let at = self.tears.len();
        self.tears.push(tear);
        &self.tears[at]
    }

    /// Carries the state of the whole body, number `old` of its model, over to the torn one, number `new` of its own: positions,
    /// velocities, and rest shapes that flowed, bit for bit; copies move as the vertices they are copies of.
    pub fn carry<S: Real>(
        &self,
        (model, particles, old): (&Model<S>, &Particles<S>, usize),
        (new_model, new_particles, new): (&mut Model<S>, &mut Particles<S>, usize),
    ) {
        let (from, to) = (model.body(old).unwrap_or_default(), new_model.body(new).unwrap_or_default());
        for (vertex, at) in (0_u32..).zip(to) {
            let origin = from.start + self.origin(vertex) as usize;
            new_particles.x.set(at, particles.x.get(origin));
            new_particles.v.set(at, particles.v.get(origin));
        }
        new_model.inherit_flow(new, model, old, Some([&self.distance, &self.dihedral]));
    }
}

/// Divides the mass of every split vertex among its pieces by their area at rest; appends those of the copies.
fn share_masses(body: &mut Body, fans: &Fans, splits: &[VertexSplit]) {
    let area = |triangles: &[u32]| {
        let of = |t: &u32| {
            let [a, b, c] = fans.corners(*t).map(|v| Vec3::from(body.rest[v as usize]));
            (b - a).cross(c - a).length()
        };
        triangles.iter().map(of).sum::<f64>()
    };
    let whole: Vec<f64> = splits.iter().map(|split| body.masses[split.vertex as usize]).collect();
    let shares: Vec<f64> =
        splits.iter().map(|split| area(&split.triangles) / area(fans.around(split.vertex))).collect();
    for (split, mass) in splits.iter().zip(whole.iter().zip(&shares).map(|(mass, share)| mass * share)) {
        body.masses[split.vertex as usize] -= mass;
        body.masses.push(mass);
    }
}
