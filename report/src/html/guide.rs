//! How to read the page, in short.

use analysis::result::Analysis;
use maud::{Markup, html};

use super::part;
use crate::words::run;

/// The words and the methods.
pub fn section(analysis: &Analysis) -> Markup {
    let methods = run::methods(analysis);
    let content = html! {
        dl .guide {
            (term("Message", "What a process hands to one send call; its size is in bytes of payload."))
            (term("Goodput", "Payload that the receiver got, per second: headers and whatever was lost do not count. The receiver's figure is the result."))
            (term("Time per message", "1 / (messages per second): the time that goes by between two messages of a stream, not the time one takes to arrive."))
            (term("Service demand", "CPU time an end spends on one message: its process, its interrupts, and kernel threads that work for it."))
            (term("Block", "One pass over all cells in a fresh random order. Half of the blocks exchange the hosts' roles."))
            (term("±", "From the median to the farther end of its interval, as a share of the median. Two figures whose intervals overlap may be equal."))
            (term("Limit", "The end whose CPU was busy all the time; “waiting” if neither was, “no CPU” if an end was ready but waited for one that something else had, “–” if it cannot be told."))
            @if analysis.irq_pooled {
                (term("Interrupt time", "This kernel shows it in ticks of 10 ms, too coarse for one trial: it is added up over the trials of a cell and shared out among their messages. Intervals of CPU per message leave its scatter out."))
            }
            (term("r²", "The share of the variance between sizes that the line explains. A high one does not make a line true: look at the residuals."))
        }
        @if !methods.is_empty() {
            h3 { "How the intervals were found" }
            ul { @for method in methods { li { (crate::words::capital(&method)) "." } } }
        }
    };
    part("guide", "How to read it", &content)
}

fn term(name: &str, meaning: &str) -> Markup {
    html! { div { dt { (name) } dd { (meaning) } } }
}
