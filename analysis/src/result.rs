//! The names of everything that an analysis holds: the one input of every report.

pub use crate::cells::{CellResult, Limit};
pub use crate::conservation::Balance;
pub use crate::cost::{Breakpoint, CostModel, Fit, FitOutcome, FitPoint, Piece, Quantity, TermEstimate};
pub use crate::findings::{Disturbed, Finding};
pub use crate::latency::{Latency, Percentile};
pub use crate::metric::{Direction, Metric, Unit};
pub use crate::studies::arms::ArmResult;
pub use crate::studies::buffers::BufferMap;
pub use crate::studies::fleet::FleetResult;
pub use crate::studies::hand_over::HandOver;
pub use crate::studies::levels::LevelStudy;
pub use crate::studies::open_loop::OpenLoopStudy;
pub use crate::studies::order::OrderStudy;
pub use crate::studies::peers::{CellPeers, PeerFigures};
pub use crate::studies::published::Published;
pub use crate::studies::receipt::ReceiptStudy;
pub use crate::studies::repetitions::RepetitionStudy;
pub use crate::studies::roles::{RoleTest, Roles};
pub use crate::studies::verdicts::ArmVerdict;
pub use crate::studies::ways::WayStudy;
pub use crate::studies::{
    ANALYSIS_FORMAT, Analysis, StudyResult, arms, buffers, fleet, hand_over, levels, open_loop, published, receipt, repetitions, ways,
};
pub use crate::timeline::{TrialPoint, TrialState};
pub use stats::cost::Term;
pub use stats::estimate::{Estimate, Interval, Method};
