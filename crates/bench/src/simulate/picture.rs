//! The picture of docs/scale.md: a panel for each place and work, a line for each strategy, both axes logarithmic.

use plotters::prelude::*;

use super::{PLACES, STRATEGIES, WORKS, points};

const PANEL: (u32, u32) = (270, 210);
const TITLE: u32 = 34;
const LEGEND: u32 = 28;

const COLOURS: [RGBColor; 4] =
    [RGBColor(0xc4, 0x51, 0x1f), RGBColor(0x8a, 0x63, 0xb0), RGBColor(0x9a, 0x8c, 0x2c), RGBColor(0x2d, 0x7d, 0x8f)];

type Painted = Result<(), Box<dyn std::error::Error>>;

pub fn to_svg() -> String {
    let size = (PLACES.len() as u32 * PANEL.0, TITLE + WORKS.len() as u32 * PANEL.1 + LEGEND);
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        // Into a string nothing can fail.
        paint(&area).expect("drawing into a string");
    }
    svg
}

fn paint(area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>) -> Painted {
    area.fill(&WHITE)?;
    let title = "Simulated: how many times as fast as a loop, by processors";
    area.draw(&Text::new(title, (12, 8), ("sans-serif", 16)))?;
    let (_, below) = area.split_vertically(TITLE);
    let (panels, legend) = below.split_vertically(WORKS.len() as u32 * PANEL.1);
    let columns = PLACES.len();
    for (n, panel) in panels.split_evenly((WORKS.len(), columns)).iter().enumerate() {
        let ((what, work), (place, costs)) = (WORKS[n / columns], PLACES[n % columns]);
        let lines = STRATEGIES.map(|name| points(name, work, costs));
        let most = lines.iter().flatten().fold(2.0_f64, |most, point| most.max(point.factor));
        let mut chart = ChartBuilder::on(panel)
            .caption(format!("{what}, {place}"), ("sans-serif", 11))
            .margin(6)
            .x_label_area_size(22)
            .y_label_area_size(34)
            .build_cartesian_2d((2.0..128.0_f64).log_scale().base(2.0), (0.5..most * 1.3).log_scale())?;
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .x_labels(7)
            .x_label_formatter(&|cores| format!("{cores:.0}"))
            .y_labels(5)
            .y_label_formatter(&|factor| format!("{factor:.0}×"))
            .label_style(("sans-serif", 10))
            .draw()?;
        for (line, colour) in lines.iter().zip(COLOURS) {
            let along = line.iter().map(|point| (point.cores as f64, point.factor));
            let path = PathElement::new(along.clone().collect::<Vec<_>>(), colour.stroke_width(2));
            chart.draw_series(std::iter::once(path))?;
            chart.draw_series(along.map(|at| Circle::new(at, 3, colour.filled())))?;
        }
    }
    for (n, (name, colour)) in STRATEGIES.iter().zip(COLOURS).enumerate() {
        let left = 12 + n as i32 * 190;
        legend.draw(&PathElement::new([(left, 12), (left + 22, 12)], colour.stroke_width(3)))?;
        legend.draw(&Text::new(*name, (left + 28, 5), ("sans-serif", 12)))?;
    }
    area.present()?;
    Ok(())
}
