//! OBJ text: refused with a message, or a mesh that is the same when it is written and read again.

use pliant_core::mesh::{parse_obj, write_obj};

/// Reads, writes and reads again.
pub fn target(data: &[u8]) {
    let mesh = match parse_obj(data) {
        Ok(mesh) => mesh,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let count = mesh.positions().len() as u32;
    assert!(mesh.triangles().iter().flatten().all(|&corner| corner < count), "corners are vertices");
    assert!(mesh.positions().iter().all(|p| p.x.is_finite() && p.y.is_finite() && p.z.is_finite()));
    let mut text = Vec::new();
    write_obj(&mesh, &mut text).expect("a vector takes everything");
    let again = parse_obj(text.as_slice()).expect("what was written is read");
    assert_eq!(again.triangles(), mesh.triangles());
    assert_eq!(again.positions(), mesh.positions());
    // What users do next must not panic either.
    if let Ok(topology) = mesh.topology() {
        assert!(topology.edges.iter().flatten().all(|&corner| corner < count));
    }
    let _ = mesh.vertex_masses(0.2);
}
