//! A team of threads for fork–joins that last microseconds.
//!
//! A step forks and joins several times a substep, often for less than twenty microseconds of work. Entering a rayon pool
//! from outside costs about 11 µs and allocates now and then; a team member that is still spinning picks up work in well
//! under one, and nothing is ever allocated. Idle members go to sleep after a bounded spin, so an idle world costs nothing.
//!
//! The protocol is one atomic ticket, `generation | count | next`. Whoever swaps `next` forward owns that task. The caller
//! takes tasks like everybody else, so a member that never wakes up delays nobody.
//!
//! # Why it is sound
//! Written down instead of explored by a model checker; Miri and the thread sanitizer run the tests.
//!
//! 1. *A task runs once.* The ticket is one word: a swap succeeds only on the very value that was read, so two threads never
//!    take the same `next`. A value comes back only when the 32 bits of the generation have gone round, and even then it
//!    names a task that is open now: taking it is right.
//! 2. *A job is seen whole.* The caller writes `job` and resets `finished`, then stores the ticket (at least release). Whoever
//!    takes a task has swapped that ticket or one made of it by swaps (acquire, and swaps carry a release on): the write
//!    happened before the read. A member that reads an older ticket finds `next ≥ count` there, or its swap fails.
//! 3. *A job outlives its tasks.* `fork_join` returns, or unwinds, only after `finished` has reached the count. Every task
//!    counts itself exactly once, in a destructor, panics included; between taking a task and counting it a thread keeps
//!    the count below the number of tasks, so the closure and what it borrows are still there when it is called.
//! 4. *What tasks wrote is seen.* Each count is a release and continues the sequence of those before it; the caller's acquire
//!    load of the last one is ordered after all of them.
//! 5. *Nobody oversleeps for ever.* A member announces itself in `sleeping` and then looks at the ticket; the caller stores the
//!    ticket and then looks at `sleeping`; all four are sequentially consistent, so one of both sees the other. The caller rings
//!    while it holds the door, which a sleeper gives up only inside `wait`: the bell is not rung into the gap before it.
//!    Should a member sleep on regardless, its tasks are taken by the caller: waking is a matter of speed alone.
//! 6. *One job at a time.* `caller` is locked for the whole fork–join. A task that forks on its own team would wait for itself:
//!    kernels do not know their backend, so none can.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Tasks one ticket can count.
const TICKET_TASKS: usize = 0xffff;
/// Looks at the ticket before a member yields: some tens of microseconds. (Under Miri a look is slow, and yields are what it
/// switches threads at.)
const SPINS: usize = if cfg!(miri) { 4 } else { 4000 };
/// Yields before a member goes to sleep.
const YIELDS: usize = 16;

/// What the members are asked to do; valid while tasks of its generation are open.
#[derive(Clone, Copy)]
struct Job {
    task: *const (dyn Fn(usize) + Sync),
}

struct Desk {
    /// Generation (32 bits), number of tasks (16 bits), next task (16 bits).
    ticket: AtomicU64,
    finished: AtomicUsize,
    panicked: AtomicBool,
    job: UnsafeCell<Option<Job>>,
    sleeping: AtomicUsize,
    door: Mutex<()>,
    bell: Condvar,
    closing: AtomicBool,
}

// SAFETY: `job` is written only by the caller that holds `Team::caller`, while no task of an earlier generation is open
// (it waited for all of them), and read only by a thread that owns an open task of the current generation. The ticket's
// release store and acquire swap order the write before the reads. The pointee is `Sync` and outlives its generation.
unsafe impl Sync for Desk {}
// SAFETY: as above.
unsafe impl Send for Desk {}

impl Desk {
    /// Takes the next open task, if there is one.
    fn claim(&self) -> Option<usize> {
        let mut ticket = self.ticket.load(Ordering::Acquire);
        loop {
            let (count, next) = ((ticket >> 16) & 0xffff, ticket & 0xffff);
            if next >= count {
                return None;
            }
            match self.ticket.compare_exchange_weak(ticket, ticket + 1, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(next as usize),
                Err(now) => ticket = now,
            }
        }
    }

