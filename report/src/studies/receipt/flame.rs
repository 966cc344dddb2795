//! Flame graphs: folded stacks as pictures that stand in the page.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use inferno::flamegraph::{self, Options};

/// All pictures of a page together take no more bytes than this.
const MOST_BYTES: usize = 3 << 20;
/// No picture takes more.
const MOST_EACH: usize = 256 << 10;
/// Frames of a smaller share of the samples are left out, in percent; of a
/// picture that is too large then, those below twice as much, and so on.
const LEAST_PERCENT: f64 = 0.1;
/// Beyond this nothing is left to see.
const MOST_PERCENT: f64 = 25.0;
/// A picture's width in its own pixels.
const WIDTH: usize = 1200;

/// Stacks of a run, cut down to what pictures can show of them.
#[derive(Debug, Default)]
pub struct Flames {
    folded: BTreeMap<String, String>,
}

/// A picture.
pub struct Picture {
    /// An `svg` element without script, style or address.
    pub svg: String,
    /// Frames below this share of the samples, in percent, are left out.
    pub least_percent: f64,
}

impl Flames {
    /// Takes the stacks of one file of `stacks/`, by its name. Chains that no
    /// picture could show are dropped at once.
    pub fn push(&mut self, file: &str, folded: &str) {
        self.folded.insert(file.to_owned(), pruned(folded));
    }

    /// Number of flame graphs.
    pub fn len(&self) -> usize {
        self.folded.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.folded.is_empty()
    }

    /// The picture of one file; `None` of one that is not here or holds nothing.
    pub(crate) fn picture(&self, file: &str) -> Option<Picture> {
        let folded = self.folded.get(file).filter(|text| !text.is_empty())?;
        let room = (MOST_BYTES / self.len()).min(MOST_EACH);
        let mut least_percent = LEAST_PERCENT;
        while least_percent <= MOST_PERCENT {
            let svg = drawn(folded, least_percent)?;
            if svg.len() <= room {
                return Some(Picture { svg, least_percent });
            }
            least_percent *= 2.0;
        }
        None
    }
}

/// Chains with a frame below the least share end there: what is above is too
/// narrow as well. Samples that fall away so stay with the frame below.
fn pruned(folded: &str) -> String {
    let lines =
        || folded.lines().filter_map(|line| line.rsplit_once(' ')).filter_map(|(chain, count)| Some((chain, count.parse::<u64>().ok()?)));
    let mut frames: BTreeMap<&str, u64> = BTreeMap::new();
    let mut all = 0_u64;
    for (chain, count) in lines() {
        all = all.saturating_add(count);
        for end in ends(chain) {
            let sum = frames.entry(&chain[..end]).or_default();
            *sum = sum.saturating_add(count);
        }
    }
    let least = all as f64 * LEAST_PERCENT / 100.0;
    let mut kept: BTreeMap<&str, u64> = BTreeMap::new();
    for (chain, count) in lines() {
        let wide = ends(chain).take_while(|end| frames.get(&chain[..*end]).is_some_and(|sum| *sum as f64 >= least)).last();
        if let Some(end) = wide {
            let sum = kept.entry(&chain[..end]).or_default();
            *sum = sum.saturating_add(count);
        }
    }
    kept.into_iter().fold(String::new(), |mut text, (chain, count)| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{chain} {count}");
        text
    })
}

/// The end of each frame of a chain.
fn ends(chain: &str) -> impl Iterator<Item = usize> + '_ {
    chain.match_indices(';').map(|(place, _)| place).chain([chain.len()])
}

fn drawn(folded: &str, least_percent: f64) -> Option<String> {
    let mut options = Options::default();
    options.image_width = Some(WIDTH);
    options.min_width = least_percent;
    options.hash = true;
    options.no_javascript = true;
    options.count_name = "samples".to_owned();
    options.text_truncate_direction = flamegraph::TextTruncateDirection::Right;
    let mut svg = Vec::new();
    flamegraph::from_lines(&mut options, folded.lines(), &mut svg).ok()?;
    inner(&String::from_utf8(svg).ok()?)
}

