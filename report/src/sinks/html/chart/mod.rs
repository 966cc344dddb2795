//! Charts: figures as SVG that is read without a script.
//!
//! ```text
//! Figure -> scale (where a value stands) -> layout (what stands where) -> marks, frame -> svg
//! ```
//!
//! A chart is a pure function of its figure. Colours come from classes and variables of
//! `assets/chart.css`, so that the same drawing is right on dark, light and paper. Every mark
//! carries its figures in a `title`; `assets/report.js` shows them at the pointer.

pub mod breakdown;
pub mod flame;
pub mod forest;
mod frame;
mod layout;
mod marks;
pub mod ribbon;
mod scale;
pub mod waterfall;

use maud::{Markup, html};

use self::layout::Layout;
pub use self::layout::Shape;
use self::marks::{colour, short};
use crate::document::figure::Figure;

/// The drawings of a figure, of which the page shows one: for a wide screen, with an axis of sizes a
/// logarithmic and a linear one, and for a narrow screen.
pub fn drawings(figure: &Figure, shape: Shape) -> Markup {
    let (axes, first) = figure.sizes.as_ref().map_or_else(|| (vec![false], false), |sizes| (sizes.axes(), sizes.log));
    html! {
        @for log in &axes { (svg(figure, shape, *log)) }
        (svg(figure, Shape::Narrow, axes.contains(&first) && first))
    }
}

/// Start of the names of lines that stand next to a paper's.
const TODAY: &str = "today";

/// One drawing of a figure, its axis of sizes logarithmic or not.
pub fn svg(figure: &Figure, shape: Shape, log: bool) -> Markup {
    let layout = Layout::of(figure, shape, log);
    let axis = match &figure.sizes {
        Some(_) if log => "log",
        Some(_) => "linear",
        None => "names",
    };
    let shown = figure.sizes.as_ref().is_none_or(|sizes| sizes.log == log);
    let (width, height) = (short(layout.width), short(layout.height));
    let dated = figure.repeats() && figure.traces.iter().any(|trace| trace.hollow || trace.name.starts_with(TODAY));
    let (alone, above) = frame::alone(&figure.title, layout.width);
    html! {
        svg .chart .(shape.name()) .dated[dated] .off[!shown] data-axis=[(shape != Shape::Narrow).then_some(axis)] viewBox={ "0 0 " (width) " " (height) } role="img"
            aria-label=(figure.alt) data-alone={ "0 -" (short(above)) " " (width) " " (short(layout.height + above)) } {
            title { (figure.title) }
            (frame::axes(figure, &layout))
            (frame::landmarks(figure, &layout))
            (marks::all(figure, &layout))
            (frame::names(&layout))
            (alone)
        }
    }
}

