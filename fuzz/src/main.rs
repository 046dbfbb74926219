//! The runner: mutates the seeds of a target, deterministically, until a count of executions or a time is reached.
//!
//! ```text
//!   pliant-fuzz TARGET|all [--executions N] [--minutes M] [--seed S]
//!   pliant-fuzz TARGET --input FILE
//! ```
//! An input that makes a target panic is saved beside the seeds' folder, in `findings/`, and the runner says how to repeat it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use pliant_fuzz::mutate::mutate;
use pliant_fuzz::random::Random;
use pliant_fuzz::{TARGETS, Target, find};

struct Arguments {
    targets: Vec<&'static Target>,
    executions: u64,
    limit: Option<Duration>,
    seed: u64,
    input: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments = match arguments(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(problem) => {
            let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
            eprintln!(
                "error: {problem}; usage: pliant-fuzz {}|all [--executions N] [--minutes M] [--seed S] [--input FILE]",
                names.join("|")
            );
            return ExitCode::from(2);
        }
    };
    if let Some(file) = &arguments.input {
        return match std::fs::read(file) {
            Ok(data) => {
                arguments.targets.iter().for_each(|target| (target.run)(&data));
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprintln!("error: {}: {error}", file.display());
                ExitCode::from(2)
            }
        };
    }
    let mut broken = false;
    for target in &arguments.targets {
        broken |= !fuzz(target, &arguments);
    }
    if broken { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn arguments(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let name = words.next().ok_or("no target")?;
    let targets = match name.as_str() {
        "all" => TARGETS.iter().collect(),
        name => vec![find(name).ok_or_else(|| format!("unknown target `{name}`"))?],
    };
    let mut arguments = Arguments { targets, executions: 100_000, limit: None, seed: 1, input: None };
    while let Some(option) = words.next() {
        let value = words.next().ok_or_else(|| format!("{option} needs a value"))?;
        let bad = |_| format!("{option} is `{value}`");
        match option.as_str() {
            "--executions" => arguments.executions = value.parse().map_err(|_| format!("{option} is `{value}`"))?,
            "--seed" => arguments.seed = value.parse().map_err(|_| format!("{option} is `{value}`"))?,
            "--minutes" => {
                let minutes: f64 = value.parse().map_err(|_| format!("{option} is `{value}`"))?;
                arguments.limit = Some(Duration::try_from_secs_f64(60.0 * minutes).map_err(bad)?);
            }
            "--input" => arguments.input = Some(value.into()),
            _ => return Err(format!("unknown option `{option}`")),
        }
    }
    Ok(arguments)
}

/// Runs one target; returns whether it kept its promise.
fn fuzz(target: &Target, arguments: &Arguments) -> bool {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let seeds = seeds(&root.join("seeds").join(target.name));
    let mut random = Random::new(arguments.seed);
    let (started, mut last) = (Instant::now(), Instant::now());
    let mut slowest = Duration::ZERO;
    for execution in 0..arguments.executions {
        let mut data = seeds[random.below(seeds.len())].clone();
        let other = &seeds[random.below(seeds.len())];
        // The seeds themselves first.
        match seeds.get(execution as usize) {
            Some(seed) => data.clone_from(seed),
            None => mutate(&mut data, other, &mut random),
        }
        let begun = Instant::now();
        if catch_unwind(AssertUnwindSafe(|| (target.run)(&data))).is_err() {
            let folder = root.join("findings");
            let file = folder.join(format!("{}-{}-{execution}", target.name, arguments.seed));
            let saved = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&file, &data));
            let name = saved.map_or_else(|error| format!("(not saved: {error})"), |()| file.display().to_string());
            eprintln!(
                "{}: execution {execution} panicked; repeat with `pliant-fuzz {} --input {name}`",
                target.name, target.name
            );
            return false;
        }
        slowest = slowest.max(begun.elapsed());
        if last.elapsed() > Duration::from_secs(30) {
            last = Instant::now();
            eprintln!("{}: {execution} executions in {:.0} s", target.name, started.elapsed().as_secs_f64());
        }
        if arguments.limit.is_some_and(|limit| started.elapsed() >= limit) {
            report(target, execution + 1, started, slowest);
            return true;
        }
    }
    report(target, arguments.executions, started, slowest);
    true
}

fn report(target: &Target, executions: u64, started: Instant, slowest: Duration) {
    let (seconds, slowest) = (started.elapsed().as_secs_f64(), 1e3 * slowest.as_secs_f64());
    println!(
        "{}: {executions} executions in {seconds:.0} s, the slowest took {slowest:.1} ms, no findings",
        target.name
    );
}

/// The inputs of a folder, by name; one that is empty where there is none.
fn seeds(folder: &Path) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.sort();
    let mut seeds: Vec<Vec<u8>> = files.iter().filter_map(|file| std::fs::read(file).ok()).collect();
    seeds.push(Vec::new());
    seeds
}
