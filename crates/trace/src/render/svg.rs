//! Charts as SVG that stretches to any width: axes and words stand beside it, so that they keep their size.

use std::fmt::Write;

/// A column of a stacked chart: what it says when pointed at, and the class and height of each part, from below.
pub(super) struct Column {
    pub title: String,
    pub parts: Vec<(&'static str, f64)>,
}

/// Columns side by side. `most` is the height of the plot.
pub(super) fn stacked(id: &str, title: &str, description: &str, columns: &[Column], most: f64) -> String {
    let mut svg = open(id, title, description, columns.len());
    for (x, column) in columns.iter().enumerate() {
        if column.parts.iter().all(|(_, height)| *height <= 0.0) {
            continue;
        }
        write!(svg, "<g><title>{}</title>", escaped(&column.title)).expect("a string");
        let mut from = 100.0;
        for (class, height) in column.parts.iter().filter(|(_, height)| *height > 0.0) {
            let height = height / most * 100.0;
            from -= height;
            // A little wider than its place, so that no seam shows between neighbours.
            write!(svg, r#"<rect class="{class}" x="{x}" y="{from:.3}" width="1.05" height="{height:.3}"/>"#)
                .expect("a string");
        }
        svg += "</g>";
    }
    svg + "</svg>"
}

/// A bar for each value, with dashed marks at places between 0 and the number of bars.
pub(super) fn histogram(
    id: &str,
    title: &str,
    description: &str,
    class: &str,
    bars: &[(f64, String)],
    marks: &[f64],
) -> String {
    let mut svg = open(id, title, description, bars.len());
    let most = bars.iter().map(|(value, _)| *value).fold(f64::MIN_POSITIVE, f64::max);
    for (x, (value, title)) in bars.iter().enumerate().filter(|(_, (value, _))| *value > 0.0) {
        let height = value / most * 98.0;
        write!(
            svg,
            r#"<rect class="{class}" x="{:.2}" y="{:.2}" width="0.92" height="{height:.2}"><title>{}</title></rect>"#,
            x as f64 + 0.04,
            100.0 - height,
            escaped(title)
        )
        .expect("a string");
    }
    for at in marks {
        write!(svg, r#"<line class="mark" x1="{at:.3}" x2="{at:.3}" y1="0" y2="100"/>"#).expect("a string");
    }
    svg + "</svg>"
}

fn open(id: &str, title: &str, description: &str, width: usize) -> String {
    let (title, description, width) = (escaped(title), escaped(description), width.max(1));
    format!(
        r#"<svg class="chart" viewBox="0 0 {width} 100" preserveAspectRatio="none" role="img" aria-labelledby="{id}-t {id}-d"><title id="{id}-t">{title}</title><desc id="{id}-d">{description}</desc>"#
    )
}

/// Text that can stand in HTML, and in quotes there.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            c => escaped.push(c),
        }
    }
    escaped
}
