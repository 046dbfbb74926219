//! Descriptions of bodies: made from meshes, tuned, and given to as many worlds as one likes.

use core::ffi::c_char;
use core::mem::MaybeUninit;

use pliant::{
    Bending, Body, ClothGrid, Material, Role, Rope, SelfContact, Split, TetMesh, TriMesh, UnknownName, tet_box,
};

use crate::memory::{Plain, list, text};
use crate::status::{Failure, PliantStatus, enter};
use crate::types::PliantVec3;

/// What a body is, before it is added to a world: positions, masses, constraints, pins. For one thread at a time.
#[derive(Debug)]
pub struct PliantBody(pub(crate) Body);

const BENDINGS: &[(&str, Bending)] = &[
    ("none", Bending::None),
    ("cross-links", Bending::CrossLinks),
    ("dihedral", Bending::Dihedral),
    ("isometric", Bending::Isometric),
    ("flatten", Bending::Flatten),
    ("cotangent", Bending::Cotangent),
    ("cubic-shell", Bending::CubicShell),
];

const ROLES: &[(&str, Role)] = &[
    ("stretch", Role::Stretch),
    ("shear", Role::Shear),
    ("bend", Role::Bend),
    ("volume", Role::Volume),
    ("tether", Role::Tether),
    ("attach", Role::Attach),
];

fn named<T: Copy>(what: &'static str, name: &str, table: &[(&'static str, T)]) -> Result<T, UnknownName> {
    match table.iter().find(|(known, _)| *known == name) {
        Some((_, value)) => Ok(*value),
        None => {
            Err(UnknownName { what, name: name.to_owned(), known: table.iter().map(|(known, _)| *known).collect() })
        }
    }
}

/// Puts what `make` describes into `out`, or null.
fn describe(
    out: Option<&mut MaybeUninit<Option<Box<PliantBody>>>>,
    make: impl FnOnce() -> Result<Body, Failure>,
) -> PliantStatus {
    enter(|| {
        let out = out.ok_or_else(|| Failure::null("out"))?.write(None);
        *out = Some(Box::new(PliantBody(make()?)));
        Ok(())
    })
}

/// Replaces a description by what `change` makes of it.
fn tune(body: Option<&mut PliantBody>, change: impl FnOnce(Body) -> Result<Body, Failure>) -> PliantStatus {
    enter(|| {
        let PliantBody(body) = body.ok_or_else(|| Failure::null("body"))?;
        *body = change(body.clone())?;
        Ok(())
    })
}

/// `count` rows of `N` items each.
///
/// # Safety
/// A pointer that is not null points to `N` items a row.
unsafe fn read_rows<'a, T: Plain, const N: usize>(
    what: &'static str,
    start: *const T,
    count: usize,
) -> Result<&'a [[T; N]], Failure> {
    let items = count.saturating_mul(N);
    // SAFETY: `N` items a row, as the caller promises.
    Ok(unsafe { list(what, start, items)? }.as_chunks().0)
}

/// # Safety
/// As the entries below have it.
unsafe fn surface(
    positions: *const f64,
    particle_count: usize,
    triangles: *const u32,
    triangle_count: usize,
) -> Result<TriMesh, Failure> {
    // SAFETY: three numbers a particle and three a triangle, as the caller promises.
    let (positions, triangles) = unsafe {
        (
            read_rows::<f64, 3>("positions", positions, particle_count)?,
            read_rows("triangles", triangles, triangle_count)?,
        )
    };
    Ok(TriMesh::new(positions.iter().copied(), triangles.iter().copied())?)
}

/// # Safety
/// As the entries below have it.
unsafe fn solid(
    positions: *const f64,
    particle_count: usize,
    tets: *const u32,
    tet_count: usize,
) -> Result<TetMesh, Failure> {
    // SAFETY: three numbers a particle and four a tetrahedron, as the caller promises.
    let (positions, tets) =
        unsafe { (read_rows::<f64, 3>("positions", positions, particle_count)?, read_rows("tets", tets, tet_count)?) };
    Ok(TetMesh::new(positions.iter().copied(), tets.iter().copied())?)
}

/// # Safety
/// A pointer that is not null points to a string that ends with a zero byte.
unsafe fn required<'a>(what: &'static str, name: *const c_char) -> Result<&'a str, Failure> {
    // SAFETY: as the caller promises.
    unsafe { text(what, name)? }.ok_or_else(|| Failure::null(what))
}

