//! Orders of a controller to an end at a mark.

/// What a traffic thread does after the edge of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Order {
    /// It goes on. Nobody waits for the edge: a slice begins with it.
    GoOn = 0,
    /// It goes on; the controller waits for the edge.
    Tell = 1,
    /// It sleeps until the next mark; the controller waits for the edge.
    Stop = 2,
}

impl Order {
    pub(super) const fn split(word: u32) -> (u32, Self) {
        let order = match word & 3 {
            0 => Self::GoOn,
            1 => Self::Tell,
            _ => Self::Stop,
        };
        (word >> 2, order)
    }

    pub(super) const fn word(self, mark: u32) -> u32 {
        mark << 2 | self as u32
    }

    pub(super) const fn is_awaited(self) -> bool {
        !matches!(self, Self::GoOn)
    }
}
