//! Speed in one run: nanoseconds a constraint projection for every layout, lane and thread count, against the textbook loop.
//!
//! `cargo bench --bench speed` prints the tables and writes `benches/results/speed.md`.

mod support;

use pliant::backends::{Parallel, Scalar, Simd};
use pliant::core::backend::Backend;
use pliant::core::body::{Bending, Body, Role};
use pliant::core::mesh::{ClothGrid, Split, shuffled_sheet, tet_box};
use pliant::core::schedule::LayoutChoice::{self, Auto, Rows};
use support::report::Report;
use support::textbook::Textbook;
use support::timing::{Contender, race};
use support::{FRAME, Run, curtain};

const SUBSTEPS: usize = 10;

/// A contender that steps a body by XPBD on a backend.
fn xpbd<B: Backend<Scalar = f32> + 'static>(
    name: &str,
    body: &Body,
    layout: LayoutChoice,
    backend: B,
) -> Contender<'static> {
    let mut run = Run::new(body, layout, SUBSTEPS, backend);
    if !body.tables().dihedral.ids.is_empty() {
        run.model.environment.gravity = [0.0; 3];
    }
    let items = (SUBSTEPS * run.model.constraints().len().max(1)) as f64;
    Contender::new(name, items, move || run.frame())
}

fn textbook(mut plain: Textbook, constraints: usize) -> Contender<'static> {
    Contender::new("textbook loop", (SUBSTEPS * constraints) as f64, move || plain.frame(FRAME, SUBSTEPS))
}

/// The same particles without constraints: what integration, packing and velocities cost by themselves.
fn bare(body: &Body) -> Body {
    let mut bare = body.clone();
    *bare.tables_mut() = Default::default();
    bare
}