/// A rectangle of cloth in the plane y = 0, from the origin along x (`width`, `columns` particles) and z (`height`, `rows`
/// particles) [m]; particle `row * columns + column`. Its links are rigid unless made compliant.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn pliant_body_cloth(
    columns: usize,
    rows: usize,
    width: f64,
    height: f64,
    out: Option<&mut MaybeUninit<Option<Box<PliantBody>>>>,
) -> PliantStatus {
    describe(out, || Ok(Body::cloth(&ClothGrid::new(columns, rows, width, height))?))
}

/// A rope of so many segments between two points [m]; `bends` adds links that resist bending.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn pliant_body_rope(
    segments: usize,
    from: PliantVec3,
    to: PliantVec3,
    bends: bool,
    out: Option<&mut MaybeUninit<Option<Box<PliantBody>>>>,
) -> PliantStatus {
    describe(out, || Ok(Body::rope(&Rope::new(segments, <[f64; 3]>::from(from), <[f64; 3]>::from(to))?, bends)?))
}

/// A box of tetrahedra from the origin: so many cells a side, and its size [m].
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn pliant_body_box(
    cells_x: usize,
    cells_y: usize,
    cells_z: usize,
    size: PliantVec3,
    out: Option<&mut MaybeUninit<Option<Box<PliantBody>>>>,
) -> PliantStatus {
    describe(out, || Ok(Body::solid(&tet_box([cells_x, cells_y, cells_z], <[f64; 3]>::from(size), Split::default())?)?))
}

/// A surface of triangles. `bending` is "none", "cross-links", "dihedral", "isometric", "flatten", "cotangent" or
/// "cubic-shell"; null for "cross-links".
///
/// # Safety
/// `positions` points to three numbers a particle [m], `triangles` to three particle numbers a triangle.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pliant_body_surface(
    positions: *const f64,
    particle_count: usize,
    triangles: *const u32,
    triangle_count: usize,
    bending: *const c_char,
    out: Option<&mut MaybeUninit<Option<Box<PliantBody>>>>,
) -> PliantStatus {
    describe(out, || {
        // SAFETY: as the caller promises.
        let (mesh, bending) =
            unsafe { (surface(positions, particle_count, triangles, triangle_count)?, text("bending", bending)?) };
        Ok(Body::surface(&mesh, named("bending", bending.unwrap_or("cross-links"), BENDINGS)?)?)
    })
}

/// A closed surface that holds `inflation` times the volume it encloses at rest.
///
/// # Safety
/// `positions` points to three numbers a particle [m], `triangles` to three particle numbers a triangle.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pliant_body_balloon(
    positions: *const f64,
    particle_count: usize,
    triangles: *const u32,
    triangle_count: usize,
    inflation: f64,
    out: Option<&mut MaybeUninit<Option<Box<PliantBody>>>>,
) -> PliantStatus {
    describe(out, || {
        // SAFETY: as the caller promises.
        let mesh = unsafe { surface(positions, particle_count, triangles, triangle_count)? };
        Ok(Body::balloon(&mesh, inflation)?)
    })
}

/// A solid of tetrahedra, wound so that their volumes are positive: links along edges, and the volume of each.
///
/// # Safety
/// `positions` points to three numbers a particle [m], `tets` to four particle numbers a tetrahedron.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pliant_body_solid(
    positions: *const f64,
    particle_count: usize,
    tets: *const u32,
    tet_count: usize,
    out: Option<&mut MaybeUninit<Option<Box<PliantBody>>>>,
) -> PliantStatus {
    describe(out, || {
        // SAFETY: as the caller promises.
        let mesh = unsafe { solid(positions, particle_count, tets, tet_count)? };
        Ok(Body::solid(&mesh)?)
    })
}

/// A sheet of a material ("cotton", "silk", "wool", "denim", "leather", "rubber" or "gel") whose warp runs along `warp`.
///
/// # Safety
/// `material` is a string, `positions` points to three numbers a particle [m], `triangles` to three particle numbers a triangle.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pliant_body_sheet_of(
    material: *const c_char,
    positions: *const f64,
    particle_count: usize,
    triangles: *const u32,
    triangle_count: usize,
    warp: PliantVec3,
    out: Option<&mut MaybeUninit<Option<Box<PliantBody>>>>,
) -> PliantStatus {
    describe(out, || {
        // SAFETY: as the caller promises.
        let (material, mesh) = unsafe {
            (required("material", material)?, surface(positions, particle_count, triangles, triangle_count)?)
        };
        Ok(Body::sheet_of(&named("material", material, &Material::PRESETS)?, &mesh, warp.into())?)
    })
}

