//! Bytes that claim to be a snapshot: refused, and the world is as it was; or taken, and the world goes on from there.
//!
//! Most inputs are a true snapshot with some bytes changed, and half of those get the checksum that belongs to them: whoever writes
//! snapshots by hand must not be able to make a world panic.
//!
//! A trailer chooses the method, the backend, and whether the snapshot is a full one, whose descriptions are changed then.

use std::cell::RefCell;
use std::collections::BTreeMap;

use pliant::core::snapshot::Fingerprint;
use pliant::prelude::*;

use crate::input::{Input, choice};

const DT: f32 = 1.0 / 60.0;

struct Stage {
    world: World,
    good: Snapshot,
    full: Snapshot,
}

/// Methods that carry everything on the stage.
const METHODS: [&str; 2] = ["xpbd-colored", "pbd"];
const BACKENDS: [&str; 4] = ["simd", "scalar", "parallel", "simd-portable"];
/// Bits of the choice: the method, the backend, a full snapshot.
const FULL: u8 = 8;

thread_local! {
    static STAGES: RefCell<BTreeMap<u8, Stage>> = const { RefCell::new(BTreeMap::new()) };
}

impl Stage {
    /// Everything that a snapshot may remember: contacts, sides of layers, flow, tears, bodies, joints, bones.
    fn new(choice: u8) -> Self {
        let build = || -> Result<World, Error> {
            let (method, backend) = (METHODS[usize::from(choice % 2)], BACKENDS[usize::from(choice / 2 % 4)]);
            let backend = Best::by_name(backend, Some(2)).unwrap_or_default();
            let mut world = World::with_method(Method::by_name(method).expect("a method of every build"), backend);
            world.add_collider(Collider::plane([0.0, 1.0, 0.0]).at([0.0, -0.1, 0.0]).with_friction(0.4))?;
            let law = Plasticity { yields_at: 0.01, creep: 2.0, bound: 0.2 };
            let contact = SelfContact { thickness: 0.02, ..SelfContact::default() };
            let cloth = Body::cloth(&ClothGrid::square(0.4, 4))?.with_compliance(Role::Stretch, 1e-3);
            let cloth = cloth.with_plasticity(Role::Stretch, law).pinned([0]).attached(5, [0.1, 0.0, 0.1], 1e-2);
            let cloth = cloth.with_self_contact(contact).with_tearing(Tearing::at_strain(0.9));
            let first = world.add(cloth.clone())?;
            world.add(cloth.translated([0.0, 0.03, 0.0]))?;
            let clusters = Body::particles((0..4).map(|i| [0.6, 0.0, 0.1 * f64::from(i)]));
            world.add(clusters.with_cluster(0..4, Matching::soft(0.5).with_plasticity(law)))?;
            let top = world.add_rigid(&RigidBody::cuboid([0.1; 3], 100.0).at([0.2, 0.2, 0.2]))?;
            let lever = world.add_rigid(&RigidBody::sphere(0.05, 100.0).at([0.4, 0.2, 0.2]).kinematic())?;
            world.join([top, lever], Joint::ball([0, 0], [0.3, 0.2, 0.2]))?;
            world.fasten(first, 15, top)?;
            let bone = world.add_bone(Pose::IDENTITY)?;
            let skinning = Skinning {
                bones: vec![bone.into()],
                weights: vec![vec![(0, 1.0)]; 16],
                max_distance: vec![0.5; 16],
                backstop: Vec::new(),
            };
            world.skin(first, &skinning)?;
            world.watch_contacts(true);
            world.set_force(first, 7, [0.0, 0.1, 0.0])?;
            for _ in 0..5 {
                world.step(DT)?;
            }
            world.tear(first, [5, 6])?;
            for _ in 0..5 {
                world.step(DT)?;
            }
            Ok(world)
        };
        let world = build().expect("a sound world");
        let (good, full) = (world.snapshot(), world.full_snapshot().expect("everything here has a description"));
        Self { world, good, full }
    }
}

/// Changes a snapshot as the bytes say, and restores it.
pub fn target(data: &[u8]) {
    let (data, choice) = choice(data);
    STAGES.with_borrow_mut(|stages| {
        let stage = stages.entry(choice % FULL).or_insert_with(|| Stage::new(choice));
        let full = choice & FULL != 0;
        let mut input = Input::new(data);
        let kind = input.byte();
        let mut bytes = if full { &stage.full } else { &stage.good }.as_bytes().to_vec();
        if kind < 8 {
            bytes = input.rest().to_vec();
        } else {
            while !input.is_empty() {
                let mut at = (input.word() as usize) % bytes.len().max(1);
                // Of a full snapshot the descriptions, which stand behind their length; the rest is tried without them.
                if full && bytes.len() > 40 {
                    let length = u64::from_le_bytes(std::array::from_fn(|k| bytes[32 + k]));
                    let length = usize::try_from(length).unwrap_or(usize::MAX);
                    at = 32 + at % (length.saturating_add(8)).clamp(1, bytes.len() - 32);
                }
                match input.byte() {
                    // Places among the last bytes and the first ones, where the counts are, come up more often.
                    0..=199 if !bytes.is_empty() => bytes[at] = input.byte(),
                    200..=219 if !bytes.is_empty() => bytes[at] ^= 1 << (input.byte() % 8),
                    220..=229 => bytes.truncate(at),
                    230..=239 => bytes.insert(at, input.byte()),
                    _ if at + 8 <= bytes.len() => {
                        let number = input.number(100.0);
                        let word = if input.byte().is_multiple_of(2) { number.to_bits() } else { number as u64 };
                        bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
                    }
                    _ => {}
                }
            }
        }
        if kind.is_multiple_of(2) {
            seal(&mut bytes);
        }
        let Ok(snapshot) = Snapshot::from_bytes(&bytes) else { return };
        let restored = if full { stage.world.restore_full(&snapshot) } else { stage.world.restore(&snapshot) };
        match restored {
            Err(error) => {
                assert!(!error.to_string().is_empty());
                assert!(stage.world.snapshot() == stage.good, "refused ({error}), and yet something changed");
            }
            Ok(()) => {
                let hash = stage.world.state_hash();
                match stage.world.step(DT) {
                    Ok(_) => {
                        let particles = stage.world.particles();
                        assert!(particles.x.first_non_finite().is_none() && particles.v.first_non_finite().is_none());
                    }
                    Err(_) => assert_eq!(stage.world.state_hash(), hash, "a failed step changed something"),
                }
            }
        }
        if full {
            stage.world.restore_full(&stage.full).expect("its own full snapshot");
        } else {
            stage.world.restore(&stage.good).expect("its own snapshot");
        }
        assert!(stage.world.snapshot() == stage.good, "going back to a good snapshot gives that snapshot");
    });
}

/// Gives bytes the length and the checksum of a true snapshot.
fn seal(bytes: &mut [u8]) {
    if bytes.len() < 40 {
        return;
    }
    let length = (bytes.len() as u64).to_le_bytes();
    bytes[16..24].copy_from_slice(&length);
    let end = bytes.len() - 8;
    let mut hash = Fingerprint::new();
    let (words, rest) = bytes[..end].as_chunks::<8>();
    words.iter().for_each(|word| hash.add(u64::from_le_bytes(*word)));
    rest.iter().for_each(|byte| hash.add(u64::from(*byte)));
    hash.add(end as u64);
    bytes[end..].copy_from_slice(&hash.value().to_le_bytes());
}
