//! Throughput against size on logarithmic axes: a power law, then saturation.

use serde::Serialize;

/// A power law holds as long as every size lies this near to it, as a share.
pub const WITHIN: f64 = 0.05;

/// Fewer sizes lie on any law.
const LEAST_SIZES: usize = 4;

/// goodput = `coefficient` · size ^ `exponent`, up to `to` bytes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PowerLaw {
    /// 1 where bytes cost nothing.
    pub exponent: f64,
    /// bit/s at one byte.
    pub coefficient: f64,
    /// Smallest size of the law.
    pub from: u64,
    /// Largest size that is within [`WITHIN`] of it.
    pub to: u64,
    /// Smallest size that is not: where the curve bends; `None` where it never does.
    pub bends_at: Option<u64>,
}

/// The limit of throughput, by a cost of `message` and `byte` ns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Saturation {
    /// 8e9 / (ns per byte), in bit/s.
    pub limit_bit_per_s: f64,
    /// (ns per message) / (ns per byte): the size at which half of the limit is
    /// reached (Hockney's n½, "The Science of Computer Benchmarking", 1996, 3.1), in bytes.
    pub half_bytes: f64,
    /// Goodput of the largest size over the limit.
    pub reached: f64,
}

impl Saturation {
    /// The saturation of a line; `None` where bytes cost nothing.
    pub fn of_line(message_ns: f64, byte_ns: f64, largest_bit_per_s: f64) -> Option<Self> {
        let limit_bit_per_s = 8e9 / byte_ns;
        (byte_ns > 0.0).then(|| Self { limit_bit_per_s, half_bytes: message_ns / byte_ns, reached: largest_bit_per_s / limit_bit_per_s })
    }
}

/// The law of the most of the smallest sizes, given with their goodputs by
/// rising size; by least squares of the logarithms. `None` when not even
/// [`LEAST_SIZES`] follow one.
pub fn law(points: &[(u64, f64)]) -> Option<PowerLaw> {
    let logs: Vec<(f64, f64)> = points.iter().map(|(size, rate)| ((*size as f64).ln(), rate.ln())).collect();
    (LEAST_SIZES..=points.len()).rev().find_map(|length| {
        let (slope, start) = least_squares(logs.get(..length)?)?;
        let near = |(x, y): &(f64, f64)| ((y - start - slope * x).exp() - 1.0).abs() <= WITHIN;
        logs[..length].iter().all(near).then(|| PowerLaw {
            exponent: slope,
            coefficient: start.exp(),
            from: points[0].0,
            to: points[length - 1].0,
            bends_at: points.get(length).map(|point| point.0),
        })
    })
}

/// Slope and start of the line of least squares; `None` when it is none.
pub fn least_squares(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let n = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let along: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    let slope = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum::<f64>() / along;
    (along > 0.0 && slope.is_finite() && y.is_finite()).then_some((slope, y - slope * x))
}

#[cfg(test)]
mod tests {
    use super::{Saturation, law, least_squares};

    /// bit/s at powers of two of a message that costs so much.
    fn goodput(message: f64, byte: f64) -> Vec<(u64, f64)> {
        (0..15).map(|power| 1_u64 << power).map(|size| (size, size as f64 * 8e9 / (message + byte * size as f64))).collect()
    }

    #[test]
    fn a_cost_per_message_alone_is_a_law_of_exponent_one() {
        let law = law(&goodput(1000.0, 0.0)).unwrap();
        assert!((law.exponent - 1.0).abs() < 1e-9 && (law.coefficient - 8e6).abs() < 1.0, "{law:?}");
        assert_eq!((law.from, law.to, law.bends_at), (1, 16_384, None));
    }

    #[test]
    fn bytes_bend_the_curve() {
        let points = goodput(10_000.0, 1.0);
        let law = law(&points).unwrap();
        assert!(law.exponent > 0.95 && law.exponent < 1.0, "{law:?}");
        assert!((1_024..8_192).contains(&law.to) && law.bends_at == Some(law.to * 2), "{law:?}");
        let end = Saturation::of_line(10_000.0, 1.0, points[14].1).unwrap();
        assert!((end.limit_bit_per_s - 8e9).abs() < 1.0 && (end.half_bytes - 10_000.0).abs() < 1e-6);
        assert!((end.reached - 16_384.0 / 26_384.0).abs() < 1e-9);
        assert_eq!(Saturation::of_line(10.0, 0.0, 1.0), None);
    }

    #[test]
    fn what_follows_no_law_has_none() {
        assert_eq!(law(&[(1, 1.0), (2, 9.0), (4, 2.0), (8, 30.0)]), None);
        assert_eq!(law(&[(1, 1.0), (2, 2.0), (4, 4.0)]), None);
        assert_eq!(least_squares(&[(1.0, 1.0), (1.0, 2.0)]), None);
    }
}
