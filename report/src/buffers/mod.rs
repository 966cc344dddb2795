//! Socket buffers: what a map of goodput over two buffers shows, as text and in
//! the page.

pub mod chart;
pub mod html;
pub mod terminal;

mod heat;
mod words;
