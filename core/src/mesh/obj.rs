//! Wavefront OBJ files: reading a surface from one, and writing one.
//!
//! Positions and faces are read, by the `tobj` crate; normals, texture coordinates, colours, materials, groups and
//! lines are not needed here and ignored. Coordinates are read in **single precision** (`tobj` has a feature for
//! double precision, but it would change the types of every other user of `tobj` in the build). Vertex ids are the
//! file's own: line `v` number k is vertex k − 1, whether a face uses it or not.

use super::error::MeshError;
use super::tri::TriMesh;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Cursor, Write};
use std::path::Path;
use tobj::{LoadError, LoadOptions};
use ultraviolet::DVec3;

/// Reads a surface from an OBJ file. Polygons are cut into triangles, and all objects and groups are one mesh.
///
/// # Errors
/// [`MeshError::Io`] when the file cannot be read, otherwise as [`parse_obj`].
pub fn read_obj(path: impl AsRef<Path>) -> Result<TriMesh, MeshError> {
    let path = path.as_ref();
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| MeshError::io(&name, &error))?;
    parse(BufReader::new(file), &name)
}

/// Reads a surface from OBJ text. Polygons are cut into triangles, and all objects and groups are one mesh.
///
/// ```
/// use pliant_core::mesh::parse_obj;
///
/// let text = "v 0 0 0\nv 1 0 0\nv 1 0 1\nv 0 0 1\nf 1 4 3 2\n";
/// let mesh = parse_obj(text.as_bytes())?;
/// assert_eq!(mesh.triangles(), [[0, 3, 2], [0, 2, 1]]);
/// # Ok::<(), pliant_core::mesh::MeshError>(())
/// ```
///
/// # Errors
/// [`MeshError::Io`] when reading fails, [`MeshError::ObjSyntax`] with the line for a vertex or face that cannot be
/// understood, [`MeshError::ObjFaceOutOfRange`], [`MeshError::ObjNoGeometry`], and all of [`TriMesh::new`].
pub fn parse_obj(reader: impl BufRead) -> Result<TriMesh, MeshError> {
    parse(reader, "OBJ input")
}

/// Writes a surface as OBJ text: every coordinate with as many digits as it takes to read the same f64 back.
///
/// # Errors
/// [`MeshError::Io`] when writing fails.
pub fn write_obj(mesh: &TriMesh, writer: impl Write) -> Result<(), MeshError> {
    let mut writer = BufWriter::new(writer);
    let mut write = || {
        for p in mesh.positions() {
            writeln!(writer, "v {:?} {:?} {:?}", p.x, p.y, p.z)?;
        }
        for triangle in mesh.triangles() {
            let [a, b, c] = triangle.map(|v| u64::from(v) + 1);
            writeln!(writer, "f {a} {b} {c}")?;
        }
        writer.flush()
    };
    write().map_err(|error| MeshError::io("OBJ output", &error))
}

/// The lines of a file that make its surface, ready for `tobj`.
#[derive(Default)]
struct Source {
    /// The `v` and `f` lines, then a point element for every vertex.
    text: String,
    /// The line of the file, counted from 1, that each `v` and `f` line came from.
    lines: Vec<usize>,
    vertex_count: usize,
    face_count: usize,
}

impl Source {
    /// Keeps `v` and `f` lines only. Without groups and materials `tobj` sees one model, so vertices that groups
    /// share stay shared; without texture coordinates and normals it has no reason to split vertices.
    fn read(reader: impl BufRead, name: &str) -> Result<Self, MeshError> {
        let mut source = Self::default();
        for (row, line) in reader.split(b'\n').enumerate() {
            let line = line.map_err(|error| MeshError::io(name, &error))?;
            // Names and comments may be in any encoding; the lines that count are ASCII.
            let line = String::from_utf8_lossy(&line);
            let statement = line.split('#').next().unwrap_or_default();
            let mut words: Vec<&str> = statement.split_whitespace().collect();
            match words.first() {
                Some(&"v") => {
                    source.vertex_count += 1;
                    // x y z r g b: the colour goes. x y z w stays, `tobj` divides by w.
                    if words.len() == 7 {
                        words.truncate(4);
                    }
                }
                Some(&"f") => {
                    source.face_count += 1;
                    if words.len() < 4 {
                        return Err(MeshError::ObjSyntax {
                            line: row + 1,
                            reason: "a face needs at least three vertices".to_owned(),
                        });
                    }
                }
                _ => continue,
            }
            source.text.push_str(&words.join(" "));
            source.text.push('\n');
            source.lines.push(row + 1);
        }
        // `tobj` numbers vertices by first use and drops the unused. One point element a vertex, in the file's order
        // and after all faces, makes it tell where each went: triangulated, a point is the same index three times.
        for vertex in 1..=source.vertex_count {
            source.text.push_str(&format!("f {vertex}\n"));
        }
        Ok(source)
    }

