//! Interleaved minima: every contender runs once a round, so that a busy neighbour slows all of them alike.

use std::time::Instant;

/// Something to be timed.
pub struct Contender<'a> {
    pub name: String,
    run: Box<dyn FnMut() + 'a>,
    /// Work items a run: constraint projections.
    pub items: f64,
    best: f64,
}

impl<'a> Contender<'a> {
    pub fn new(name: impl Into<String>, items: f64, run: impl FnMut() + 'a) -> Self {
        Self { name: name.into(), run: Box::new(run), items, best: f64::INFINITY }
    }
    /// Fastest run \[s\].
    pub fn seconds(&self) -> f64 {
        self.best
    }
    /// Fastest run a work item \[ns\].
    pub fn nanoseconds(&self) -> f64 {
        self.best / self.items * 1e9
    }
}

/// Runs all contenders in turn for so many rounds.
pub fn race(contenders: &mut [Contender<'_>], rounds: usize) {
    for _ in 0..rounds {
        for contender in contenders.iter_mut() {
            let start = Instant::now();
            (contender.run)();
            contender.best = contender.best.min(start.elapsed().as_secs_f64());
        }
    }
}
