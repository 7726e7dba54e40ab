//! The order of trials: repeats in blocks, random within each, servers side by side.
//!
//! A block has every treatment once (a randomised complete block design: Montgomery, *Design and Analysis of
//! Experiments*, chapter 4). Treatments that differ in the server alone form a *cell* and run one after
//! another, so that a machine that warms up or gets a noisy neighbour treats all servers of a comparison
//! alike. Which server goes first rotates: within a block A B, B A, A B ..., so that a steady drift cancels
//! (Percona 2014 interleaves runs for the same reason), and a cell that began with A in one block begins with
//! B in the next.

use super::{Treatment, Trial, seed::derive};
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng, SeedableRng},
};

/// Every trial in the order of execution.
pub(super) fn trials(treatments: &[Treatment], repeats: u32, seed: u64) -> Vec<Trial> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut cells = cells(treatments);
    let rotations = cells.iter().map(Vec::len).max().unwrap_or(1);
    shuffle(&mut cells, &mut random);
    let mut trials = Vec::with_capacity(treatments.len() * repeats as usize);
    for block in 0..repeats {
        for (cell, rotation) in block_order(cells.len(), rotations, block as usize, &mut random) {
            let members = &cells[cell];
            // Servers of one cell and block get the same load, so that the draw of the seed is no difference
            // of theirs.
            let seed = derive(seed, u64::from(block), members[0] as u64);
            for place in 0..members.len() {
                let treatment = members[(place + rotation) % members.len()];
                let number = u32::try_from(trials.len()).expect("a study has a bounded number of trials");
                trials.push(Trial { number, treatment, block, seed, again_of: None });
            }
        }
    }
    trials
}

/// Treatments grouped by everything but the server, each group in the study's order.
fn cells(treatments: &[Treatment]) -> Vec<Vec<usize>> {
    let mut cells: Vec<Vec<usize>> = Vec::new();
    for (index, treatment) in treatments.iter().enumerate() {
        let alike = |cell: &&mut Vec<usize>| {
            let first = &treatments[cell[0]];
            let taken = cell.iter().any(|&other| treatments[other].server == treatment.server);
            first.is_like(treatment) && !taken
        };
        match cells.iter_mut().find(alike) {
            Some(cell) => cell.push(index),
            None => cells.push(vec![index]),
        }
    }
    cells
}

/// Cells of a block in their order, each with the rotation of its servers. Cell `c` has rotation `c + block`;
/// the order is random among cells of one rotation, and rotations take turns.
fn block_order(
    cells: usize,
    rotations: usize,
    block: usize,
    random: &mut Xoshiro256PlusPlus,
) -> Vec<(usize, usize)> {
    let mut by_rotation: Vec<Vec<usize>> = vec![Vec::new(); rotations];
    for cell in 0..cells {
        by_rotation[(cell + block) % rotations].push(cell);
    }
    for group in &mut by_rotation {
        shuffle(group, random);
    }
    // The rotation of cell 0 never has fewer cells than another: beginning with it, no turn falls out.
    (0..cells)
        .map(|place| {
            let rotation = (place + block) % rotations;
            let cell = by_rotation[rotation].pop().expect("rotations take turns and so do cells");
            (cell, rotation)
        })
        .collect()
}

/// Fisher and Yates.
fn shuffle<T>(items: &mut [T], random: &mut Xoshiro256PlusPlus) {
    for last in (1..items.len()).rev() {
        let chosen = random.next_u64() % (last as u64 + 1);
        items.swap(last, usize::try_from(chosen).expect("not above an index"));
    }
}