    /// What went wrong, given how many bytes of `text` had been consumed: the last line consumed is at fault.
    fn explain(&self, error: &LoadError, consumed: usize) -> MeshError {
        let line_count = self.text.bytes().take(consumed).filter(|&byte| byte == b'\n').count();
        match self.lines.get(line_count.saturating_sub(1)) {
            Some(&line) => MeshError::ObjSyntax { line, reason: error.to_string() },
            // `tobj` looks vertices up after the last line, and that is a point element of ours.
            None => MeshError::ObjFaceOutOfRange { vertex_count: self.vertex_count },
        }
    }
}

fn parse(reader: impl BufRead, name: &str) -> Result<TriMesh, MeshError> {
    let source = Source::read(reader, name)?;
    let no_geometry = MeshError::ObjNoGeometry { vertex_count: source.vertex_count, face_count: source.face_count };
    if source.vertex_count == 0 || source.face_count == 0 {
        return Err(no_geometry);
    }

    let options = LoadOptions { triangulate: true, ..LoadOptions::default() };
    let mut cursor = Cursor::new(source.text.as_bytes());
    let (models, _) = tobj::load_obj_buf(&mut cursor, &options, |_| Ok(Default::default()))
        .map_err(|error| source.explain(&error, cursor.position() as usize))?;
    let model = models.into_iter().next().ok_or(no_geometry)?.mesh;

    let (faces, points) = model.indices.split_at(model.indices.len() - 3 * source.vertex_count);
    let mut file_ids = vec![0_u32; source.vertex_count];
    let mut positions = Vec::with_capacity(source.vertex_count);
    for (file_id, point) in (0_u32..).zip(points.chunks_exact(3)) {
        let place = point[0] as usize;
        file_ids[place] = file_id;
        let [x, y, z] = [0, 1, 2].map(|axis| f64::from(model.positions[3 * place + axis]));
        positions.push(DVec3::new(x, y, z));
    }
    let triangles = faces.chunks_exact(3).map(|t| [t[0], t[1], t[2]].map(|place| file_ids[place as usize]));
    TriMesh::new(positions, triangles)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]
mod tests {
    use super::super::{icosphere, shuffled_sheet};
    use super::*;
    use std::io;

    fn parse_text(text: &str) -> Result<TriMesh, MeshError> {
        parse_obj(text.as_bytes())
    }

