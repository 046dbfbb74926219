//! `analytic_expected.json`: figures that others computed for scenes the checks here know, section by section.

use std::path::Path;

use serde_json::Value;

use super::analytic::{free_falls, hanging_chain, line, oscillators};
use super::{Check, Verdict, rigid, slopes};
use crate::failure::Failure;
use crate::scene::tables::read_text;

/// Every section of the file: checked here, known to be checked elsewhere, or unknown.
pub fn sections(path: &Path) -> Result<Vec<Check>, Failure> {
    let problem = |error| Failure::at(path, format!("is no JSON: {error}"));
    let document: Value = serde_json::from_str(&read_text(path)?).map_err(problem)?;
    let sections = document.as_object().ok_or_else(|| Failure::at(path, "holds no sections"))?;
    let mut checks = Vec::new();
    for (name, section) in sections {
        match section_checks(name, section) {
            Ok(found) => checks.extend(found),
            Err(failure) => {
                checks.push(Check { name: name.clone(), verdict: Verdict::Broken(failure.to_string()) });
            }
        }
    }
    Ok(checks)
}

fn section_checks(name: &str, section: &Value) -> Result<Vec<Check>, Failure> {
    let given = |known: &[(&str, f64)]| known.iter().try_for_each(|&(key, value)| must_be(section, key, value));
    let number = |key: &str| number(section.get(key), key);
    let skipped = |reason| Ok(vec![Check { name: name.to_owned(), verdict: Verdict::Skipped(reason) }]);
    match name.split(['(', '_']).next().unwrap_or(name) {
        "osc" => {
            given(&[("m", 1.0), ("k", 100.0), ("dt", 0.01)])?;
            Ok(oscillators(number("BE_energy_ratio_100")?))
        }
        "freefall" => Ok(free_falls(number("symplectic_or_implicit_Euler")?)),
        "hang" => {
            given(&[("N", 10.0), ("m", 0.1), ("k", 1000.0), ("g", 9.81)])?;
            Ok(vec![line("hanging chain", hanging_chain(number("total")?))])
        }
        "incline" => {
            given(&[("theta_deg", 30.0)])?;
            // Just above the friction that holds.
            let (acceleration, sticking) = (number("a_mu0p3")?, 1.005 * number("mu_crit")?);
            let mut checks = slopes::inclines(acceleration, sticking);
            checks.extend(rigid::inclines(acceleration, sticking));
            Ok(checks)
        }
        "bounce" => {
            given(&[("h0", 1.0), ("e", 0.8)])?;
            let heights = numbers(section, "heights")?;
            let &[_, first, second, third] = heights.as_slice() else {
                return Err(Failure::Input(format!("`heights` has {} numbers instead of 4", heights.len())));
            };
            let mut checks = slopes::bounces([first, second, third]);
            checks.push(rigid::bounces([first, second, third]));
            Ok(checks)
        }
        "dzhanibekov" => {
            let figure = rigid::flips(&numbers(section, "first_flips_t")?)?;
            Ok(vec![Check::measured("dzhanibekov, times of flips", figure, 0.01)])
        }
        "stickslip" => skipped("stickslip_curve.csv has it in more detail"),
        "heavy" => skipped("checked by tests/methods/cantilever.rs"),
        "catenary" | "pendulum" => skipped("checked by tests/engine/physics_analytic.rs"),
        _ => skipped("no check here knows this section"),
    }
}

/// The scenes here are built for one set of numbers.
fn must_be(section: &Value, key: &str, known: f64) -> Result<(), Failure> {
    let found = number(section.get(key), key)?;
    if (found - known).abs() <= 1e-12 * known {
        return Ok(());
    }
    Err(Failure::Input(format!("`{key}` is {found}: only {known} is known here")))
}

fn number(value: Option<&Value>, key: &str) -> Result<f64, Failure> {
    value.and_then(Value::as_f64).ok_or_else(|| Failure::Input(format!("`{key}` is missing or no number")))
}

fn numbers(section: &Value, key: &str) -> Result<Vec<f64>, Failure> {
    let list = section.get(key).and_then(Value::as_array);
    let list = list.ok_or_else(|| Failure::Input(format!("`{key}` is missing or no list")))?;
    list.iter().map(|value| number(Some(value), key)).collect()
}