/// The frames of a picture, in an element of our own: without prolog, remarks,
/// addresses, and styles that would hold for the whole page.
fn inner(svg: &str) -> Option<String> {
    let height: f64 = attribute(svg.get(svg.find("<svg ")?..)?, "height")?.parse().ok()?;
    let start = svg.find("<svg id=\"frames\"")?;
    let (tag, rest) = svg[start..].split_once('>')?;
    let frames = rest.split_once("</svg>")?.0;
    let [x, width] = ["x", "width"].map(|name| attribute(tag, name));
    let frames = lean(frames);
    Some(format!(
        "<svg class=\"flame\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\"><svg x=\"{}\" width=\"{}\">{frames}</svg></svg>",
        x?, width?
    ))
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    tag.split_once('>').map_or(tag, |(tag, _)| tag).split_once(&format!(" {name}=\""))?.1.split_once('"').map(|(value, _)| value)
}

/// Without what only a script would need, and texts of frames too narrow for any.
fn lean(frames: &str) -> String {
    let mut text = String::with_capacity(frames.len());
    for (place, part) in frames.split(" fg:x=\"").enumerate() {
        // Behind the first: `12" fg:w="3"/>...`.
        let part = if place == 0 {
            part
        } else {
            part.split_once("\" fg:w=\"").and_then(|(_, rest)| rest.split_once('"')).map_or(part, |(_, rest)| rest)
        };
        text.push_str(part);
    }
    let mut lean = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once("<text ") {
        lean.push_str(before);
        let Some((tag, behind)) = after.split_once('>') else { break };
        rest = behind.strip_prefix("</text>").unwrap_or(behind);
        if rest.len() == behind.len() {
            lean.push_str("<text ");
            lean.push_str(tag);
            lean.push('>');
        }
    }
    lean.push_str(rest);
    lean
}

#[cfg(test)]
mod tests {
    use super::{Flames, MOST_BYTES, pruned};
    use proptest::prelude::{prop_assert, proptest};

    #[test]
    fn narrow_frames_end_in_the_one_below() {
        let text = "a;b;c 5000\na;b;d 4998\na;b;e;f 2\n";
        assert_eq!(pruned(text), "a;b 2\na;b;c 5000\na;b;d 4998\n");
    }

    #[test]
    fn a_picture_stands_alone() {
        let mut flames = Flames::default();
        flames.push("x", "main;do_it;<script>alert(1)</script> 60\nmain;rest&more 40\n");
        let picture = flames.picture("x").unwrap();
        assert!(picture.svg.contains("do_it (60 samples, 60.00%)"), "{}", picture.svg);
        for bad in ["<script", "http", "<style", "<!--", "<?xml", "fg:", "onload", "xmlns", " id="] {
            assert!(!picture.svg.contains(bad), "{bad}: {}", picture.svg);
        }
        assert_eq!(picture.svg.matches("<svg").count(), picture.svg.matches("</svg>").count());
        assert!(flames.picture("y").is_none());
    }

    #[test]
    fn many_pictures_keep_within_their_room() {
        let folded: String = (0..4_000).map(|place| format!("root;outer_{};inner_{place} {}\n", place % 40, 10 + place % 7)).collect();
        let mut flames = Flames::default();
        (0..48).for_each(|file| flames.push(&file.to_string(), &folded));
        let sizes: Vec<usize> = (0..48).map(|file| flames.picture(&file.to_string()).unwrap().svg.len()).collect();
        assert!(sizes.iter().sum::<usize>() <= MOST_BYTES);
    }

    proptest! {
        #[test]
        fn any_text_is_taken(text in "([a-z;]{0,12} [0-9]{0,3}\n|\\PC{0,20}\n){0,20}") {
            let mut flames = Flames::default();
            flames.push("x", &text);
            let svg = flames.picture("x").map_or(String::new(), |picture| picture.svg);
            prop_assert!(!svg.contains("<script"));
        }
    }
}
