//! The histograms as a picture.

use std::io;
use std::path::Path;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{DECADES, PER_DECADE, bucket_ends};
use crate::Findings;
use crate::advice::short;

const WIDTH: u32 = 860;
const LEFT: i32 = 150;
const RIGHT: i32 = 170;
const TOP: i32 = 70;
const HEADING: i32 = 30;
const ROW: i32 = 30;
const BOTTOM: i32 = 30;

const INK: RGBColor = RGBColor(0x24, 0x29, 0x2f);
const FAINT: RGBColor = RGBColor(0xd8, 0xde, 0xe4);
const BAR: RGBColor = RGBColor(0x2d, 0x7d, 0x8f);
const CLOSE: RGBColor = RGBColor(0xc4, 0x51, 0x1f);

impl Findings {
    /// A picture of how long each call took: one row for each, time from left to right on a logarithmic scale.
    pub fn to_svg(&self) -> String {
        let rows: i32 = self.series.iter().map(|series| HEADING + ROW * series.operations.len() as i32).sum();
        let height = TOP + rows + BOTTOM;
        let mut svg = String::new();
        {
            let area = SVGBackend::with_string(&mut svg, (WIDTH, height as u32)).into_drawing_area();
            // Into a string nothing can fail.
            self.paint(&area, height).expect("drawing into a string");
        }
        svg
    }

    /// Writes the picture to `file`.
    pub fn write_svg(&self, file: &Path) -> io::Result<()> {
        std::fs::write(file, self.to_svg())
    }

    fn paint(
        &self,
        area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
        height: i32,
    ) -> Result<(), DrawingAreaErrorKind<io::Error>> {
        let buckets = (DECADES * PER_DECADE) as i32;
        let width = (WIDTH as i32 - LEFT - RIGHT) / buckets;
        let text = |size: f64, h, bold: bool| {
            let style = if bold { FontStyle::Bold } else { FontStyle::Normal };
            FontDesc::new(FontFamily::SansSerif, size, style).color(&INK).pos(Pos::new(h, VPos::Center))
        };
        area.fill(&WHITE)?;
        let place = &self.place;
        let on = place.file_system.as_deref().map(|name| format!(" ({name})")).unwrap_or_default();
        let title = format!("How long each call takes in {}{on}", place.folder.display());
        area.draw(&Text::new(title, (12, 18), text(15.0, HPos::Left, true)))?;
        for (decade, label) in
            ["100 ns", "1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s"].into_iter().enumerate()
        {
            let x = LEFT + decade as i32 * PER_DECADE as i32 * width;
            area.draw(&PathElement::new([(x, TOP - 8), (x, height - BOTTOM)], FAINT))?;
            area.draw(&Text::new(label, (x, TOP - 18), text(11.0, HPos::Center, false)))?;
        }
        let mut y = TOP;
        for series in &self.series {
            let threads = if series.threads == 1 { String::new() } else { format!(", {} threads", series.threads) };
            let heading =
                format!("{}{threads}: {} files, {} each", series.step.name(), series.files, short(series.per_file()));
            area.draw(&Text::new(heading, (12, y + HEADING / 2 + 4), text(12.0, HPos::Left, true)))?;
            y += HEADING;
            for (name, samples) in &series.operations {
                let counts = samples.buckets(&bucket_ends());
                let tallest = counts.iter().copied().max().unwrap_or(1).max(1) as i32;
                let base = y + ROW - 4;
                for (bucket, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                    let x = LEFT + bucket as i32 * width;
                    let tall = (count as i32 * (ROW - 8) / tallest).max(1);
                    let colour = if *name == "close" { CLOSE } else { BAR };
                    area.draw(&Rectangle::new([(x + 1, base - tall), (x + width - 1, base)], colour.filled()))?;
                }
                area.draw(&PathElement::new([(LEFT, base), (LEFT + buckets * width, base)], FAINT))?;
                area.draw(&Text::new(*name, (LEFT - 10, base - 6), text(12.0, HPos::Right, false)))?;
                let figures = format!("{}  (99 %: {})", short(samples.median()), short(samples.quantile(0.99)));
                let at = (LEFT + buckets * width + 12, base - 6);
                area.draw(&Text::new(figures, at, text(11.0, HPos::Left, false)))?;
                y += ROW;
            }
        }
        let legend = "Bars: how many calls took so long, each row by its own tallest. Right: the median.";
        area.draw(&Text::new(legend, (12, height - 12), text(11.0, HPos::Left, false)))?;
        area.present()
    }
}
