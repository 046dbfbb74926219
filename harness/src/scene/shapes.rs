//! The bodies of a scene file: generated, from OBJ, or from tables.

use pliant::SelfContact;
use pliant::core::body::{Bending, Body, Role};
use pliant::core::error::BuildError;
use pliant::core::mesh::{ClothGrid, MeshError, Rope, Split, TriMesh, icosphere, read_obj, tet_box, tube};
use serde::Deserialize;
use toml::Spanned;

use super::Motion;
use super::file::Source;
use super::tables;
use crate::failure::{Failure, unknown};

/// The kinds of bodies.
const KINDS: [&str; 7] = ["cloth", "rope", "box", "sphere", "tube", "obj", "tables"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BodyFile {
    pub kind: Spanned<String>,
    // cloth: columns, rows, width, height
    columns: Option<Spanned<usize>>,
    rows: Option<Spanned<usize>>,
    width: Option<Spanned<f64>>,
    height: Option<Spanned<f64>>,
    // rope: segments, from, to
    segments: Option<Spanned<usize>>,
    from: Option<Spanned<[f64; 3]>>,
    to: Option<Spanned<[f64; 3]>>,
    // box: cells, size
    cells: Option<Spanned<[usize; 3]>>,
    size: Option<Spanned<[f64; 3]>>,
    // sphere: radius, subdivisions; tube: radius, length, around, along
    radius: Option<Spanned<f64>>,
    subdivisions: Option<Spanned<u32>>,
    length: Option<Spanned<f64>>,
    around: Option<Spanned<usize>>,
    along: Option<Spanned<usize>>,
    // obj: file; tables: particles, springs
    file: Option<Spanned<String>>,
    particles: Option<Spanned<String>>,
    springs: Option<Spanned<String>>,
    // any
    bending: Option<Spanned<String>>,
    inflation: Option<Spanned<f64>>,
    mass: Option<Spanned<f64>>,
    position: Option<Spanned<[f64; 3]>>,
    pins: Option<Spanned<Vec<u32>>>,
    tethers: Option<Spanned<f64>>,
    thickness: Option<Spanned<f64>>,
    self_contact: Option<SelfContactFile>,
    compliance: Option<Material>,
    #[serde(default)]
    motion: Vec<MotionFile>,
}

/// Compliance by role \[m/N for lengths\].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Material {
    stretch: Option<Spanned<f64>>,
    shear: Option<Spanned<f64>>,
    bend: Option<Spanned<f64>>,
    volume: Option<Spanned<f64>>,
}

/// Keeps the surface clear of itself and of other bodies that ask for it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SelfContactFile {
    thickness: Spanned<f64>,
    friction: Option<Spanned<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MotionFile {
    pins: Spanned<Vec<u32>>,
    velocity: Option<Spanned<[f64; 3]>>,
    amplitude: Option<Spanned<[f64; 3]>>,
    frequency: Option<Spanned<f64>>,
    spin: Option<Spanned<[f64; 3]>>,
    until: Option<Spanned<f64>>,
}

