//! Charts: figures as SVG that is read without a script.
//!
//! ```text
//! Figure -> scale (where a value stands) -> layout (what stands where) -> marks, frame -> svg
//! ```
//!
//! A chart is a pure function of its figure. Colours come from classes and variables of
//! `assets/chart.css`, so that the same drawing is right on dark, light and paper. Every mark
//! carries its figures in a `title`; `assets/report.js` shows them at the pointer.

pub mod flame;
pub mod forest;
mod frame;
mod layout;
mod marks;
mod scale;
pub mod waterfall;

use maud::{Markup, html};

use self::layout::Layout;
pub use self::layout::Shape;
use self::marks::{colour, outline, short};
use crate::document::figure::{Figure, Trace};

/// Every drawing of a figure in these shapes, of which the page shows one: with an axis of sizes
/// a logarithmic and a linear one of each shape.
pub fn drawings(figure: &Figure, shapes: &[Shape]) -> Markup {
    let axes = figure.sizes.as_ref().map_or_else(|| vec![false], |sizes| sizes.axes());
    html! {
        @for shape in shapes {
            @for log in &axes { (svg(figure, *shape, *log)) }
        }
    }
}

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
    let (alone, above) = frame::alone(figure, &layout);
    html! {
        svg .chart .(shape.name()) .off[!shown] data-axis=(axis) viewBox={ "0 0 " (width) " " (height) } role="img"
            aria-label=(figure.alt) data-alone={ "0 -" (short(above)) " " (width) " " (short(layout.height + above)) } {
            title { (figure.title) }
            (frame::axes(figure, &layout))
            (frame::landmarks(figure, &layout))
            (marks::all(figure, &layout))
            (alone)
        }
    }
}

/// The mark of a series, for a legend.
pub fn key(trace: &Trace) -> Markup {
    html! {
        svg .(colour(trace)) .hollow[trace.hollow] viewBox="-6 -6 12 12" aria-hidden="true" { path .mark d=(outline(trace)) {} }
    }
}

#[cfg(test)]
mod tests {
    use super::layout::Layout;
    use super::{Shape, svg};
    use crate::document::figure::{Figure, Panel, SizeAxis, Trace, X};
    use crate::number::{self, Axis};
    use analysis::result::{Estimate, Interval, Method};
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    const SIZES: [u64; 10] = [1, 64, 112, 512, 1_024, 1_472, 1_473, 2_032, 8_192, 16_384];

    /// Curves over sizes that lie as near to each other as figures of a quiet machine.
    fn figure(names: &[&str], height: impl Fn(usize, u64) -> f64, log: bool) -> Figure {
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
            panels: vec![if log { Panel::log("time", "s", &traces, Axis::Seconds) } else { Panel::linear("time", "s") }],
            traces,
        }
    }

    #[test]
    fn marks_of_one_size_stand_apart_and_their_bars_with_them() {
        let figure = figure(&["a", "b", "c", "d"], |series, size| 1e-6 * (1.0 + size as f64 / 4e3 + series as f64 / 1e4), false);
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

    #[test]
    fn wide_intervals_do_not_squeeze_the_points() {
        let mut figure = figure(&["a"], |_, size| 1e-6 + 1e-9 * size as f64, false);
        figure.traces[0].up[3] = 1.0;
        let layout = Layout::of(&figure, Shape::Column, true);
        let (laid, _) = layout.points(&figure.traces.iter().collect::<Vec<_>>(), 0);
        let (first, last) = (&laid[0].1[0], laid[0].1.last().unwrap());
        assert!(first.at[1] - last.at[1] > 100.0, "they use the panel");
        assert!(laid[0].1[3].cut[0] && !laid[0].1[4].cut[0], "and the cut is said");
    }

    #[test]
    fn text_is_escaped() {
        let figure = figure(&["</svg><script>alert(1)</script>"], |_, _| 1e-6, true);
        let text = svg(&figure, Shape::Column, true).into_string();
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
        let figure = Figure { sizes: None, panels: vec![Panel::linear("CPU", "s")], traces, ..figure(&[], |_, _| 0.0, false) };
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
            let mut figure = figure(&["a"], |_, size| values[SIZES.iter().position(|one| *one == size).unwrap()], log);
            figure.traces[0].up[2] = far;
            let text = svg(&figure, Shape::Column, log).into_string();
            prop_assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
            prop_assert_eq!(text, svg(&figure, Shape::Column, log).into_string());
        }
    }
}
