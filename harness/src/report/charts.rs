//! Charts as SVG text.

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::compare::Row;
use crate::study::{Measure, StudyRow};

const SIZE: (u32, u32) = (1100, 420);
/// Backends in the order they are drawn, each with its colour.
const BACKENDS: [(&str, RGBColor); 4] = [
    ("scalar", RGBColor(0x9a, 0xa5, 0xb1)),
    ("simd-portable", RGBColor(0x5b, 0x9b, 0xd5)),
    ("simd", RGBColor(0x1f, 0x5f, 0xa8)),
    ("parallel", RGBColor(0xd9, 0x5f, 0x3b)),
];
const TEXTBOOK: RGBColor = RGBColor(0x2b, 0x2b, 0x2b);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// Names and colours of what was drawn.
type Drawn = Result<Vec<(String, RGBColor)>, Box<dyn std::error::Error>>;

/// A chart and what stands around it.
pub struct Chart {
    pub title: String,
    pub note: String,
    /// Names and colours (`#rrggbb`), set above the drawing, where they cannot cover it.
    pub legend: Vec<(String, String)>,
    pub svg: String,
}

/// Every chart the rows have data for.
pub fn all(rows: &[Row]) -> Vec<Chart> {
    let rows: Vec<&Row> =
        rows.iter().filter(|row| row.is_ok() && row.solver == "xpbd-colored" || row.solver == "textbook").collect();
    let mut charts = Vec::new();
    if rows.iter().any(|row| row.solver == "xpbd-colored" && row.speedup_vs_scalar.is_some()) {
        let note = "xpbd-colored, same work and same bits; higher is better.";
        charts.extend(chart("Speed-up over the scalar backend", note, SIZE, &|area| speedups(area, &rows)));
    }
    let curtains: Vec<&Row> = rows.iter().filter(|row| row.scene.starts_with("curtain-")).copied().collect();
    if curtains.iter().any(|row| row.scene != curtains[0].scene) {
        let note = "The curtains, xpbd-colored and the textbook loop; lower is better.";
        charts.extend(chart("Time a projection against size", note, SIZE, &|area| sizes(area, &curtains)));
    }
    charts
}

/// A chart; nothing when it cannot be drawn: the table has its figures.
fn chart(title: &str, note: &str, size: (u32, u32), draw: &dyn Fn(&Area<'_>) -> Drawn) -> Option<Chart> {
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
    let drawn = draw(&area).ok().filter(|_| area.present().is_ok());
    drop(area);
    let colour = |RGBColor(r, g, b)| format!("#{r:02x}{g:02x}{b:02x}");
    let legend = drawn?.into_iter().map(|(name, rgb)| (name, colour(rgb))).collect();
    Some(Chart { title: title.to_owned(), note: note.to_owned(), legend, svg })
}

/// Colours of methods, in the order they appear.
const METHODS: [RGBColor; 9] = [
    RGBColor(0x9a, 0xa5, 0xb1),
    RGBColor(0x5b, 0x9b, 0xd5),
    RGBColor(0x1f, 0x5f, 0xa8),
    RGBColor(0xb0, 0x8a, 0xd0),
    RGBColor(0x6f, 0x3f, 0xa0),
    RGBColor(0xe0, 0xa8, 0x30),
    RGBColor(0xd9, 0x5f, 0x3b),
    RGBColor(0xa0, 0x2c, 0x2c),
    RGBColor(0x2e, 0x8b, 0x57),
];

/// What is smaller is drawn as this: nobody needs it, and rounding hides it soon after.
const FLOOR: f64 = 1e-10;

/// Work against precision on one scene: a line a method, every rung a dot. `methods` are all of the study, so that a method
/// has one colour on every scene.
pub fn precision(title: &str, note: &str, measure: Measure, methods: &[&str], rows: &[&StudyRow]) -> Option<Chart> {
    chart(title, note, (1100, 460), &|area| {
        let series = methods.iter().zip(METHODS.into_iter().cycle()).map(|(&method, colour)| {
            let of = rows.iter().filter(|row| row.method == method);
            let points = of.filter_map(|row| Some((row.ms_per_step_min?, (measure.of)(row)?.max(FLOOR))));
            (method.to_owned(), colour, points.collect::<Vec<_>>())
        });
        lines(area, series.collect(), ("ms a step (log)", measure.axis), &short)
    })
}

/// A number on a logarithmic axis.
fn short(value: f64) -> String {
    if (0.0099..9_999.0).contains(&value) { format!("{}", (1e3 * value).round() / 1e3) } else { format!("{value:.0e}") }
}

pub fn first_seen<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    items.fold(Vec::new(), |mut seen, item| {
        if !seen.contains(&item) {
            seen.push(item);
        }
        seen
    })
}