/// What bars are stacked of, with their colours; empty of a chart of lines, which end in their names.
pub fn key(figure: &Figure) -> Markup {
    html! {
        @for trace in figure.traces.iter().filter(|trace| trace.stacked && trace.legend) {
            span .entry {
                svg .(colour(trace)) viewBox="-6 -6 12 12" aria-hidden="true" { path .mark d="M-5-5H5V5H-5Z" {} }
                (trace.name)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::layout::Layout;
    use super::{Shape, svg};
    use crate::document::figure::{Figure, Landmark, Panel, Scale, SizeAxis, Trace, X, drawable};
    use crate::number;
    use analysis::result::{Estimate, Interval, Method};
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    const SIZES: [u64; 10] = [1, 64, 112, 512, 1_024, 1_472, 1_473, 2_032, 8_192, 16_384];

    /// Curves over sizes that lie as near to each other as figures of a quiet machine.
    fn figure(names: &[&str], height: impl Fn(usize, u64) -> f64) -> Figure {
        let trace = |(series, name): (usize, &&str)| {
            let point = |size: &u64| {
                let value = height(series, *size);
                let ends = Interval { low: value * 0.97, high: value * 1.05, confidence: 0.95, method: Method::OrderStatistics };
                (*size as f64, format!("{size} B"), Estimate { value, interval: Some(ends), n: 9 })
            };
            Trace::measured(name, series, SIZES.iter().map(point), 1.0, number::time)
        };
        let traces: Vec<Trace> = names.iter().enumerate().map(trace).collect();
        Figure {
            id: "one".into(),
            title: "One".into(),
            caption: String::new(),
            alt: "Everything.".into(),
            sizes: Some(SizeAxis::over(1, 16_384)),
            panels: vec![Panel::of("time", "s")],
            traces,
        }
    }

    #[test]
    fn marks_of_one_size_stand_apart_and_their_bars_with_them() {
        let figure = figure(&["a", "b", "c", "d"], |series, size| 1e-6 * (1.0 + size as f64 / 4e3 + series as f64 / 1e4));
        let figure = drawable(figure).unwrap();
        // Bars where there is room, else bands.
        for (shape, log, bands) in [(Shape::Column, true, true), (Shape::Wide, true, false), (Shape::Column, false, true)] {
            let layout = Layout::of(&figure, shape, log);
            let (laid, crowded) = layout.points(&figure.traces.iter().collect::<Vec<_>>(), 0);
            let drawn: Vec<[f64; 2]> =
                laid.iter().flat_map(|(_, points)| points).filter(|point| point.room).map(|point| point.at).collect();
            for (place, one) in drawn.iter().enumerate() {
                assert!(drawn[..place].iter().all(|other| (other[0] - one[0]).hypot(other[1] - one[1]) >= 7.0), "{shape:?} {log}: {one:?}");
            }
            assert_eq!(laid.iter().map(|(_, points)| points.len()).sum::<usize>(), 40, "no point is left out");
            assert_eq!(crowded, bands, "{shape:?} {log}");
        }
    }

    /// A line that is not at its sizes would seem to turn elsewhere, and two lines could change places.
    #[test]
    fn lines_of_a_figure_that_is_repeated_stand_at_their_sizes() {
        let names = ["a", "b", "c", "d", "e", "f", "g"];
        let mut figure = figure(&names, |series, size| 1e-6 * (1.0 + size as f64 / 4e3 + series as f64 / 1e4));
        figure.panels[0] = Panel::of("time", "s").on(Scale::Linear);
        let figure = drawable(figure).unwrap();
        for (shape, log) in [(Shape::Column, true), (Shape::Wide, true), (Shape::Narrow, true), (Shape::Column, false)] {
            let layout = Layout::of(&figure, shape, log);
            let (laid, _) = layout.points(&figure.traces.iter().collect::<Vec<_>>(), 0);
            let mut aside: f64 = 0.0;
            for (trace, points) in &laid {
                let X::Sizes(sizes) = &trace.x else { panic!() };
                for point in points {
                    assert_eq!(Some(point.at[0]), layout.across(sizes[point.of]), "{shape:?} {log} {}", trace.name);
                    aside = aside.max((point.bar - point.at[0]).abs());
                }
            }
            assert!(aside > 0.0 && aside <= 3.0, "{shape:?} {log}: bars stand {aside} aside");
        }
    }

    #[test]
    fn no_name_of_a_line_is_cut() {
        let long_name = |place: usize| format!("2026 Linux 6.18 UDP_STREAM (tpi-streams, sndbuf=131071, rcvbuf={place}), this machine");
        let names: [Vec<String>; 3] = [
            (0..22).map(long_name).collect(),
            (0..22).map(|place| format!("line {place}")).collect(),
            vec!["a_word_that_is_longer_than_any_row_of_a_narrow_drawing_and_has_no_place_to_break".to_owned(), "b".to_owned()],
        ];
        for names in &names {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let mut figure = figure(&names, |series, size| 1e-6 * (size as f64 + series as f64));
            figure.panels[0] = Panel::of("time", "s").on(Scale::Linear);
            let figure = drawable(figure).unwrap();
            for shape in [Shape::Column, Shape::Wide, Shape::Narrow] {
                let layout = Layout::of(&figure, shape, true);
                assert_eq!(layout.labels.len(), names.len());
                let mut taken: Vec<[f64; 3]> = Vec::new();
                for label in &layout.labels {
                    assert_eq!(label.lines.concat().replace(' ', ""), label.trace.name.replace(' ', ""));
                    for (line, text) in label.lines.iter().enumerate() {
                        let (x, y) = (label.at[0], label.at[1] + 16.0 * line as f64);
                        let end = x + super::layout::long(text, super::layout::BOLD);
                        assert!(
                            x >= 0.0 && end <= layout.width && y >= 8.0 && y <= layout.height,
                            "{shape:?}: {text} at {x} to {end}, {y}"
                        );
                        assert!(
                            taken.iter().all(|[from, to, at]| (y - at).abs() > 15.0 || end < *from || x > *to),
                            "{shape:?}: {text} lies on another"
                        );
                        taken.push([x, end, y]);
                    }
                }
            }
        }
    }

    #[test]
    fn wide_intervals_do_not_squeeze_the_points() {
        let mut figure = figure(&["a"], |_, size| 1e-6 + 1e-9 * size as f64);
        figure.traces[0].up[3] = 1.0;
        let figure = drawable(figure).unwrap();
        let layout = Layout::of(&figure, Shape::Column, true);
        let (laid, _) = layout.points(&figure.traces.iter().collect::<Vec<_>>(), 0);
        let (first, last) = (&laid[0].1[0], laid[0].1.last().unwrap());
        assert!(first.at[1] - last.at[1] > 100.0, "they use the panel");
        assert!(laid[0].1[3].cut[0] && !laid[0].1[4].cut[0], "and the cut is said");
    }

    #[test]
    fn a_line_ends_in_its_name_or_it_stands_above() {
        let labels = |name: &str, shape: Shape| {
            let figure = drawable(figure(&["base", name], |_, size| 1e-6 * size as f64)).unwrap();
            let layout = Layout::of(&figure, shape, true);
            let found: Vec<(bool, [f64; 2])> = layout.labels.iter().map(|label| (label.above, label.at)).collect();
            (layout.width, layout.ends[1], found)
        };
        let (width, end, found) = labels("nodelay", Shape::Column);
        assert!(found.iter().all(|(above, at)| !above && at[0] > end && at[0] + 7.0 * 8.2 <= width));
        assert_eq!((found[0].1[1] - found[1].1[1]).abs(), 16.0, "both end in one point");
        let (_, _, found) = labels("UDP_STREAM (many settings)", Shape::Narrow);
        assert!(found.iter().all(|(above, at)| *above && at[1] < 40.0));
    }

    #[test]
    fn each_boundary_is_named_and_a_logarithmic_axis_says_so() {
        let mut figure = figure(&["both ends", "sender", "receiver"], |series, size| 1e-6 * (1.0 + series as f64 + size as f64 / 1e3));
        let mark = |name: &str, at| Landmark { name: name.into(), at, hint: String::new() };
        figure.sizes.as_mut().unwrap().landmarks = vec![mark("MTU", 1_472.0), mark("page", 4_096.0)];
        let drawn = drawable(figure).unwrap();
        for shape in [Shape::Column, Shape::Wide, Shape::Narrow] {
            let text = svg(&drawn, shape, true).into_string();
            assert!(text.contains(">MTU</text>") && text.contains(">page</text>"), "{shape:?}: {text}");
            assert!(text.contains("time, log scale</text>") && text.contains("message size, B, log scale</text>"), "{shape:?}: {text}");
        }
        assert!(svg(&drawn, Shape::Column, false).into_string().contains("message size, B</text>"));
    }

    #[test]
    fn a_line_breaks_at_a_boundary() {
        let mut figure = figure(&["a"], |_, size| if size > 1_472 { 2e-6 } else { 1e-6 });
        let strokes = |figure: &Figure| {
            let text = svg(&drawable(figure.clone()).unwrap(), Shape::Column, true).into_string();
            text.split_once("class=\"line\" d=\"").unwrap().1.split_once('"').unwrap().0.matches('M').count()
        };
        assert_eq!(strokes(&figure), 1);
        figure.sizes.as_mut().unwrap().landmarks.push(Landmark { name: "MTU".into(), at: 1_472.0, hint: String::new() });
        assert_eq!(strokes(&figure), 2);
    }

    #[test]
    fn text_is_escaped() {
        let figure = figure(&["</svg><script>alert(1)</script>", "other"], |_, _| 1e-6);
        let text = svg(&drawable(figure).unwrap(), Shape::Column, true).into_string();
        assert!(!text.contains("<script") && text.matches("</svg>").count() == 1 && text.contains("&lt;script&gt;"));
    }

    #[test]
    fn stacks_stand_upon_each_other() {
        let part = |name: &str, series: usize, heights: [f64; 2]| Trace {
            stacked: true,
            x: X::Names(vec!["1 B".into(), "64 B".into()]),
            y: heights.map(Some).to_vec(),
            hover: vec![String::new(); 2],
            ..Trace::named(name, series, 0)
        };
        let traces = vec![part("a", 0, [1e-6, 2e-6]), part("b", 1, [3e-6, 1e-6])];
        let figure = Figure { sizes: None, panels: vec![Panel::of("CPU", "s")], traces, ..figure(&[], |_, _| 0.0) };
        let text = svg(&figure, Shape::Column, false).into_string();
        let number = |rect: &str, name: &str| -> f64 {
            rect.split_once(&format!(" {name}=\"")).unwrap().1.split_once('"').unwrap().0.parse().unwrap()
        };
        let rects: Vec<[f64; 3]> = text.split("<rect").skip(1).map(|rect| ["x", "y", "height"].map(|name| number(rect, name))).collect();
        assert_eq!(rects.len(), 4);
        for place in [0, 1] {
            let (below, above) = (rects[place], rects[place + 2]);
            assert_eq!(below[0], above[0]);
            assert!((above[1] + above[2] - below[1]).abs() < 0.11, "{below:?} {above:?}");
        }
        assert!((rects[2][2] / rects[0][2] - 3.0).abs() < 0.01);
    }

    proptest! {
        #[test]
        fn any_figures_make_a_chart(values in proptest::collection::vec(any::<f64>(), 10), log in any::<bool>(), far in any::<f64>()) {
            let mut figure = figure(&["a", "b"], |_, size| values[SIZES.iter().position(|one| *one == size).unwrap()]);
            figure.traces[0].up[2] = far;
            if let Some(figure) = drawable(figure) {
                for shape in [Shape::Column, Shape::Narrow] {
                    let text = svg(&figure, shape, log).into_string();
                    prop_assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
                    prop_assert_eq!(text, svg(&figure, shape, log).into_string());
                }
            }
        }
    }
}
