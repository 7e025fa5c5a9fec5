//! A font as type designers keep it: a Unified Font Object, a folder with one XML file for each glyph.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

use crate::corpus::{Corpus, SEED};

/// As many as Roboto has, the font of close_already's tables.
const GLYPHS: u32 = 2_300;

const PLIST: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \
                     \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n<plist version=\"1.0\">\n";

/// The font. Two glyphs in five are built from others and short; of the rest some have many contours.
pub(crate) fn font() -> Corpus {
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut files: Vec<(PathBuf, Arc<[u8]>)> = Vec::new();
    let mut add = |path: String, content: String| files.push((path.into(), content.into_bytes().into()));

    add(
        "font.ufo/metainfo.plist".into(),
        plist(&[("creator", "org.example.bench".into()), ("formatVersion", "3".into())]),
    );
    let info = ["familyName", "styleName", "copyright", "openTypeNameDesigner", "openTypeNameLicense", "trademark"];
    add("font.ufo/fontinfo.plist".into(), plist(&info.map(|key| (key, format!("{key} of a font that is generated")))));
    add("font.ufo/layercontents.plist".into(), plist(&[("public.default", "glyphs".into())]));
    let pairs: Vec<_> = (0..1_500).map(|_| (name(random.u32(..GLYPHS)), random.i32(-80..40).to_string())).collect();
    add("font.ufo/kerning.plist".into(), plist(&pairs));
    let order: Vec<_> = (0..GLYPHS).map(|n| (name(n), format!("{}.glif", name(n)))).collect();
    add("font.ufo/glyphs/contents.plist".into(), plist(&order));
    for n in 0..GLYPHS {
        add(format!("font.ufo/glyphs/{}.glif", name(n)), glyph(n, &mut random));
    }
    Corpus { files }
}

/// Latin first, and on through the planes as fonts do.
fn name(n: u32) -> String {
    format!("uni{:04X}", 0x20 + n)
}

fn plist<K: AsRef<str>>(pairs: &[(K, String)]) -> String {
    let mut text = format!("{PLIST}<dict>\n");
    for (key, value) in pairs {
        write!(text, "  <key>{}</key>\n  <string>{value}</string>\n", key.as_ref()).expect("into a string");
    }
    text + "</dict>\n</plist>\n"
}

fn glyph(n: u32, random: &mut fastrand::Rng) -> String {
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<glyph name=\"{}\" format=\"2\">\n  <advance width=\"{}\"/>\n  \
         <unicode hex=\"{:04X}\"/>\n  <outline>\n",
        name(n),
        random.u32(300..1600),
        0x20 + n
    );
    if n > 100 && random.u32(..5) < 2 {
        for base in [random.u32(..100), random.u32(..100)] {
            writeln!(text, "    <component base=\"{}\" xOffset=\"{}\"/>", name(base), random.i32(-200..400))
                .expect("into a string");
        }
    } else {
        // One to four contours, seldom more.
        let contours = 1 + random.usize(..4) + random.usize(..9) / 8 * random.usize(..12);
        for _ in 0..contours {
            text += "    <contour>\n";
            for point in 0..random.usize(4..26) {
                let kind = match point % 3 {
                    0 => " type=\"line\"",
                    1 => " type=\"qcurve\" smooth=\"yes\"",
                    _ => "",
                };
                let (x, y) = (random.i32(-200..1800), random.i32(-400..1500));
                writeln!(text, "      <point x=\"{x}\" y=\"{y}\"{kind}/>").expect("into a string");
            }
            text += "    </contour>\n";
        }
    }
    text + "  </outline>\n</glyph>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_font_is_the_same_every_time_and_of_the_size_of_a_real_one() {
        let font = font();
        assert_eq!(font.files, super::font().files);
        assert_eq!(font.files.len(), GLYPHS as usize + 5);
        assert_eq!(crate::corpus::folders(&font.files).len(), 2);
        let mut sizes: Vec<usize> = font.files.iter().map(|(_, bytes)| bytes.len()).collect();
        sizes.sort_unstable();
        let (median, total) = (sizes[sizes.len() / 2], sizes.iter().sum::<usize>());
        assert!((500..2_500).contains(&median), "half of the glyphs have up to {median} bytes");
        assert!((2_000_000..6_000_000).contains(&total), "{total} bytes in all");
    }
}