fn speedups(area: &Area<'_>, rows: &[&Row]) -> Drawn {
    let rows: Vec<_> =
        rows.iter().filter(|row| row.solver == "xpbd-colored" && row.speedup_vs_scalar.is_some()).collect();
    let groups = first_seen(rows.iter().map(|row| (row.scene.as_str(), row.precision.as_str())));
    let one_precision = groups.iter().all(|group| group.1 == groups[0].1);
    let top = rows.iter().filter_map(|row| row.speedup_vs_scalar).fold(1.0, f64::max) * 1.12;
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .x_label_area_size(34)
        .y_label_area_size(52)
        .build_cartesian_2d(0.0..groups.len() as f64, 0.0..top)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(0)
        .y_desc("times faster")
        .label_style(("sans-serif", 14))
        .light_line_style(WHITE)
        .draw()?;
    for (name, colour) in BACKENDS {
        let at = BACKENDS.iter().position(|(other, _)| *other == name).unwrap_or(0) as f64;
        let bars = rows.iter().filter(|row| row.backend == name).filter_map(|row| {
            let group = groups.iter().position(|group| *group == (row.scene.as_str(), row.precision.as_str()))?;
            let left = group as f64 + 0.1 + 0.2 * at;
            Some(Rectangle::new([(left, 0.0), (left + 0.18, row.speedup_vs_scalar?)], colour.filled()))
        });
        chart.draw_series(bars)?;
    }
    for (i, (scene, precision)) in groups.iter().enumerate() {
        let text = if one_precision { (*scene).to_owned() } else { format!("{scene} {precision}") };
        let (x, y) = chart.backend_coord(&(i as f64 + 0.5, 0.0));
        let style = ("sans-serif", 14).into_text_style(area).pos(plotters::style::text_anchor::Pos::new(
            plotters::style::text_anchor::HPos::Center,
            plotters::style::text_anchor::VPos::Top,
        ));
        area.draw(&Text::new(text, (x, y + 8), style))?;
    }
    let drawn = BACKENDS.iter().filter(|(name, _)| rows.iter().any(|row| row.backend == *name));
    Ok(drawn.map(|(name, colour)| ((*name).to_owned(), *colour)).collect())
}

fn sizes(area: &Area<'_>, rows: &[&Row]) -> Drawn {
    let points = |solver: &str, backend: &str| {
        let chosen = rows
            .iter()
            .filter(|row| row.solver == solver && row.backend == backend && row.precision == rows[0].precision);
        let mut points: Vec<_> =
            chosen.filter_map(|row| Some((row.constraints as f64, row.ns_per_projection_min?))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    };
    let mut series = vec![("textbook".to_owned(), TEXTBOOK, points("textbook", "scalar"))];
    series
        .extend(BACKENDS.map(|(name, colour)| (format!("xpbd-colored, {name}"), colour, points("xpbd-colored", name))));
    lines(area, series, ("constraints (log)", "ns a projection (log)"), &|value| {
        if value >= 1000.0 { format!("{:.0}k", value / 1000.0) } else { format!("{value:.1}") }
    })
}

/// Name, colour and points of a curve.
type Series = (String, RGBColor, Vec<(f64, f64)>);

/// Lines with dots on two logarithmic axes.
fn lines(
    area: &Area<'_>,
    mut series: Vec<Series>,
    (x_title, y_title): (&str, &str),
    label: &dyn Fn(f64) -> String,
) -> Drawn {
    series.retain(|(.., points)| !points.is_empty());
    if series.is_empty() {
        // An axis from infinity to nothing has endless labels.
        return Err("there is nothing to draw".into());
    }
    let all = || series.iter().flat_map(|(.., points)| points);
    let bounds = |k: fn(&(f64, f64)) -> f64| {
        let (low, high) = all().map(k).fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
        low / 1.3..high * 1.3
    };
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .x_label_area_size(46)
        .y_label_area_size(58)
        .build_cartesian_2d(bounds(|p| p.0).log_scale(), bounds(|p| p.1).log_scale())?;
    chart
        .configure_mesh()
        .x_desc(x_title)
        .y_desc(y_title)
        .x_label_formatter(&|x| label(*x))
        .y_label_formatter(&|y| label(*y))
        .label_style(("sans-serif", 14))
        .light_line_style(WHITE)
        .draw()?;
    for (_, colour, points) in &series {
        chart.draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)))?;
        chart.draw_series(points.iter().map(|&p| Circle::new(p, 4, colour.filled())))?;
    }
    Ok(series.into_iter().map(|(name, colour, _)| (name, colour)).collect())
}
