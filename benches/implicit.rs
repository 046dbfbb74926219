//! Projective Dynamics on the cloth of all comparisons: the local step against a scalar scatter loop, and a whole iteration
//! against its parts.
//!
//! `cargo bench --bench implicit --features projective` prints the table and writes `benches/results/implicit.md`.

mod support;

use pliant::backends::{Parallel, Simd};
use pliant::core::backend::{Around, Backend};
use pliant::core::body::Role;
use pliant::core::energies::spring;
use pliant::core::field::Field;
use pliant::core::lane::{BLOCK, Lane, Octet};
use pliant::core::model::Model;
use pliant::core::schedule::{LayoutChoice, Neighbours};
use pliant::core::solver::Solver;
use pliant::core::vec3::Vec3;
use pliant::solvers::linear::{Cholesky, Ordering, Pattern, Tiles};
use pliant::{Projective, ProjectiveOptions};
use support::report::Report;
use support::timing::{Contender, race};
use support::{FRAME, curtain};

const SIDE: usize = 100;
const STIFFNESS: f32 = 1e3;

/// The gradient of a spring, as Projective Dynamics sums it.
struct Pull;

impl Around<2> for Pull {
    type Scalar = f32;
    #[inline(always)]
    fn pull<L: Lane<Scalar = f32>>(&self, p: &[L; 2], d: Vec3<L>) -> Vec3<L> {
        spring::gradient(p[1], p[0], d)
    }
}

fn local<'a, B: Backend<Scalar = f32>>(name: &str, layout: LayoutChoice, on: &'a B) -> Contender<'a> {
    let body = curtain(SIDE);
    let (model, particles) = Model::<f32>::build_with(&[&body], layout).expect("a valid body");
    let links = &model.constraints().distance;
    let neighbours = Neighbours::new(model.plan(), links.ids());
    let mut parameters = vec![Octet([0.0; BLOCK]); 2 * neighbours.item_count()];
    neighbours.scatter(|c| 0.99 * links.parameters()[0][c], &mut parameters, 0, 2);
    neighbours.scatter(|_| STIFFNESS, &mut parameters, 1, 2);
    let (mut x, mut to) = (Field::zeros(model.plan()), Field::zeros(model.plan()));
    x.pack(model.plan(), &particles.x);
    Contender::new(name, links.len() as f64, move || {
        to.clear();
        on.surround(&Pull, &neighbours, &parameters, &x, &mut to);
        std::hint::black_box(&to);
    })
}

fn scatter<'a>() -> Contender<'a> {
    let body = curtain(SIDE);
    let table = &body.tables().distance;
    let springs: Vec<([u32; 2], f32)> =
        table.ids.iter().zip(&table.parameters).map(|(&ids, p)| (ids, 0.99 * p[0] as f32)).collect();
    let x: Vec<[f32; 3]> = body.positions().iter().map(|p| p.map(|c| c as f32)).collect();
    let mut force = vec![[0.0_f32; 3]; x.len()];
    Contender::new("scalar scatter loop", springs.len() as f64, move || {
        force.fill([0.0; 3]);
        for &([i, j], rest) in &springs {
            let (a, b) = (x[i as usize], x[j as usize]);
            let d = [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
            let length = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
            let s = STIFFNESS * (length - rest) / length;
            for k in 0..3 {
                force[i as usize][k] += s * d[k];
                force[j as usize][k] -= s * d[k];
            }
        }
        std::hint::black_box(&force);
    })
}

fn solve<'a, B: Backend<Scalar = f32>>(name: &str, on: &'a B) -> Contender<'a> {
    let body = curtain(SIDE);
    let n = body.particle_count();
    let table = &body.tables().distance;
    let pattern = Pattern::new(n, table.ids.iter(), Ordering::Amd);
    let mut values = vec![0.0_f32; pattern.entry_count()];
    for (node, m) in body.masses().iter().enumerate() {
        values[pattern.diagonal(node as u32)] += *m as f32 / (FRAME * FRAME);
    }
    for &[i, j] in &table.ids {
        values[pattern.diagonal(i)] += STIFFNESS;
        values[pattern.diagonal(j)] += STIFFNESS;
        values[pattern.slot(i, j).expect("a pair of the pattern").0] -= STIFFNESS;
    }
    let mut factor = Cholesky::<f32>::new(&pattern, 1).expect("a supported block");
    factor.factor(&values, on).expect("positive definite");
    let mut tiles = Tiles::new(&factor, on).expect("blocks of one");
    let mut right = vec![1.0_f32; 3 * n];
    Contender::new(name, 1.0, move || {
        right.fill(1.0);
        tiles.solve(&mut right, on).expect("lengths fit");
        std::hint::black_box(&right);
    })
}

fn step<'a, B: Backend<Scalar = f32>>(name: &str, iterations: usize, layout: LayoutChoice, on: &'a B) -> Contender<'a> {
    let soft = 1.0 / f64::from(STIFFNESS);
    let body = curtain(SIDE).with_compliance(Role::Stretch, soft).with_compliance(Role::Shear, soft);
    let (mut model, start) =
        Model::<f32>::build_with(&[&body.with_compliance(Role::Bend, soft)], layout).expect("a body");
    model.environment.gravity = [0.0, -9.81, 0.0];
    let mut solver = Projective::<f32>::new(ProjectiveOptions { iterations, ..ProjectiveOptions::default() });
    Solver::<B>::prepare(&mut solver, &model).expect("springs");
    let mut particles = start.clone();
    Contender::new(name, 1.0, move || {
        particles.clone_from(&start);
        solver.step(&model, &mut particles, FRAME, on).expect("a step");
    })
}

fn main() {
    let (simd, parallel) = (Simd::<f32>::new(), Parallel::<f32>::with_threads(2));
    let mut report = Report::new("implicit", &format!("Projective Dynamics, {SIDE} × {SIDE} cloth, f32"));
    let mut contenders = [
        scatter(),
        local("local step, AVX2, rows", LayoutChoice::Rows, &simd),
        local("local step, AVX2, grid", LayoutChoice::Auto, &simd),
        local("local step, 2 threads, grid", LayoutChoice::Auto, &parallel),
        solve("solve, AVX2", &simd),
        solve("solve, 2 threads", &parallel),
        step("10 iterations, AVX2, rows", 10, LayoutChoice::Rows, &simd),
        step("30 iterations, AVX2, rows", 30, LayoutChoice::Rows, &simd),
        step("10 iterations, AVX2, grid", 10, LayoutChoice::Auto, &simd),
        step("30 iterations, AVX2, grid", 30, LayoutChoice::Auto, &simd),
    ];
    race(&mut contenders, 60);
    let us = |i: usize| 1e6 * contenders[i].seconds();
    report.line("| local step | µs | ns a spring | times the scatter loop |");
    report.line("| --- | --- | --- | --- |");
    for i in 0..4 {
        let c = &contenders[i];
        report.line(&format!("| {} | {:.0} | {:.2} | {:.1} |", c.name, us(i), c.nanoseconds(), us(0) / us(i)));
    }
    report.line("\n| whole iteration | µs | local step + solve, µs | ratio |");
    report.line("| --- | --- | --- | --- |");
    for (name, ten, thirty, local) in [("rows", 6, 7, 1), ("grid", 8, 9, 2)] {
        let (iteration, parts) = ((us(thirty) - us(ten)) / 20.0, us(local) + us(4));
        report.line(&format!("| {name} | {iteration:.0} | {parts:.0} | {:.2} |", iteration / parts));
    }
    report.line(&format!("\nSolve alone: {:.0} µs on one thread, {:.0} µs on two.", us(4), us(5)));
    report.save();
}
