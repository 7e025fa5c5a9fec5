//! Factors as a picture: how many times as fast something is, a bar for each.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::stats::{CONFIDENCE, Estimate};

const WIDTH: u32 = 900;
const BAR: i32 = 17;
/// For names: as wide as the longest, in between.
const LEFT: (i32, i32) = (230, 470);
const RIGHT: i32 = 150;
const TOP: i32 = 46;
const BOTTOM: i32 = 34;

pub(crate) const INK: RGBColor = RGBColor(0x24, 0x29, 0x2f);
pub(crate) const FAINT: RGBColor = RGBColor(0xd8, 0xde, 0xe4);
pub(crate) const WON: RGBColor = RGBColor(0x2d, 0x7d, 0x8f);
const LOST: RGBColor = RGBColor(0xc4, 0x51, 0x1f);

/// A line of the picture.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// What the bars below are about.
    Heading(String),
    /// A factor.
    Bar {
        /// The entrant's name.
        name: String,
        /// How many times as fast.
        factor: Estimate,
        /// How many it should be.
        aim: Option<f64>,
    },
}

/// An SVG of all lines from top to bottom, on a logarithmic scale, so that a half is as far from 1 as twice.
pub fn to_svg(title: &str, lines: &[Line]) -> String {
    let most = lines.iter().fold(2.0_f64, |most, line| match line {
        Line::Bar { factor, .. } => most.max(if factor.confidence >= CONFIDENCE { factor.high } else { factor.value }),
        Line::Heading(_) => most,
    });
    let height = TOP + BOTTOM + lines.len() as i32 * BAR;
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (WIDTH, height as u32)).into_drawing_area();
        // Into a string nothing can fail.
        paint(&area, title, lines, most, height).expect("drawing into a string");
    }
    svg
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
pub(crate) type Painted = Result<(), DrawingAreaErrorKind<std::io::Error>>;

fn paint(area: &Area<'_>, title: &str, lines: &[Line], most: f64, height: i32) -> Painted {
    let least = 0.5_f64;
    let longest = lines.iter().filter_map(|line| match line {
        Line::Bar { name, .. } => Some(name.chars().count()),
        Line::Heading(_) => None,
    });
    // A letter of 12 px is some 6.2 wide.
    let left = (longest.max().unwrap_or(0) as f64 * 6.2) as i32 + 24;
    let left = left.clamp(LEFT.0, LEFT.1);
    let width = WIDTH as i32 - left - RIGHT;
    let x = |value: f64| left + ((value.max(least) / least).ln() / (most / least).ln() * f64::from(width)) as i32;
    let text = |size: i32, colour: &RGBColor, h, bold: bool| {
        let style = if bold { FontStyle::Bold } else { FontStyle::Normal };
        FontDesc::new(FontFamily::SansSerif, f64::from(size), style).color(colour).pos(Pos::new(h, VPos::Center))
    };

    area.fill(&WHITE)?;
    area.draw(&Text::new(title, (12, 16), text(15, &INK, HPos::Left, true)))?;
    for tick in [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0].into_iter().filter(|&tick| tick <= most) {
        let colour = if tick == 1.0 { INK } else { FAINT };
        area.draw(&PathElement::new([(x(tick), TOP - 6), (x(tick), height - BOTTOM)], colour))?;
        area.draw(&Text::new(format!("{tick}×"), (x(tick), TOP - 13), text(11, &INK, HPos::Center, false)))?;
    }
    for (n, line) in lines.iter().enumerate() {
        let (top, middle) = (TOP + n as i32 * BAR, TOP + n as i32 * BAR + BAR / 2);
        match line {
            Line::Heading(heading) => {
                area.draw(&Text::new(heading.as_str(), (12, middle + 2), text(12, &INK, HPos::Left, true)))?;
            }
            Line::Bar { name, factor: Estimate { value, low, high, confidence }, aim } => {
                let colour = if *value >= 1.0 { WON } else { LOST };
                let (from, to) = (x(1.0).min(x(*value)), x(1.0).max(x(*value)));
                area.draw(&Text::new(name.as_str(), (left - 10, middle), text(12, &INK, HPos::Right, false)))?;
                area.draw(&Rectangle::new([(from, top + 3), (to, top + BAR - 3)], colour.filled()))?;
                let mut after = x(*value).max(x(1.0));
                if *confidence >= CONFIDENCE {
                    area.draw(&PathElement::new([(x(*low), middle), (x(*high), middle)], INK))?;
                    after = after.max(x(*high));
                }
                let mut label = format!("{value:.*}×", if *value < 10.0 { 2 } else { 1 });
                if let Some(aim) = *aim {
                    // A tick across the bar.
                    area.draw(&PathElement::new([(x(aim), top + 1), (x(aim), top + BAR - 1)], INK.stroke_width(2)))?;
                    label += &format!("  (aim {aim})");
                    after = after.max(x(aim));
                }
                area.draw(&Text::new(label, (after + 8, middle), text(11, &INK, HPos::Left, false)))?;
            }
        }
    }
    let has_aims = lines.iter().any(|line| matches!(line, Line::Bar { aim: Some(_), .. }));
    let aims = if has_aims { " Thick tick: the aim." } else { "" };
    let legend =
        format!("Bar: the median of the rounds' ratios. Line: its 95 % confidence interval, from six rounds on.{aims}");
    area.draw(&Text::new(legend, (12, height - 14), text(11, &INK, HPos::Left, false)))?;
    area.present()
}
