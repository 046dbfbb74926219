//! Sleep: groups of bodies that have come to rest are left alone until something touches them.

use pliant_core::lane::{Lane, Real};
use pliant_core::rigid::RigidBodies;
use pliant_core::vec3::Vec3;

use super::manifold::{Manifold, Point};

/// When bodies fall asleep.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
pub struct Sleep {
    /// Speed below which a body counts as still \[m/s\].
    pub speed: f64,
    /// Angular speed below which a body counts as still \[rad/s\].
    pub angular_speed: f64,
    /// How long all bodies of a group must be still \[s\].
    pub time: f64,
}

impl Default for Sleep {
    fn default() -> Self {
        Self { speed: 0.05, angular_speed: 0.1, time: 0.5 }
    }
}

/// Memory for finding groups.
#[derive(Clone, Debug, Default)]
pub(crate) struct Groups {
    root: Vec<u32>,
    /// Whether all of a group, named by its root, may sleep.
    rested: Vec<bool>,
}

impl Groups {
    fn find(&mut self, mut row: u32) -> u32 {
        while self.root[row as usize] != row {
            self.root[row as usize] = self.root[self.root[row as usize] as usize];
            row = self.root[row as usize];
        }
        row
    }
    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        self.root[a.max(b) as usize] = a.min(b);
    }

    /// Wakes whatever a moving body touches or will run into, before a step is solved: what sleeps is as immovable as a wall.
    pub fn wake<S: Real>(bodies: &mut RigidBodies<S>, manifolds: &[Manifold<S>], gravity: [S; 3], dt: S) {
        for manifold in manifolds {
            let [a, b] = manifold.bodies.map(|row| row as usize);
            if bodies.asleep[a].is_none() && bodies.asleep[b].is_none() {
                continue;
            }
            let gains = |row: usize| bodies.is_dynamic(row) && bodies.asleep[row].is_none();
            let speed = |row: usize, r: Vec3<S>| {
                let gained = if gains(row) { Vec3::from(gravity) * dt } else { Vec3::zero() };
                Vec3::from(bodies.v.get(row)) + gained + Vec3::from(bodies.omega.get(row)).cross(r)
            };
            let meets =
                |p: &Point<S>| p.gap <= Lane::max(S::ZERO, manifold.n.dot(speed(a, p.ra) - speed(b, p.rb)) * dt);
            if manifold.points[..manifold.count].iter().any(meets) {
                for row in [a, b] {
                    // Waking somebody who is awake would keep them up.
                    if bodies.asleep[row].is_some() {
                        bodies.wake(row);
                    }
                }
            }
        }
    }

    /// Counts how long bodies have been still, and puts groups of touching or joined ones to sleep that all have been for
    /// long enough.
    pub fn settle<S: Real>(&mut self, bodies: &mut RigidBodies<S>, manifolds: &[Manifold<S>], rule: &Sleep, dt: S) {
        let count = bodies.len();
        self.root.clear();
        self.root.extend(0..count as u32);
        let movable =
            |bodies: &RigidBodies<S>, [a, b]: [u32; 2]| bodies.is_dynamic(a as usize) && bodies.is_dynamic(b as usize);
        for manifold in manifolds {
            if movable(bodies, manifold.bodies) {
                self.join(manifold.bodies[0], manifold.bodies[1]);
            }
        }
        for joint in 0..bodies.joint_terms().len() {
            let pair = bodies.joint_terms()[joint].bodies;
            if movable(bodies, pair) {
                self.join(pair[0], pair[1]);
            }
        }
        let (speed, angular) = (S::from_f64(rule.speed), S::from_f64(rule.angular_speed));
        self.rested.clear();
        self.rested.resize(count, true);
        for row in 0..count {
            if !bodies.is_dynamic(row) || bodies.asleep[row].is_some() {
                continue;
            }
            let (v, omega) = (Vec3::from(bodies.v.get(row)), Vec3::from(bodies.omega.get(row)));
            let still = v.length_sq() < speed * speed && omega.length_sq() < angular * angular;
            bodies.still[row] = if still { bodies.still[row] + dt } else { S::ZERO };
            if !(bodies.described()[row].sleeps && bodies.still[row] >= S::from_f64(rule.time)) {
                let root = self.find(row as u32);
                self.rested[root as usize] = false;
            }
        }
        // What touches a moving immovable body is being carried.
        for manifold in manifolds {
            for [a, b] in [manifold.bodies, [manifold.bodies[1], manifold.bodies[0]]] {
                let carried = !bodies.is_dynamic(a as usize)
                    && (bodies.v.get(a as usize) != [S::ZERO; 3] || bodies.omega.get(a as usize) != [S::ZERO; 3]);
                if carried && bodies.is_dynamic(b as usize) {
                    let root = self.find(b);
                    self.rested[root as usize] = false;
                }
            }
        }
        for row in 0..count {
            if !bodies.is_dynamic(row) || bodies.asleep[row].is_some() {
                continue;
            }
            let root = self.find(row as u32);
            if self.rested[root as usize] {
                bodies.asleep[row] = Some(root);
                bodies.v.set(row, [S::ZERO; 3]);
                bodies.omega.set(row, [S::ZERO; 3]);
            }
        }
    }
}
