//! Repeatability of a receipt: two halves of its blocks.

use std::collections::BTreeMap;

use model::order::Order;

use super::Repeat;
use super::kept::KeptTime;
use attribution::Layer;
use attribution::Tally;

/// Compares the layers of the earlier half of the time passes with those of the
/// later one; `None` of fewer than two passes with samples.
pub fn repeat(time: &[KeptTime], tallies: &[Tally]) -> Option<Repeat> {
    let mut order: Vec<(u32, &Tally)> = time.iter().zip(tallies).map(|(pass, tally)| (pass.edges.block, tally)).collect();
    order.retain(|(_, tally)| tally.samples > 0);
    order.order_by_key(|(block, _)| *block);
    if order.len() < 2 {
        return None;
    }
    let halves = order.split_at(order.len() / 2);
    let [first, second] = [halves.0, halves.1].map(|half| {
        let mut layers: BTreeMap<Layer, u64> = BTreeMap::new();
        for (layer, count) in half.iter().flat_map(|(_, tally)| &tally.layers) {
            *layers.entry(*layer).or_default() += count;
        }
        layers
    });
    Some(apart(&first, &second))
}

/// Half the sum of the differences of the shares; and its mean by chance, when
/// each difference is normal: its size is √(2/π) standard deviations, with the
/// binomial variance p(1−p)(1/n + 1/m).
fn apart(first: &BTreeMap<Layer, u64>, second: &BTreeMap<Layer, u64>) -> Repeat {
    let [n, m] = [first, second].map(|half| half.values().sum::<u64>() as f64);
    let count = |half: &BTreeMap<Layer, u64>, layer: &Layer| half.get(layer).copied().unwrap_or(0) as f64;
    let each = |layer: &Layer| {
        let (a, b) = (count(first, layer), count(second, layer));
        let share = (a + b) / (n + m);
        let deviation = (share * (1.0 - share) * (1.0 / n + 1.0 / m)).sqrt();
        ((a / n - b / m).abs(), deviation * std::f64::consts::FRAC_2_PI.sqrt())
    };
    let (distance, chance) = Layer::ALL.iter().map(each).fold((0.0, 0.0), |sums, this| (sums.0 + this.0, sums.1 + this.1));
    Repeat { total_variation: distance / 2.0, by_chance: chance / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::apart;
    use crate::testing::generator;
    use attribution::Layer;
    use rand::RngExt;
    use std::collections::BTreeMap;

    #[test]
    fn halves_that_differ_are_apart() {
        let half = |tcp: u64, ip: u64| BTreeMap::from([(Layer::Tcp, tcp), (Layer::Ip, ip)]);
        assert_eq!(apart(&half(600, 400), &half(300, 200)).total_variation, 0.0);
        assert!((apart(&half(600, 400), &half(400, 600)).total_variation - 0.2).abs() < 1e-12);
        assert!((apart(&half(1_000, 0), &half(0, 500)).total_variation - 1.0).abs() < 1e-12);
    }

    /// What chance makes of it is what it says.
    #[test]
    fn chance_is_known() {
        let layers = [(Layer::Tcp, 0.5), (Layer::Ip, 0.3), (Layer::Socket, 0.2)];
        let mut random = generator(8);
        let mut half = |samples: u32| {
            let mut counts = BTreeMap::new();
            for _ in 0..samples {
                let at: f64 = random.random();
                let layer = if at < 0.5 {
                    layers[0].0
                } else if at < 0.8 {
                    layers[1].0
                } else {
                    layers[2].0
                };
                *counts.entry(layer).or_default() += 1;
            }
            counts
        };
        let (mut seen, mut said) = (0.0, 0.0);
        for _ in 0..300 {
            let repeat = apart(&half(400), &half(700));
            seen += repeat.total_variation;
            said += repeat.by_chance;
        }
        assert!((seen / said - 1.0_f64).abs() < 0.1, "{seen} {said}");
    }
}
