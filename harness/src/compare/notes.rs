//! What a reader must know beside the figures: where a method did not solve the scene as it stands.

use super::row::Row;
use crate::registry::Harness;
use crate::soften::soften_scene;
use crate::solvers::Work;

/// Scenes on which a method ran with softer constraints than the others.
pub struct Softened {
    /// Scene, solver and how many rows of constraints were softened.
    found: Vec<(String, String, usize)>,
}

impl Softened {
    /// Whether a row is one of them.
    pub fn marks(&self, row: &Row) -> bool {
        row.is_ok() && self.found.iter().any(|(scene, solver, _)| *scene == row.scene && *solver == row.solver)
    }

    /// The solver's name, with a star if its row is one of them.
    pub fn name(softened: Option<&Self>, row: &Row) -> String {
        let star = if softened.is_some_and(|softened| softened.marks(row)) { "*" } else { "" };
        format!("{}{star}", row.solver)
    }

    /// The footnote.
    pub fn text(&self) -> String {
        let list: Vec<_> =
            self.found.iter().map(|(scene, solver, rows)| format!("{solver} on {scene} ({rows})")).collect();
        format!(
            "* these rows do not solve the scene as it stands: explicit methods and those that minimise run softened springs in place \
             of rigid constraints, all but those that minimise run springs along the edges of elastic elements, shape matching \
             runs overlapping clusters in place of everything, and methods without clusters run links; constraints replaced: {}",
            list.join(", ")
        )
    }
}

/// Finds them from the rows alone, so that merged results say the same; nothing when there is none.
pub fn softened(harness: &Harness, rows: &[Row]) -> Option<Softened> {
    let mut found: Vec<(String, String, usize)> = Vec::new();
    for row in rows.iter().filter(|row| row.is_ok()) {
        let known = found.iter().any(|(scene, solver, _)| *scene == row.scene && *solver == row.solver);
        let Ok(solver) = harness.solver(&row.solver) else { continue };
        if known {
            continue;
        }
        let Ok(mut scene) = harness.scene(&row.scene).and_then(|entry| Ok(entry.scene()?)) else { continue };
        let work = solver.effort(&scene, Work { substeps: row.substeps, iterations: row.iterations });
        let count = soften_scene(&mut scene, &solver, work);
        found.push((row.scene.clone(), row.solver.clone(), count));
    }
    found.retain(|(.., count)| *count > 0);
    (!found.is_empty()).then_some(Softened { found })
}
