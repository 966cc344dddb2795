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
