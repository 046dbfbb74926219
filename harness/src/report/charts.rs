//! Charts as SVG text.

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::compare::Row;

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
    pub title: &'static str,
    pub note: &'static str,
    /// Names and colours (`#rrggbb`), set above the drawing, where they cannot cover it.
    pub legend: Vec<(String, String)>,
    pub svg: String,
}

/// Every chart the rows have data for.
pub fn all(rows: &[Row]) -> Vec<Chart> {
    let rows: Vec<&Row> =
        rows.iter().filter(|row| row.is_ok() && row.solver == "xpbd-colored" || row.solver == "textbook").collect();
    let mut charts = Vec::new();
    let mut add = |title, note, draw: &dyn Fn(&Area<'_>) -> Drawn| {
        let mut svg = String::new();
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        // A chart that cannot be drawn is left out; the table has its figures.
        let drawn = draw(&area).ok().filter(|_| area.present().is_ok());
        drop(area);
        if let Some(names) = drawn {
            let colour = |RGBColor(r, g, b)| format!("#{r:02x}{g:02x}{b:02x}");
            let legend = names.into_iter().map(|(name, rgb)| (name, colour(rgb))).collect();
            charts.push(Chart { title, note, legend, svg });
        }
    };
    if rows.iter().any(|row| row.solver == "xpbd-colored" && row.speedup_vs_scalar.is_some()) {
        add("Speed-up over the scalar backend", "xpbd-colored, same work and same bits; higher is better.", &|area| {
            speedups(area, &rows)
        });
    }
    let curtains: Vec<&Row> = rows.iter().filter(|row| row.scene.starts_with("curtain-")).copied().collect();
    if curtains.iter().any(|row| row.scene != curtains[0].scene) {
        add(
            "Time a projection against size",
            "The curtains, xpbd-colored and the textbook loop; lower is better.",
            &|area| sizes(area, &curtains),
        );
    }
    charts
}

fn first_seen<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
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
    series.retain(|(.., points)| !points.is_empty());
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
        .x_desc("constraints (log)")
        .y_desc("ns a projection (log)")
        .x_label_formatter(&|x| format!("{:.0}k", x / 1000.0))
        .y_label_formatter(&|y| format!("{y:.1}"))
        .label_style(("sans-serif", 14))
        .light_line_style(WHITE)
        .draw()?;
    for (_, colour, points) in &series {
        chart.draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)))?;
        chart.draw_series(points.iter().map(|&p| Circle::new(p, 4, colour.filled())))?;
    }
    Ok(series.into_iter().map(|(name, colour, _)| (name, colour)).collect())
}
