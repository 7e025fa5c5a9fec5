//! What was measured over time, as a picture: a row of panels for each work, a curve in each panel.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::chart::{FAINT, INK, Painted, WON};

const PANEL: (i32, i32) = (270, 74);
const LEFT: i32 = 150;
const TOP: i32 = 46;
/// Between two panels, for the numbers of the next one.
const GAP: i32 = 54;
const BELOW: i32 = 26;
/// A curve is drawn with so many points at most: of those that fall together the greatest is kept.
const POINTS: usize = 90;

/// A curve and what it is of, with its unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// What it is of.
    pub name: String,
    /// Seconds, and the value then.
    pub points: Vec<(f64, f64)>,
}

/// A row of the picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Panels {
    /// What stands before it.
    pub heading: String,
    /// As many in each row.
    pub curves: Vec<Curve>,
}

/// An SVG of all rows from top to bottom. Each panel has its own scale, from 0 to the most.
pub fn to_svg(title: &str, rows: &[Panels]) -> String {
    let columns = rows.iter().map(|row| row.curves.len()).max().unwrap_or(0) as i32;
    let width = LEFT + columns * (PANEL.0 + GAP);
    let height = TOP + rows.len() as i32 * (PANEL.1 + BELOW) + 8;
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (width as u32, height as u32)).into_drawing_area();
        // Into a string nothing can fail.
        paint(&area, title, rows).expect("drawing into a string");
    }
    svg
}

fn paint(area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>, title: &str, rows: &[Panels]) -> Painted {
    let text = |size: i32, h, bold: bool| {
        let style = if bold { FontStyle::Bold } else { FontStyle::Normal };
        FontDesc::new(FontFamily::SansSerif, f64::from(size), style).color(&INK).pos(Pos::new(h, VPos::Center))
    };
    area.fill(&WHITE)?;
    area.draw(&Text::new(title, (12, 16), text(15, HPos::Left, true)))?;
    for (n, row) in rows.iter().enumerate() {
        let top = TOP + n as i32 * (PANEL.1 + BELOW);
        let bottom = top + PANEL.1;
        area.draw(&Text::new(row.heading.as_str(), (12, top + PANEL.1 / 2), text(12, HPos::Left, true)))?;
        for (column, curve) in row.curves.iter().enumerate() {
            let left = LEFT + column as i32 * (PANEL.0 + GAP);
            if n == 0 {
                area.draw(&Text::new(curve.name.as_str(), (left, top - 12), text(11, HPos::Left, false)))?;
            }
            let most = curve.points.iter().fold(1.0_f64, |most, point| most.max(point.1));
            let end = curve.points.last().map_or(1.0, |point| point.0.max(0.001));
            let place = |(x, y): (f64, f64)| {
                (left + (x / end * f64::from(PANEL.0)) as i32, bottom - (y / most * f64::from(PANEL.1)) as i32)
            };
            area.draw(&PathElement::new([(left, top), (left, bottom), (left + PANEL.0, bottom)], FAINT))?;
            let label = |value: f64| format!("{value:.0}");
            area.draw(&Text::new(label(most), (left - 5, top + 4), text(10, HPos::Right, false)))?;
            area.draw(&Text::new("0", (left - 5, bottom - 2), text(10, HPos::Right, false)))?;
            let seconds = format!("{end:.0} s");
            area.draw(&Text::new(seconds, (left + PANEL.0, bottom + 9), text(10, HPos::Right, false)))?;
            let points: Vec<(i32, i32)> = thinned(&curve.points).into_iter().map(place).collect();
            area.draw(&PathElement::new(points, WON))?;
        }
    }
    area.present()
}

/// At most [`POINTS`], with the greatest of each stretch.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let each = points.len().div_ceil(POINTS).max(1);
    let greatest = |part: &[(f64, f64)]| part.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
    points.chunks(each).filter_map(greatest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_curve_keeps_its_peaks() {
        let points: Vec<(f64, f64)> = (0..10_000).map(|n| (f64::from(n), f64::from(u8::from(n == 7_777)))).collect();
        let thin = thinned(&points);
        assert!(thin.len() <= POINTS && thin.contains(&(7_777.0, 1.0)));
        assert_eq!(thinned(&points[..5]), points[..5]);
    }

    #[test]
    fn each_panel_has_its_own_scale() {
        let curve = |name: &str, most: f64| Curve { name: name.into(), points: vec![(0.0, 0.0), (50.0, most)] };
        let row = Panels { heading: "a work".into(), curves: vec![curve("memory, MiB", 123.0), curve("handles", 7.0)] };
        let svg = to_svg("Over time", &[row.clone(), row]);
        for text in ["Over time", "a work", "memory, MiB", "handles", "123", "7", "50 s"] {
            assert!(svg.contains(text), "{text}: {svg}");
        }
    }
}
