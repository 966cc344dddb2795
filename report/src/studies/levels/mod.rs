//! Conditions beside their base level.

mod chart;
mod part;
mod words;

use analysis::result::{Analysis, LevelStudy};

use crate::document::Section;
use crate::number;

/// What a study of levels shows.
pub fn section(study: &LevelStudy, analysis: &Analysis) -> Section {
    let confidence = number::percent(analysis.run.plan.blocks.confidence);
    let mut parts = vec![part::findings(study).into()];
    for factor in &study.factors {
        parts.extend(factor.series.iter().enumerate().map(|(place, series)| part::series(factor.factor, series, place == 0).into()));
    }
    Section::study(
        "levels",
        "Levels",
        format!(
            "Ratios to the base level, pairs of the same block. ± reaches to the farther end of the {confidence} interval; each interval is for \
             itself, and one that holds 1 shows no difference."
        ),
        chart::all(study),
        parts,
    )
}