fn table(report: &mut Report, title: &str, contenders: &[Contender<'_>]) {
    report.line(&format!("\n## {title}\n\n| | ns a projection | against the textbook loop |\n| --- | --- | --- |"));
    let base = contenders[0].nanoseconds();
    for c in contenders {
        report.line(&format!("| {} | {:.2} | {:.1}× |", c.name, c.nanoseconds(), base / c.nanoseconds()));
    }
}

/// Constraint work without integration, packing and velocities, against the textbook loop's whole step.
fn work_alone(report: &mut Report, all: &[Contender<'_>], which: usize, integration: &Contender<'_>) {
    let (base, whole) = (all[0].nanoseconds(), &all[which]);
    let work = whole.seconds() - integration.seconds();
    report.line(&format!(
        "\n{}: constraint work alone {:.2} ns ({:.1}× the textbook loop); the whole step is {:.0} % above it.",
        whole.name,
        work / whole.items * 1e9,
        base / (work / whole.items * 1e9),
        100.0 * integration.seconds() / work
    ));
}

fn cloth(report: &mut Report, n: usize, rounds: usize) -> Vec<f64> {
    let body = curtain(n);
    let bare = bare(&body);
    let count = body.tables().distance.ids.len();
    let mut all = vec![
        textbook(Textbook::links(&body, &[0, n as u32 - 1]), count),
        xpbd("Scalar, indexed", &body, Rows, Scalar::new()),
        xpbd("`wide` lanes, indexed", &body, Rows, Simd::portable()),
        xpbd("AVX2, indexed", &body, Rows, Simd::new()),
        xpbd("Parallel (2 threads), indexed", &body, Rows, Parallel::with_threads(2)),
        xpbd("Scalar, contiguous", &body, Auto, Scalar::new()),
        xpbd("`wide` lanes, contiguous", &body, Auto, Simd::portable()),
        xpbd("AVX2, contiguous", &body, Auto, Simd::new()),
        xpbd("Parallel (2 threads), contiguous", &body, Auto, Parallel::with_threads(2)),
    ];
    let mut alone = [
        xpbd("integration alone, AVX2, rows", &bare, Rows, Simd::new()),
        xpbd("integration alone, AVX2, columns", &bare, Auto, Simd::new()),
    ];
    for _ in 0..rounds {
        race(&mut all, 1);
        race(&mut alone, 1);
    }
    table(report, &format!("Cloth {n} × {n}, {count} constraints, whole steps of {SUBSTEPS} × 1"), &all);
    work_alone(report, &all, 3, &alone[0]);
    work_alone(report, &all, 7, &alone[1]);
    report.line(&format!(
        "\nTwo threads against AVX2: indexed {:.2}×, contiguous {:.2}×.",
        all[3].seconds() / all[4].seconds(),
        all[7].seconds() / all[8].seconds()
    ));
    all.iter().map(Contender::nanoseconds).collect()
}

fn unstructured(report: &mut Report, rounds: usize) {
    let mesh = shuffled_sheet(100, 1.0, 7).expect("a valid sheet");
    let sheet = Body::surface(&mesh, Bending::CrossLinks).expect("a manifold mesh").with_mass(0.2).pinned([0, 1]);
    let grid = curtain(100);
    let count = sheet.tables().distance.ids.len();
    let mut all = [
        textbook(Textbook::links(&sheet, &[0, 1]), count),
        xpbd("AVX2, shuffled sheet", &sheet, Auto, Simd::new()),
        xpbd("AVX2, grid, indexed", &grid, Rows, Simd::new()),
    ];
    race(&mut all, rounds);
    table(report, &format!("Shuffled triangle mesh, 10,000 vertices, {count} links"), &all);
    let ratio = all[1].nanoseconds() / all[2].nanoseconds();
    report.line(&format!("\nThe shuffled mesh costs {ratio:.2} × the grid's indexed figure."));
}

fn solids(report: &mut Report, rounds: usize) {
    let mesh = tet_box([20, 10, 10], [2.0, 1.0, 1.0], Split::Five).expect("a valid box");
    let mut tets = Body::solid(&mesh).expect("a valid solid");
    tets.tables_mut().distance = Default::default();
    let count = tets.tables().tet_volume.ids.len();
    let mut all = [
        textbook(Textbook::tets(&tets), count),
        xpbd("Scalar", &tets, Auto, Scalar::new()),
        xpbd("`wide` lanes", &tets, Auto, Simd::portable()),
        xpbd("AVX2", &tets, Auto, Simd::new()),
    ];
    let mut alone = [xpbd("integration alone", &bare(&tets), Auto, Simd::new())];
    for _ in 0..rounds {
        race(&mut all, 1);
        race(&mut alone, 1);
    }
    table(report, &format!("Tet volume, {count} tets"), &all);
    work_alone(report, &all, 3, &alone[0]);

    let grid = ClothGrid::square(1.0, 100).build().expect("a valid grid");
    let mut sheet = Body::surface(&grid.mesh, Bending::Dihedral).expect("a manifold mesh").pinned([0, 99]);
    // Hinges alone, soft, gently waved and weightless: nothing else would hold the sheet together.
    sheet.tables_mut().distance = Default::default();
    sheet = sheet
        .with_compliance(Role::Bend, 10.0)
        .posed(|[x, y, z]| [x, y + 0.001 * (40.0 * x).sin() * (30.0 * z).cos(), z]);
    let count = sheet.tables().dihedral.ids.len();
    let mut all = [
        textbook(Textbook::hinges(&sheet, &[0, 99]), count),
        xpbd("Scalar", &sheet, Auto, Scalar::new()),
        xpbd("`wide` lanes", &sheet, Auto, Simd::portable()),
        xpbd("AVX2", &sheet, Auto, Simd::new()),
    ];
    let mut alone = [xpbd("integration alone", &bare(&sheet), Auto, Simd::new())];
    for _ in 0..rounds {
        race(&mut all, 1);
        race(&mut alone, 1);
    }
    table(report, &format!("Dihedral bending, {count} hinges"), &all);
    work_alone(report, &all, 3, &alone[0]);
}

fn main() {
    let mut report = Report::new("speed", "Speed");
    let mut by_size = Vec::new();
    for (n, rounds) in [(32, 200), (100, 40), (200, 15), (316, 8)] {
        by_size.push((n, cloth(&mut report, n, rounds)));
    }
    let growth = |i: usize| by_size[3].1[i] / by_size[1].1[i];
    report.line(&format!(
        "\nLinear cost, N = 316 against N = 100: AVX2 indexed {:.2}, AVX2 contiguous {:.2}.",
        growth(3),
        growth(7)
    ));
    unstructured(&mut report, 40);
    solids(&mut report, 40);
    report.save();
}