/// A solid of a material: see `pliant_body_sheet_of`.
///
/// # Safety
/// `material` is a string, `positions` points to three numbers a particle [m], `tets` to four particle numbers a tetrahedron.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pliant_body_solid_of(
    material: *const c_char,
    positions: *const f64,
    particle_count: usize,
    tets: *const u32,
    tet_count: usize,
    out: Option<&mut MaybeUninit<Option<Box<PliantBody>>>>,
) -> PliantStatus {
    describe(out, || {
        // SAFETY: as the caller promises.
        let (material, mesh) =
            unsafe { (required("material", material)?, solid(positions, particle_count, tets, tet_count)?) };
        Ok(Body::solid_of(&named("material", material, &Material::PRESETS)?, &mesh)?)
    })
}

/// Scales all masses to a total [kg].
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn pliant_body_set_mass(body: Option<&mut PliantBody>, total: f64) -> PliantStatus {
    tune(body, |body| Ok(body.with_mass(total)))
}

/// Sets the mass of every particle [kg].
///
/// # Safety
/// `masses` points to `count` numbers.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pliant_body_set_masses(
    body: Option<&mut PliantBody>,
    masses: *const f64,
    count: usize,
) -> PliantStatus {
    tune(body, |body| {
        // SAFETY: as the caller promises.
        let masses = unsafe { list("masses", masses, count)? };
        Ok(body.with_masses(masses.iter().copied()))
    })
}

/// Keeps every particle this far from colliders [m].
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn pliant_body_set_thickness(body: Option<&mut PliantBody>, thickness: f64) -> PliantStatus {
    tune(body, |body| Ok(body.with_thickness(thickness)))
}

/// Keeps the surface clear of itself and of other surfaces that ask for it: distance between layers [m] and friction.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn pliant_body_set_self_contact(
    body: Option<&mut PliantBody>,
    thickness: f64,
    friction: f64,
) -> PliantStatus {
    tune(body, |body| Ok(body.with_self_contact(SelfContact { thickness, friction, ..SelfContact::default() })))
}

/// Sets the compliance of every constraint of a role: its inverse stiffness, 0 for rigid [m/N for lengths]. `role` is
/// "stretch", "shear", "bend", "volume", "tether" or "attach".
///
/// # Safety
/// `role` is a string.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pliant_body_set_compliance(
    body: Option<&mut PliantBody>,
    role: *const c_char,
    compliance: f64,
) -> PliantStatus {
    tune(body, |body| {
        // SAFETY: as the caller promises.
        let role = unsafe { required("role", role)? };
        Ok(body.with_compliance(named("role", role, ROLES)?, compliance))
    })
}

/// Sets the damping of every constraint of a role, which acts on compliant ones [N s/m for lengths].
///
/// # Safety
/// `role` is a string.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pliant_body_set_damping(
    body: Option<&mut PliantBody>,
    role: *const c_char,
    damping: f64,
) -> PliantStatus {
    tune(body, |body| {
        // SAFETY: as the caller promises.
        let role = unsafe { required("role", role)? };
        Ok(body.with_damping(named("role", role, ROLES)?, damping))
    })
}

/// Limits the distance of every particle to its two nearest pins, to the way along the surface times 1 + `slack`.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn pliant_body_set_tethers(body: Option<&mut PliantBody>, slack: f64) -> PliantStatus {
    tune(body, |body| Ok(body.with_tethers(slack)))
}

/// Holds particles in place; worlds can move and release them.
///
/// # Safety
/// `particles` points to `count` particle numbers.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pliant_body_pin(
    body: Option<&mut PliantBody>,
    particles: *const u32,
    count: usize,
) -> PliantStatus {
    tune(body, |body| {
        // SAFETY: as the caller promises.
        let particles = unsafe { list("particles", particles, count)? };
        Ok(body.pinned(particles.iter().copied()))
    })
}

/// Moves the whole body [m].
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn pliant_body_translate(body: Option<&mut PliantBody>, by: PliantVec3) -> PliantStatus {
    tune(body, |body| Ok(body.translated(by)))
}

/// How many particles the description has; 0 for a null pointer.
#[unsafe(no_mangle)]
pub extern "C" fn pliant_body_particle_count(body: Option<&PliantBody>) -> usize {
    body.map_or(0, |body| body.0.particle_count())
}

/// Frees a description; worlds it was added to keep their copy. A null pointer is fine.
#[unsafe(no_mangle)]
pub extern "C" fn pliant_body_destroy(body: Option<Box<PliantBody>>) {
    let _ = enter(|| {
        drop(body);
        Ok(())
    });
}