/// The body and the motions of its pins.
pub(super) fn build(source: &Source, file: &BodyFile) -> Result<(Body, Vec<Motion>), Failure> {
    let refuse = |error: BuildError| source.fail(file.kind.span(), "body", error);
    let mut body = shape(source, file)?;
    if let Some(mass) = &file.mass {
        body = body.with_mass(source.number(mass, "mass", "a number above 0", |m| m > 0.0)?);
    }
    if let Some(material) = &file.compliance {
        for (value, field, role) in [
            (&material.stretch, "stretch", Role::Stretch),
            (&material.shear, "shear", Role::Shear),
            (&material.bend, "bend", Role::Bend),
            (&material.volume, "volume", Role::Volume),
        ] {
            if let Some(value) = value {
                body = body.with_compliance(role, source.number(value, field, "0 or more", |c| c >= 0.0)?);
            }
        }
    }
    if let Some(position) = &file.position {
        body = body.translated(source.vector(position, "position")?);
    }
    if let Some(thickness) = &file.thickness {
        body = body.with_thickness(source.number(thickness, "thickness", "0 or more", |t| t >= 0.0)?);
    }
    if let Some(contact) = &file.self_contact {
        let thickness = source.number(&contact.thickness, "thickness", "a number above 0", |t| t > 0.0)?;
        let mut settings = SelfContact { thickness, ..SelfContact::default() };
        if let Some(friction) = &contact.friction {
            settings.friction = source.number(friction, "friction", "0 or more", |f| f >= 0.0)?;
        }
        body = body.with_self_contact(settings);
    }
    if let Some(slack) = &file.tethers {
        body = body.with_tethers(source.number(slack, "tethers", "0 or more", |s| s >= 0.0)?);
    }
    let in_range = |pins: &Spanned<Vec<u32>>| {
        let last = body.particle_count().saturating_sub(1);
        match pins.get_ref().iter().find(|&&pin| pin as usize > last) {
            Some(pin) => Err(source.fail(pins.span(), "pins", format!("{pin}; expected particles 0 to {last}"))),
            None => Ok(pins.get_ref().clone()),
        }
    };
    let pins = file.pins.as_ref().map_or(Ok(Vec::new()), in_range)?;
    let mut motions = Vec::new();
    for motion in &file.motion {
        let vector =
            |value: &Option<Spanned<[f64; 3]>>, field| value.as_ref().map_or(Ok([0.0; 3]), |v| source.vector(v, field));
        let (velocity, amplitude) = (vector(&motion.velocity, "velocity")?, vector(&motion.amplitude, "amplitude")?);
        let spin = vector(&motion.spin, "spin")?;
        let positive = |value: &Spanned<f64>, field| source.number(value, field, "0 or more", |v| v >= 0.0);
        let frequency = motion.frequency.as_ref().map_or(Ok(1.0), |f| positive(f, "frequency"))?;
        let until = motion.until.as_ref().map(|until| positive(until, "until")).transpose()?;
        for particle in in_range(&motion.pins)? {
            if file.kind.get_ref() != "tables" && !pins.contains(&particle) {
                let problem = format!("{particle} is not in this body's `pins`, so it cannot be moved");
                return Err(source.fail(motion.pins.span(), "pins", problem));
            }
            motions.push(Motion { particle, velocity, amplitude, frequency, spin, until });
        }
    }
    if !motions.is_empty() && file.kind.get_ref() == "tables" {
        // Pins of a table are known only to the model.
        let (model, _) = pliant::core::model::Model::<f64>::build(&[&body]).map_err(refuse)?;
        if let Some(motion) =
            motions.iter().find(|m| !model.pins().contains(&m.particle) && !pins.contains(&m.particle))
        {
            let problem = format!("particle {} is not pinned, so it cannot be moved", motion.particle);
            return Err(source.fail(file.kind.span(), "motion", problem));
        }
    }
    Ok((body.pinned(pins), motions))
}

/// The most particles of a body in a file: beyond it somebody mistyped, and a machine would run out of memory over it.
const MOST_PARTICLES: usize = 20_000_000;

