//! Schedules of random constraint graphs keep their promises: see [`crate::stencils::check`].

use pliant_core::lane::BLOCK;
use pliant_core::schedule::{Addresses, Graph, Lattice, LayoutChoice, Plan, PlanInput, Stencil};

use crate::input::Input;

/// A random plan and constraints of two, three and four particles on it.
pub fn target(data: &[u8]) {
    let mut input = Input::new(data);
    let (columns, rows) = (1 + input.below(20), 1 + input.below(20));
    let lattice = input.byte().is_multiple_of(2);
    let count = if lattice { columns * rows } else { 1 + input.below(255) };
    let pinned: Vec<u32> = (0..input.below(4)).map(|_| input.below(count) as u32).collect();
    let layout = if input.byte().is_multiple_of(2) { LayoutChoice::Auto } else { LayoutChoice::Rows };
    let (mut pairs, mut triples, mut quads) = (Vec::new(), Vec::new(), Vec::new());
    let mut classes = [Vec::new(), Vec::new(), Vec::new()];
    while !input.is_empty() {
        let class = input.byte();
        let mut near = || (input.word() as usize % count) as u32;
        match class % 4 {
            0 | 1 => push(&mut pairs, &mut classes[0], [near(), near()], class),
            2 => push(&mut triples, &mut classes[1], [near(), near(), near()], class),
            _ => push(&mut quads, &mut classes[2], [near(), near(), near(), near()], class),
        }
    }
    let elements = (pairs.iter().map(|e| e.as_slice()))
        .chain(triples.iter().map(|e| e.as_slice()))
        .chain(quads.iter().map(|e| e.as_slice()));
    let graph = Graph::from_elements(count, elements);
    let lattices = [Lattice { first: 0, columns: columns as u32, rows: rows as u32 }];
    let lattices = if lattice { &lattices[..] } else { &[] };
    let plan = Plan::new(PlanInput { graph: &graph, pinned: &pinned, links: &graph, lattices, layout });
    let mut used = vec![false; plan.slot_count()];
    assert_eq!(plan.slots().len(), count);
    for &slot in plan.slots() {
        assert!(!std::mem::replace(&mut used[slot as usize], true), "slot {slot} is taken twice");
    }
    check(&plan, &Stencil::new(&plan, &pairs, &classes[0]), &pairs);
    check(&plan, &Stencil::new(&plan, &triples, &classes[1]), &triples);
    check(&plan, &Stencil::new(&plan, &quads, &classes[2]), &quads);
}

fn push<const N: usize>(rows: &mut Vec<[u32; N]>, classes: &mut Vec<u8>, ids: [u32; N], class: u8) {
    if (0..N).all(|i| (0..i).all(|j| ids[i] != ids[j])) {
        rows.push(ids);
        classes.push(class);
    }
}

/// Every constraint stands once, at the addresses of its particles; the lanes of a block share no particle, nor do the tasks of
/// a phase; tasks and phases cover everything in order.
///
/// # Panics
/// When one of these does not hold.
pub fn check<const N: usize>(plan: &Plan, stencil: &Stencil<N>, ids: &[[u32; N]]) {
    assert_eq!(stencil.len(), ids.len());
    let mut task_of = vec![usize::MAX; stencil.block_count()];
    let mut next = 0;
    for (task, blocks) in stencil.tasks().iter().enumerate() {
        assert!(blocks.start == next && blocks.end > blocks.start, "tasks are consecutive");
        task_of[blocks.clone()].fill(task);
        next = blocks.end;
    }
    assert_eq!(next, stencil.block_count(), "tasks cover every block");
    let mut phase_of = vec![usize::MAX; stencil.tasks().len()];
    let mut next = 0;
    for (phase, tasks) in stencil.phases().iter().enumerate() {
        assert!(tasks.start == next && tasks.end > tasks.start, "phases are consecutive");
        phase_of[tasks.clone()].fill(phase);
        next = tasks.end;
    }
    assert_eq!(next, stencil.tasks().len(), "phases cover every task");

    let stride = if plan.layout() == pliant_core::field::Layout::Rows { 4 } else { 1 };
    let mut seats = vec![false; stencil.block_count() * BLOCK];
    // Who touched a slot last, by block, and in each phase by task.
    let mut touched = vec![Vec::new(); plan.slot_count()];
    for (row, particles) in ids.iter().enumerate() {
        let (block, lane) = stencil.place(row);
        assert!(!std::mem::replace(&mut seats[block * BLOCK + lane], true), "a lane is taken twice");
        for (corner, &particle) in particles.iter().enumerate() {
            let slot = plan.slots()[particle as usize];
            match stencil.addresses() {
                Addresses::Indexed(blocks) => assert_eq!(blocks[block][corner][lane], slot * stride),
                Addresses::Contiguous(blocks) => assert_eq!(blocks[block][corner] + lane as u32, slot),
            }
            touched[slot as usize].push(block);
        }
    }
    for blocks in &mut touched {
        blocks.sort_unstable();
        assert!(blocks.windows(2).all(|pair| pair[0] != pair[1]), "two lanes of a block share a particle");
        for pair in blocks.windows(2) {
            let [a, b] = [task_of[pair[0]], task_of[pair[1]]];
            assert!(a == b || phase_of[a] != phase_of[b], "two tasks of a phase share a particle");
        }
    }
}
