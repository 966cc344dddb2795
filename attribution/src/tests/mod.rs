//! Tests of the receipt as a whole, and what they share.

mod arithmetic;
mod classification;
mod comparing;
mod growing;
mod labels;
mod made;
mod parsing;
mod profiles;
mod resolve;
mod sampled;
mod weighing;

use crate::attributes::Attributes;
use crate::rules::Rule;
use crate::{Category, Classifier, Layer, Rules, Setting};

/// The ruling on a function whatever calls it; `None` where no rule says.
struct Ruling {
    layer: Option<Setting<Layer>>,
    category: Option<Setting<Category>>,
}

impl Rules {
    fn ruling(&self, symbol: &str) -> Ruling {
        let mut classifier = Classifier::new(self);
        let frames = [classifier.known(symbol)];
        let first = |wanted: &dyn Fn(&Rule) -> bool| classifier.matching(&frames, 0).map(|(_, rule)| rule).find(|rule| wanted(rule));
        Ruling {
            layer: first(&|rule| rule.layer.is_some()).and_then(|rule| rule.layer),
            category: first(&|rule| rule.category.is_some()).and_then(|rule| rule.category),
        }
    }

    fn classify(&self, frames: &[&str], user: bool) -> Attributes {
        Classifier::new(self).classify(frames, user)
    }
}
