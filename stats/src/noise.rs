//! Noise whose truth is known, for the simulations that show a method's error rate.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A generator with a fixed seed: a simulation says the same every time.
pub fn generator(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// A standard normal value (Box and Muller 1958).
pub fn normal(random: &mut ChaCha8Rng) -> f64 {
    let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.random::<f64>()).cos()
}

/// Noise around 100.
#[derive(Debug, Clone, Copy)]
pub enum Noise {
    /// Normal.
    Normal,
    /// Lognormal.
    Lognormal,
    /// Two modes, the upper one in 3 of 10 trials.
    TwoModes,
    /// Two equally likely modes: the median lies in the gap between them.
    TwoEqualModes,
}

impl Noise {
    /// All of it.
    pub const ALL: &'static [Self] = &[Self::Normal, Self::Lognormal, Self::TwoModes, Self::TwoEqualModes];

    /// One value; `spread` is about the relative standard deviation.
    pub fn draw(self, spread: f64, random: &mut ChaCha8Rng) -> f64 {
        let mut mode = |share: f64| {
            let centre = if random.random::<f64>() < share { 1.0 + 2.0 * spread } else { 1.0 };
            100.0 * centre * (1.0 + 0.3 * spread * normal(random))
        };
        match self {
            Self::TwoModes => mode(0.3),
            Self::TwoEqualModes => mode(0.5),
            Self::Normal => 100.0 * (1.0 + spread * normal(random)),
            Self::Lognormal => 100.0 * (spread * normal(random)).exp(),
        }
    }

    /// The true median; of the modes, from many draws.
    pub fn median(self, spread: f64) -> f64 {
        let mut random = generator(99);
        match self {
            Self::Normal | Self::Lognormal => 100.0,
            _ => {
                let values: Vec<f64> = (0..100_001).map(|_| self.draw(spread, &mut random)).collect();
                crate::median::median(&values).unwrap_or_default()
            }
        }
    }
}