fn shape(source: &Source, file: &BodyFile) -> Result<Body, Failure> {
    let kind = file.kind.get_ref().as_str();
    let fits = |counts: &[usize]| {
        let product = counts.iter().try_fold(1_usize, |product, &count| product.checked_mul(count));
        let problem = || format!("more particles than {MOST_PARTICLES}; use fewer");
        let fits = product.is_some_and(|count| count <= MOST_PARTICLES);
        if fits { Ok(()) } else { Err(source.fail(file.kind.span(), "body", problem())) }
    };
    let missing = |field: &str| source.fail(file.kind.span(), field, format!("missing; a {kind} needs it"));
    let count = |value: &Option<Spanned<usize>>, field| {
        value.as_ref().map_or_else(|| Err(missing(field)), |value| source.count(value, field))
    };
    let length = |value: &Option<Spanned<f64>>, field| {
        let value = value.as_ref().ok_or_else(|| missing(field))?;
        source.number(value, field, "a number above 0", |v| v > 0.0)
    };
    let vector = |value: &Option<Spanned<[f64; 3]>>, field| {
        value.as_ref().map_or_else(|| Err(missing(field)), |value| source.vector(value, field))
    };
    let path = |value: &Option<Spanned<String>>, field| {
        value.as_ref().map(|name| source.beside(name.get_ref())).ok_or_else(|| missing(field))
    };
    let refuse = |error: BuildError| source.fail(file.kind.span(), "body", error);
    let bad_mesh = |error: MeshError| refuse(error.into());
    match kind {
        "cloth" => {
            let (columns, rows) = (count(&file.columns, "columns")?, count(&file.rows, "rows")?);
            fits(&[columns, rows])?;
            let grid = ClothGrid::new(columns, rows, length(&file.width, "width")?, length(&file.height, "height")?);
            Body::cloth(&grid).map_err(refuse)
        }
        "rope" => {
            let ends = (vector(&file.from, "from")?, vector(&file.to, "to")?);
            let segments = count(&file.segments, "segments")?;
            fits(&[segments])?;
            let rope = Rope::new(segments, ends.0, ends.1).map_err(bad_mesh)?;
            Body::rope(&rope, false).map_err(refuse)
        }
        "box" => {
            let cells = *file.cells.as_ref().ok_or_else(|| missing("cells"))?.get_ref();
            fits(&cells.map(|count| count.saturating_add(1)))?;
            let mesh = tet_box(cells, vector(&file.size, "size")?, Split::Five).map_err(bad_mesh)?;
            Body::solid(&mesh).map_err(refuse)
        }
        "sphere" => {
            let subdivisions = file.subdivisions.as_ref().map_or(3, |value| *value.get_ref());
            surface(source, file, &icosphere(length(&file.radius, "radius")?, subdivisions).map_err(bad_mesh)?)
        }
        "tube" => {
            let (around, along) = (count(&file.around, "around")?, count(&file.along, "along")?);
            fits(&[around, along.saturating_add(1)])?;
            let mesh = tube(length(&file.radius, "radius")?, length(&file.length, "length")?, around, along);
            surface(source, file, &mesh.map_err(bad_mesh)?)
        }
        "obj" => {
            let mesh = read_obj(path(&file.file, "file")?);
            let span = file.file.as_ref().map_or(file.kind.span(), Spanned::span);
            surface(source, file, &mesh.map_err(|error| source.fail(span, "file", error))?)
        }
        "tables" => tables::body(&path(&file.particles, "particles")?, &path(&file.springs, "springs")?),
        other => Err(source.fail(file.kind.span(), "kind", unknown("kind", other, KINDS))),
    }
}

fn surface(source: &Source, file: &BodyFile, mesh: &TriMesh) -> Result<Body, Failure> {
    let refuse = |error: BuildError| source.fail(file.kind.span(), "body", error);
    if let Some(inflation) = &file.inflation {
        let factor = source.number(inflation, "inflation", "a number above 0", |v| v > 0.0)?;
        return Body::balloon(mesh, factor).map_err(refuse);
    }
    let bending = match file.bending.as_ref().map(|name| (name, name.get_ref().as_str())) {
        None | Some((_, "cross-links")) => Bending::CrossLinks,
        Some((_, "none")) => Bending::None,
        Some((_, "dihedral")) => Bending::Dihedral,
        Some((_, "isometric")) => Bending::Isometric,
        Some((_, "flatten")) => Bending::Flatten,
        Some((_, "cotangent")) => Bending::Cotangent,
        Some((_, "cubic-shell")) => Bending::CubicShell,
        Some((at, other)) => {
            let known = ["none", "cross-links", "dihedral", "isometric", "flatten", "cotangent", "cubic-shell"];
            return Err(source.fail(at.span(), "bending", unknown("bending", other, known)));
        }
    };
    Body::surface(mesh, bending).map_err(refuse)
}