    /// Carries out open tasks until none is left.
    fn work(&self) {
        while let Some(i) = self.claim() {
            /// Counts a task as finished even when it panics: the caller must not wait for ever.
            struct Finish<'a>(&'a Desk);
            impl Drop for Finish<'_> {
                fn drop(&mut self) {
                    if std::thread::panicking() {
                        self.0.panicked.store(true, Ordering::Relaxed);
                    }
                    self.0.finished.fetch_add(1, Ordering::Release);
                }
            }
            let _finish = Finish(self);
            // SAFETY: this thread owns task `i`, which is not finished: the caller waits, so the job is still in place.
            let task = unsafe { (*self.job.get()).map(|job| &*job.task) };
            if let Some(task) = task {
                task(i);
            }
        }
    }

    fn has_work(&self) -> bool {
        let ticket = self.ticket.load(Ordering::SeqCst);
        (ticket & 0xffff) < ((ticket >> 16) & 0xffff)
    }

    /// The life of a member: look, spin, yield, sleep.
    fn serve(&self) {
        loop {
            let mut patience = 0;
            while !self.has_work() {
                if self.closing.load(Ordering::Relaxed) {
                    return;
                }
                patience += 1;
                if patience < SPINS {
                    core::hint::spin_loop();
                } else if patience < SPINS + YIELDS {
                    std::thread::yield_now();
                } else {
                    self.sleep();
                    patience = 0;
                }
            }
            // The caller hears of a panic through `panicked`; the member stays for the next job.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.work()));
        }
    }

    fn sleep(&self) {
        let mut door = self.door.lock().unwrap_or_else(PoisonError::into_inner);
        self.sleeping.fetch_add(1, Ordering::SeqCst);
        // Either this look sees new work, or whoever publishes it sees the sleeper and rings.
        while !self.has_work() && !self.closing.load(Ordering::SeqCst) {
            door = self.bell.wait(door).unwrap_or_else(PoisonError::into_inner);
        }
        self.sleeping.fetch_sub(1, Ordering::SeqCst);
    }

    fn wake(&self) {
        if self.sleeping.load(Ordering::SeqCst) > 0 {
            let _door = self.door.lock().unwrap_or_else(PoisonError::into_inner);
            self.bell.notify_all();
        }
    }
}

struct Members {
    desk: Arc<Desk>,
    threads: Vec<JoinHandle<()>>,
    /// One fork–join at a time; a second caller waits its turn.
    caller: Mutex<()>,
}

impl Drop for Members {
    fn drop(&mut self) {
        self.desk.closing.store(true, Ordering::SeqCst);
        {
            let _door = self.desk.door.lock().unwrap_or_else(PoisonError::into_inner);
            self.desk.bell.notify_all();
        }
        for thread in self.threads.drain(..) {
            // A member that panicked has already been reported to its caller.
            let _ = thread.join();
        }
    }
}

/// Threads that wait for short fork–joins. Clones share the threads; the last one sends them home.
#[derive(Clone)]
pub(crate) struct Team(Arc<Members>);

impl core::fmt::Debug for Team {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Team({} threads)", self.threads())
    }
}

impl Team {
    /// A team of `threads`, the caller included.
    pub fn new(threads: usize) -> Self {
        let desk = Arc::new(Desk {
            ticket: AtomicU64::new(0),
            finished: AtomicUsize::new(0),
            panicked: AtomicBool::new(false),
            job: UnsafeCell::new(None),
            sleeping: AtomicUsize::new(0),
            door: Mutex::new(()),
            bell: Condvar::new(),
            closing: AtomicBool::new(false),
        });
        let threads = (1..threads.max(1))
            .filter_map(|i| {
                let desk = Arc::clone(&desk);
                // Without a thread its tasks are done by the others: slower, never wrong.
                std::thread::Builder::new().name(format!("pliant-{i}")).spawn(move || desk.serve()).ok()
            })
            .collect();
        Self(Arc::new(Members { desk, threads, caller: Mutex::new(()) }))
    }