    fn written(mesh: &TriMesh) -> String {
        let mut bytes = Vec::new();
        write_obj(mesh, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn round_trip_keeps_ids_order_and_every_single_precision_bit() {
        for mesh in [icosphere(0.3, 2).unwrap(), shuffled_sheet(9, 1.7, 5).unwrap()] {
            let read = parse_text(&written(&mesh)).unwrap();
            assert_eq!(read.triangles(), mesh.triangles());
            let single = |p: DVec3| DVec3::new(p.x as f32 as f64, p.y as f32 as f64, p.z as f32 as f64);
            assert_eq!(read, mesh.transformed(single).unwrap());
            assert_eq!(parse_text(&written(&read)).unwrap(), read, "exact from then on");
        }
    }

    #[test]
    fn written_digits_are_enough_for_double_precision() {
        let corner = [1.0 / 3.0, 1e-17, -1.2345678901234567e20];
        let mesh = TriMesh::new([corner, [0.0, 1e20, 0.0], [1e20, 0.0, 1.0]], [[0, 1, 2]]).unwrap();
        let text = written(&mesh);
        let words = text.lines().next().unwrap().split_whitespace().skip(1);
        let read: Vec<f64> = words.map(|word| word.parse().unwrap()).collect();
        assert_eq!(read, corner);
    }

    #[test]
    fn groups_materials_and_attributes_do_not_cut_the_mesh() {
        let text = "# a comment\nmtllib missing.mtl\no sheet\n\
            v 9 9 9\nv 0 0 0 1 0 0 # red\nv 1 0 0\nv 1 1 0\nv 0 2 0 2\n\
            vt 0 0\nvt 1 0\nvn 0 0 1\nvn 0 1 0\n\
            usemtl gone\ng left\nf 2/1/1 3/2/1 4/1/2\nl 2 3\np 1\n\
            usemtl lost\ng right\ns off\nf -4//1 -2//2 -1//1\n";
        let mesh = parse_text(text).unwrap();
        assert_eq!(mesh.vertex_count(), 5, "the unused vertex keeps its id");
        assert_eq!(mesh.triangles(), [[1, 2, 3], [1, 3, 4]]);
        assert_eq!(mesh.positions()[4], DVec3::new(0.0, 1.0, 0.0), "divided by w");
        assert_eq!(mesh.topology().unwrap().hinges.len(), 1);
    }

    #[test]
    fn faces_may_come_first_and_have_many_corners() {
        let text = "f 1 2 3 4 5\nv 0 0 0\r\nv 2 0 0\nv 3 1 0\nv 2 2 0\nv 0 2 0\n";
        let mesh = parse_text(text).unwrap();
        assert_eq!(mesh.triangles(), [[0, 1, 2], [0, 2, 3], [0, 3, 4]]);
        assert_eq!(mesh.positions()[1].x, 2.0);
    }

    #[test]
    fn bad_lines_are_named() {
        let corners = "v 0 0 0\nv 1 0 0\nv 0 1 0\n";
        for (line, reason) in [
            ("f 1 2", "three vertices"),
            ("f 1 2 x", "face"),
            ("f 1 2 3/1/1/1", "face"),
            ("v 1 2", "position"),
            ("v 1 2 up", "position"),
            ("v 1 2 3 0", "zero"),
        ] {
            let error = parse_text(&format!("# header\n{corners}\n{line}\nf 1 2 3\n")).unwrap_err();
            match error {
                MeshError::ObjSyntax { line: 6, reason: found } if found.contains(reason) => {}
                other => panic!("{line}: {other:?}"),
            }
        }
    }

    #[test]
    fn bad_geometry_is_refused() {
        let corners = "v 0 0 0\nv 1 0 0\nv 0 1 0\n";
        for face in ["f 1 2 4", "f 0 1 2", "f -4 -2 -1", "f 99999999999999999 1 2"] {
            let error = parse_text(&format!("{corners}{face}\n")).unwrap_err();
            assert_eq!(error, MeshError::ObjFaceOutOfRange { vertex_count: 3 }, "{face}");
        }
        let error = parse_text("v 0 0 0\nv 1 nan 0\nv 0 1 0\nf 1 2 3\n").unwrap_err();
        assert!(matches!(error, MeshError::NotFinite { vertex: 1, axis: 'y', .. }));
        let error = parse_text(&format!("{corners}f 1 2 2\n")).unwrap_err();
        assert!(matches!(error, MeshError::RepeatedVertex { vertex: 1, .. }));
        for text in ["", "f 1 2 3\n", corners] {
            let error = parse_text(text).unwrap_err();
            assert!(matches!(error, MeshError::ObjNoGeometry { .. }));
        }
    }

    #[test]
    fn trouble_with_files_is_passed_on() {
        let error = read_obj("/nowhere/cloth.obj").unwrap_err();
        assert!(matches!(&error, MeshError::Io { kind: io::ErrorKind::NotFound, .. }));
        assert!(error.to_string().starts_with("/nowhere/cloth.obj: "));

        let mut full: [u8; 10] = [0; 10];
        let error = write_obj(&icosphere(1.0, 0).unwrap(), full.as_mut_slice()).unwrap_err();
        assert!(matches!(error, MeshError::Io { kind: io::ErrorKind::WriteZero, .. }));
    }

    #[test]
    fn files_are_read() {
        let path = std::env::temp_dir().join(format!("pliant-obj-{}.obj", std::process::id()));
        let mesh = icosphere(1.0, 0).unwrap();
        write_obj(&mesh, File::create(&path).unwrap()).unwrap();
        let read = read_obj(&path);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(read.unwrap().triangles(), mesh.triangles());
    }
}
