//! The rows as a picture: how many times as fast ours is, a bar for each peer.

use std::path::Path;

use anyhow::{Result, anyhow};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::contest::Target;
use crate::report::{Figure, Row};

const WIDTH: u32 = 900;
const BAR: i32 = 17;
const LEFT: i32 = 210;
const RIGHT: i32 = 150;
const TOP: i32 = 46;
const BOTTOM: i32 = 34;

const INK: RGBColor = RGBColor(0x24, 0x29, 0x2f);
const FAINT: RGBColor = RGBColor(0xd8, 0xde, 0xe4);
const WON: RGBColor = RGBColor(0x2d, 0x7d, 0x8f);
const LOST: RGBColor = RGBColor(0xc4, 0x51, 0x1f);

/// Something to draw, from top to bottom.
enum Item<'a> {
    Heading(String),
    Bar { row: &'a Row, value: f64, low: f64, high: f64 },
}

/// Draws all rows that say how many times as fast ours is; on a logarithmic scale, so that a half is as far from 1 as twice.
pub fn draw(rows: &[Row], file: &Path) -> Result<()> {
    let items = items(rows);
    let most = items.iter().fold(2.0_f64, |most, item| match item {
        Item::Bar { high, .. } => most.max(*high),
        Item::Heading(_) => most,
    });
    let height = TOP + BOTTOM + items.len() as i32 * BAR;
    let area = SVGBackend::new(file, (WIDTH, height as u32)).into_drawing_area();
    paint(&area, &items, most, height).map_err(|e| anyhow!("cannot draw the chart: {e}"))
}

fn items(rows: &[Row]) -> Vec<Item<'_>> {
    let mut items = Vec::new();
    let mut heading = String::new();
    for row in rows {
        let (Figure::Time { ratio, .. }, Target::Faster(_) | Target::Shown) = (row.figure, row.target) else {
            continue;
        };
        if row.group == "scale" {
            continue;
        }
        let here = format!("{}, {}", row.what, row.place);
        if here != heading {
            items.push(Item::Heading(here.clone()));
            heading = here;
        }
        items.push(Item::Bar { row, value: ratio.value, low: ratio.low, high: ratio.high });
    }
    items
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Painted = Result<(), DrawingAreaErrorKind<std::io::Error>>;

fn paint(area: &Area<'_>, items: &[Item<'_>], most: f64, height: i32) -> Painted {
    let least = 0.5_f64;
    let width = WIDTH as i32 - LEFT - RIGHT;
    let x = |value: f64| LEFT + ((value.max(least) / least).ln() / (most / least).ln() * f64::from(width)) as i32;
    let text = |size: i32, colour: &RGBColor, h, bold: bool| {
        let style = if bold { FontStyle::Bold } else { FontStyle::Normal };
        FontDesc::new(FontFamily::SansSerif, f64::from(size), style).color(colour).pos(Pos::new(h, VPos::Center))
    };

    area.fill(&WHITE)?;
    let title = "How many times as fast manyfiles is";
    area.draw(&Text::new(title, (12, 16), text(15, &INK, HPos::Left, true)))?;
    for tick in [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0].into_iter().filter(|&tick| tick <= most) {
        let colour = if tick == 1.0 { INK } else { FAINT };
        area.draw(&PathElement::new([(x(tick), TOP - 6), (x(tick), height - BOTTOM)], colour))?;
        area.draw(&Text::new(format!("{tick}×"), (x(tick), TOP - 13), text(11, &INK, HPos::Center, false)))?;
    }
    for (n, item) in items.iter().enumerate() {
        let (top, middle) = (TOP + n as i32 * BAR, TOP + n as i32 * BAR + BAR / 2);
        match item {
            Item::Heading(heading) => {
                area.draw(&Text::new(heading.as_str(), (12, middle + 2), text(12, &INK, HPos::Left, true)))?;
            }
            Item::Bar { row, value, low, high } => {
                let colour = if *value >= 1.0 { WON } else { LOST };
                let (from, to) = (x(1.0).min(x(*value)), x(1.0).max(x(*value)));
                area.draw(&Text::new(row.peer.as_str(), (LEFT - 10, middle), text(12, &INK, HPos::Right, false)))?;
                area.draw(&Rectangle::new([(from, top + 3), (to, top + BAR - 3)], colour.filled()))?;
                area.draw(&PathElement::new([(x(*low), middle), (x(*high), middle)], INK))?;
                let mut after = x(high.max(*value)).max(x(1.0));
                let mut label = format!("{value:.*}×", if *value < 10.0 { 2 } else { 1 });
                if let Target::Faster(target) = row.target {
                    // The claim, as a tick across the bar.
                    area.draw(&PathElement::new(
                        [(x(target), top + 1), (x(target), top + BAR - 1)],
                        INK.stroke_width(2),
                    ))?;
                    label += &format!("  (aim {target})");
                    after = after.max(x(target));
                }
                area.draw(&Text::new(label, (after + 8, middle), text(11, &INK, HPos::Left, false)))?;
            }
        }
    }
    let legend = "Bar: ratio of the medians. Line: its 95 % confidence interval. Thick tick: the aim.";
    area.draw(&Text::new(legend, (12, height - 14), text(11, &INK, HPos::Left, false)))?;
    area.present()
}
