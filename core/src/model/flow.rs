//! Plastic flow of a model: rest shapes that change while time runs.

use core::sync::atomic::{AtomicU64, Ordering};

use super::Model;
use crate::columns::Particles;
use crate::constraints::Set;
use crate::lane::Real;
use crate::plasticity::{PlasticRows, Yields};
use crate::snapshot::{Reader, SnapshotError, Writer};

/// Counts the changes of rest shapes of all models of this process.
static CHANGES: AtomicU64 = AtomicU64::new(1);

/// Something done to the sets that can flow.
trait Change<S> {
    fn to<K: Yields<N, P>, const N: usize, const P: usize>(&mut self, set: &mut Set<S, K, N, P>);
}

impl<S: Real> Model<S> {
    /// This is the table to extend for a kind that flows; [`Model::build`] marks its rows.
    fn change_plastic(&mut self, change: &mut impl Change<S>) {
        let constraints = &mut self.constraints;
        change.to(&mut constraints.distance);
        change.to(&mut constraints.dihedral);
        change.to(&mut constraints.elastic.corotated_tet);
        change.to(&mut constraints.elastic.neo_hookean_tet);
    }

    /// Lets the rest shapes of plastic elements follow a state, as after a step of `dt` \[s\]; returns whether any did. Allocates
    /// nothing. Solvers notice by [`Model::rest_revision`] and need not be prepared again.
    pub fn flow(&mut self, particles: &Particles<S>, dt: S) -> bool {
        struct Flow<'a, S>(&'a Particles<S>, f64, bool);
        impl<S: Real> Change<S> for Flow<'_, S> {
            fn to<K: Yields<N, P>, const N: usize, const P: usize>(&mut self, set: &mut Set<S, K, N, P>) {
                let Set { ids, parameters, plastic, .. } = set;
                self.2 |= plastic.flow::<K, S, N>(ids, parameters, &self.0.x, self.1);
            }
        }
        if !self.is_plastic() || particles.len() != self.particle_count() {
            return false;
        }
        self.fingerprint();
        let mut flow = Flow(particles, dt.to_f64(), false);
        self.change_plastic(&mut flow);
        let any = flow.2;
        if any {
            self.revise();
        }
        any
    }

    /// Whether any element is plastic.
    pub fn is_plastic(&self) -> bool {
        let constraints = &self.constraints;
        let elastic = &constraints.elastic;
        !(constraints.distance.plastic.is_empty()
            && constraints.dihedral.plastic.is_empty()
            && elastic.corotated_tet.plastic.is_empty()
            && elastic.neo_hookean_tet.plastic.is_empty())
    }

    /// Changes whenever a rest shape flows: solvers keep it to notice that their copies are old.
    pub fn rest_revision(&self) -> u64 {
        self.rest_revision
    }

    fn revise(&mut self) {
        self.rest_revision = CHANGES.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes over what flowed in body `old_body` of another model, which is body `body` of this one.
    pub fn inherit(&mut self, body: usize, from: &Self, old_body: usize) {
        self.inherit_flow(body, from, old_body, None);
    }

    /// Takes over what flowed in body `old_body` of another model, whose particles are those of body `body` from `offset` on.
    /// Elements are the same if they join the same particles and were made with the same rest shape; others start afresh.
    pub fn inherit_matching(&mut self, body: usize, offset: usize, from: &Self, old_body: usize) {
        let (Some(new), Some(old)) = (self.body(body), from.body(old_body)) else { return };
        if !self.is_plastic() {
            return;
        }
        self.fingerprint();
        let (offsets, bodies) = ([(new.start + offset) as u32, old.start as u32], [body, old_body]);
        let (to, from) = (&mut self.constraints, &from.constraints);
        match_rows(&mut to.distance, &from.distance, offsets, bodies);
        match_rows(&mut to.dihedral, &from.dihedral, offsets, bodies);
        match_rows(&mut to.elastic.corotated_tet, &from.elastic.corotated_tet, offsets, bodies);
        match_rows(&mut to.elastic.neo_hookean_tet, &from.elastic.neo_hookean_tet, offsets, bodies);
        self.revise();
    }

    /// The same for bodies that differ. `origins` lists, kind by kind where rows moved, which row of the old
    /// body each of the new one was.
    pub(crate) fn inherit_flow(&mut self, body: usize, from: &Self, old_body: usize, origins: Option<[&[u32]; 2]>) {
        fn take<S: Real, K, const N: usize, const P: usize>(
            set: &mut Set<S, K, N, P>,
            from: &PlasticRows<P>,
            [body, old_body]: [usize; 2],
            origin: Option<&[u32]>,
        ) {
            set.plastic.inherit(body, from, old_body, origin);
            set.plastic.put_all(&mut set.parameters);
        }
        if !self.is_plastic() {
            return;
        }
        self.fingerprint();
        let bodies = [body, old_body];
        let (to, from) = (&mut self.constraints, &from.constraints);
        take(&mut to.distance, &from.distance.plastic, bodies, origins.map(|o| o[0]));
        take(&mut to.dihedral, &from.dihedral.plastic, bodies, origins.map(|o| o[1]));
        take(&mut to.elastic.corotated_tet, &from.elastic.corotated_tet.plastic, bodies, None);
        take(&mut to.elastic.neo_hookean_tet, &from.elastic.neo_hookean_tet.plastic, bodies, None);
        self.revise();
    }

    /// Writes down what flowed.
    pub(super) fn remember_flow(&self, to: &mut Writer) {
        let constraints = &self.constraints;
        constraints.distance.plastic.remember(to);
        constraints.dihedral.plastic.remember(to);
        constraints.elastic.corotated_tet.plastic.remember(to);
        constraints.elastic.neo_hookean_tet.plastic.remember(to);
    }

    /// Takes it back.
    pub(super) fn recall_flow(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        struct Recall<'a, 'b>(&'a mut Reader<'b>, Result<(), SnapshotError>);
        impl<S: Real> Change<S> for Recall<'_, '_> {
            fn to<K: Yields<N, P>, const N: usize, const P: usize>(&mut self, set: &mut Set<S, K, N, P>) {
                if self.1.is_ok() {
                    self.1 = set.plastic.recall(self.0);
                    set.plastic.put_all(&mut set.parameters);
                }
            }
        }
        if !self.is_plastic() {
            return Ok(());
        }
        self.fingerprint();
        let mut recall = Recall(from, Ok(()));
        self.change_plastic(&mut recall);
        let recalled = recall.1;
        self.revise();
        recalled
    }
}

/// Lets the plastic rows of a body go on from those of an old one; `offsets` are the first particles of both.
fn match_rows<S: Real, K, const N: usize, const P: usize>(
    set: &mut Set<S, K, N, P>,
    from: &Set<S, K, N, P>,
    [first, old_first]: [u32; 2],
    [body, old_body]: [usize; 2],
) {
    // Ids by their body's numbers; those of other parts wrap around and match nothing.
    let own = |ids: &[u32; N], first: u32| ids.map(|id| id.wrapping_sub(first));
    let old_rows = from.plastic.of_body(old_body).0;
    let mut known: Vec<([u32; N], usize)> =
        old_rows.map(|at| (own(&from.ids[from.plastic.rows[at] as usize], old_first), at)).collect();
    known.sort_unstable();
    for at in set.plastic.of_body(body).0 {
        let ids = own(&set.ids[set.plastic.rows[at] as usize], first);
        let place = known.partition_point(|(other, _)| *other < ids);
        let candidates = known[place..].iter().take_while(|(other, _)| *other == ids);
        set.plastic.go_on(at, &from.plastic, candidates.map(|&(_, old)| old));
    }
    set.plastic.put_all(&mut set.parameters);
}