    pub fn threads(&self) -> usize {
        self.0.threads.len() + 1
    }

    pub fn run(&self, count: usize, task: &(dyn Fn(usize) + Sync)) {
        if count <= 1 || self.0.threads.is_empty() {
            (0..count).for_each(task);
            return;
        }
        let _caller = self.0.caller.lock().unwrap_or_else(PoisonError::into_inner);
        let mut first = 0;
        while first < count {
            let share = (count - first).min(TICKET_TASKS);
            self.fork_join(share, &|i| task(first + i));
            first += share;
        }
    }

    fn fork_join(&self, count: usize, task: &(dyn Fn(usize) + Sync)) {
        let desk = &*self.0.desk;
        // SAFETY: the lifetime is erased, but `fork_join` does not return before every task is finished.
        let task: *const (dyn Fn(usize) + Sync) = unsafe { core::mem::transmute(core::ptr::from_ref(task)) };
        // SAFETY: the caller lock is held and every earlier task is finished, so nobody reads the job now.
        unsafe { *desk.job.get() = Some(Job { task }) };
        desk.finished.store(0, Ordering::Relaxed);
        let generation = (desk.ticket.load(Ordering::Relaxed) >> 32).wrapping_add(1) & 0xffff_ffff;
        desk.ticket.store(generation << 32 | (count as u64) << 16, Ordering::SeqCst);
        desk.wake();

        let work = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| desk.work()));
        let mut patience = 0;
        while desk.finished.load(Ordering::Acquire) < count {
            // After a panic of our own the remaining tasks must still be done before the job may go away.
            if work.is_err() {
                let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| desk.work()));
            }
            patience += 1;
            if patience < SPINS {
                core::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
        let panicked = desk.panicked.swap(false, Ordering::Relaxed);
        if let Err(panic) = work {
            std::panic::resume_unwind(panic);
        }
        assert!(!panicked, "a task of this fork–join panicked");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_runs_once_whatever_the_team() {
        for threads in [1, 2, 3, 8] {
            let team = Team::new(threads);
            for count in [0, 1, 2, 7, 100] {
                for _ in 0..if cfg!(miri) { 3 } else { 50 } {
                    let ran: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
                    team.run(count, &|i| {
                        ran[i].fetch_add(1, Ordering::Relaxed);
                    });
                    assert!(ran.iter().all(|n| n.load(Ordering::Relaxed) == 1), "{threads} threads, {count} tasks");
                }
            }
        }
    }

    #[test]
    fn more_tasks_than_a_ticket_counts() {
        // Miri takes seconds for as many as a ticket counts.
        let count = if cfg!(miri) { 100 } else { TICKET_TASKS + 30_000 };
        let sum = AtomicUsize::new(0);
        Team::new(2).run(count, &|i| {
            sum.fetch_add(i, Ordering::Relaxed);
        });
        assert_eq!(sum.into_inner(), count * (count - 1) / 2);
    }

    #[test]
    fn sleepers_wake_up_and_callers_take_turns() {
        let team = Team::new(3);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..if cfg!(miri) { 3 } else { 20 } {
                        let sum = AtomicUsize::new(0);
                        team.run(16, &|i| {
                            sum.fetch_add(i, Ordering::Relaxed);
                        });
                        assert_eq!(sum.into_inner(), 120);
                        std::thread::sleep(std::time::Duration::from_micros(200));
                    }
                });
            }
        });
    }

    #[test]
    fn a_panicking_task_reaches_the_caller_and_the_team_lives_on() {
        let team = Team::new(2);
        for guilty in [0, 9] {
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                team.run(10, &|i| assert!(i != guilty, "on purpose"));
            }));
            assert!(result.is_err());
            let done = AtomicUsize::new(0);
            team.run(10, &|_| {
                done.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(done.into_inner(), 10);
        }
    }
}
