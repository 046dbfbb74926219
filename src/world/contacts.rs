//! Contacts of a world, and questions about what is where.

use pliant_core::backend::Backend;
use pliant_core::collide::Probe;
use pliant_core::collide::intersect::Piercing;
use pliant_core::error::StepError;
use pliant_core::lane::Real;
use pliant_solvers::{ContactEvent, ContactWatch};

use super::{BodyId, ColliderId, WorldOn};

/// An edge that passes through a triangle: where surfaces went through each other, or through themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Intersection {
    /// The body of the edge.
    pub edge_body: BodyId,
    /// The edge's vertices, by their numbers in that body.
    pub edge: [u32; 2],
    /// The body of the triangle.
    pub triangle_body: BodyId,
    /// The triangle's vertices, by their numbers in that body.
    pub triangle: [u32; 3],
}

/// How near counts as touching \[m\].
const MARGIN: f64 = 1e-3;

impl<B: Backend> WorldOn<B> {
    /// Whether contacts are listed after every step; off at first, and free then.
    ///
    /// ```
    /// use pliant::prelude::*;
    ///
    /// let mut world = World::new();
    /// let floor = world.add_collider(Collider::plane([0.0, 1.0, 0.0]))?;
    /// let stone = world.add(Body::particles([[0.0, 0.1, 0.0]]).with_mass(2.0))?;
    /// world.watch_contacts(true);
    /// for _ in 0..60 {
    ///     world.step(1.0 / 60.0)?;
    ///     for contact in world.contacts().iter().filter(|contact| contact.phase == ContactPhase::Begin) {
    ///         println!("{:?} hits at {:?} with {} N s", contact.pair, contact.point, contact.impulse);
    ///     }
    /// }
    /// let [contact] = world.contacts() else { panic!("it lies on the floor") };
    /// assert_eq!(contact.phase, ContactPhase::Persist);
    /// assert_eq!(contact.pair, ContactPair::Collider { particle: 0, collider: 0 });
    /// assert_eq!((world.locate(0), world.collider_at(0)), (Some((stone, 0)), Some(floor)));
    /// // The floor carries 2 kg for a sixtieth of a second.
    /// assert!((contact.impulse - 2.0 * 9.81 / 60.0).abs() < 1e-3);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn watch_contacts(&mut self, on: bool) {
        if on {
            let new = || Box::new(ContactWatch::new(B::Scalar::from_f64(MARGIN)));
            self.watch.get_or_insert_with(new);
        } else {
            self.watch = None;
            if let Some(account) = self.solver.account() {
                account.open = false;
            }
        }
    }

    /// The contacts after the last step: with colliders by particle and collider, then between surfaces with
    /// [`SelfContact`](pliant_core::collide::SelfContact) by their corners. Empty unless they are watched.
    ///
    /// A contact is what is within a millimetre of touching, or inside the buffer that the method holds particles off by, or was thrown
    /// off a collider during the step. Particles and colliders are numbers of the model; [`locate`](Self::locate) and
    /// [`collider_at`](Self::collider_at) say whose.
    pub fn contacts(&self) -> &[ContactEvent<B::Scalar>] {
        self.watch.as_ref().map_or(&[], |watch| watch.events())
    }

    /// The handle of the collider at a place among the model's.
    pub fn collider_at(&self, place: u32) -> Option<ColliderId> {
        self.collider_handles.at(place as usize)
    }

    /// Answers questions about the world as it stands: rays, closest points, overlaps. Taking it brings a tree of boxes up to
    /// date; ask many questions of one probe.
    ///
    /// ```
    /// use pliant::prelude::*;
    ///
    /// let mut world = World::new();
    /// let cloth = world.add(Body::cloth(&ClothGrid::square(1.0, 10))?)?;
    /// world.add_collider(Collider::sphere(0.2).at([0.5, -1.0, 0.5]))?;
    /// let probe = world.probe()?;
    /// let hit = probe.ray([0.45, 1.0, 0.45], [0.0, -1.0, 0.0], 10.0).expect("the cloth is in the way");
    /// assert!(matches!(hit.target, Target::Triangle(_)) && (hit.distance - 1.0).abs() < 1e-6);
    /// let below = probe.closest([0.5, -0.7, 0.5], 1.0).expect("something is near");
    /// assert!(below.target == Target::Collider(0) && (below.distance - 0.1).abs() < 1e-6);
    /// let mut found = Vec::new();
    /// probe.in_box([-0.1, -0.1, -0.1], [0.05, 0.1, 0.05], &mut found);
    /// assert!(!found.is_empty(), "a corner of the cloth");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// When positions are not finite.
    pub fn probe(&mut self) -> Result<Probe<'_, B::Scalar>, StepError> {
        Ok(self.probe_tree.look(&self.model, &self.particles.x, &self.backend)?)
    }

    /// Every edge and triangle of surfaces with [`SelfContact`](pliant_core::collide::SelfContact) that share no vertex but have a
    /// point in common, as the world stands. Exact: touching counts, rounding decides nothing. Groups that do not touch are left
    /// out, and vertices that were torn apart count as one. A guard refuses to start from a state that has any.
    ///
    /// ```
    /// use pliant::prelude::*;
    ///
    /// let mut world = World::new();
    /// let sheet = Body::cloth(&ClothGrid::square(1.0, 5))?.with_self_contact(SelfContact::default());
    /// let flat = world.add(sheet.clone())?;
    /// let upright = world.add(sheet.posed(|[x, _, z]| [x, z - 0.4, 0.3]))?;
    /// let found = world.intersections()?;
    /// assert!(found.iter().any(|pair| (pair.edge_body, pair.triangle_body) == (upright, flat)));
    /// assert!(found.iter().all(|pair| pair.edge_body != pair.triangle_body), "neither passes through itself");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// When positions are not finite.
    pub fn intersections(&self) -> Result<Vec<Intersection>, StepError> {
        let found = self.model.surfaces().intersections(&self.particles.x, &self.backend)?;
        let name = |pierced: &Piercing| {
            let (edge_body, edge) = self.locate_all(pierced.edge)?;
            let (triangle_body, triangle) = self.locate_all(pierced.triangle)?;
            Some(Intersection { edge_body, edge, triangle_body, triangle })
        };
        Ok(found.iter().filter_map(name).collect())
    }

    /// The body that particles share, and their numbers in it.
    fn locate_all<const N: usize>(&self, particles: [u32; N]) -> Option<(BodyId, [u32; N])> {
        let (body, first) = self.locate(particles[0] as usize)?;
        Some((body, particles.map(|p| p + first - particles[0])))
    }

    /// Lists the contacts of the step that has just been made; of a state that cannot be looked at, none. Not an error: the step was
    /// taken. (The kit's methods accept no such state; one of the user's own may.)
    pub(super) fn list_contacts(&mut self, dt: B::Scalar) {
        let Some(watch) = &mut self.watch else { return };
        if watch.update(&self.model, &self.particles, self.solver.account().as_deref(), dt, &self.backend).is_err() {
            watch.forget();
        }
    }

    /// Opens the account of a solver that may have been prepared since.
    pub(super) fn open_account(&mut self) {
        if self.watch.is_some()
            && let Some(account) = self.solver.account()
        {
            account.open = true;
        }
    }
}
