//! The four independent attributes of a sample, and where it crossed into the
//! kernel.

use model::choice;
use serde::Serialize;

choice! {
    /// In what the kernel ran.
    Context, "a context" {
        /// On behalf of the process, in its system call or in user code.
        Process = "process",
        /// In a software interrupt, wherever it happened to run.
        Softirq = "softirq",
        /// In a hard interrupt.
        Hardirq = "hardirq",
    }
}

choice! {
    /// Direction of the message that was worked on.
    Direction, "a direction" {
        /// Out, with payload.
        Send = "send",
        /// In.
        Receive = "receive",
        /// An acknowledgement, in or out.
        Acknowledgement = "acknowledgement",
    }
}

choice! {
    /// What is done for a message.
    Phase, "a phase" {
        /// It is sent.
        Send = "send",
        /// Its acknowledgement is taken.
        AckTaken = "acknowledgement taken",
        /// It is received.
        Receive = "receive",
        /// Its acknowledgement is sent.
        AckSent = "acknowledgement sent",
    }
}

choice! {
    /// On whose behalf the time was spent.
    Layer, "a layer" {
        /// The process's own code.
        User = "user",
        /// The way into the kernel and out, and the call's own handling.
        Syscall = "syscall",
        /// Sockets, whatever their protocol.
        Socket = "socket",
        /// TCP.
        Tcp = "tcp",
        /// UDP.
        Udp = "udp",
        /// IP with routing, neighbours, fragments and IPsec.
        Ip = "ip",
        /// Packet filter and connection tracking.
        Netfilter = "netfilter",
        /// BPF programs and their maps.
        Bpf = "bpf",
        /// Network devices in general: queues, softirq of the network, GSO, GRO.
        Netdev = "netdev",
        /// One device's driver.
        Driver = "driver",
        /// The scheduler, and dispatch of softirqs.
        Sched = "sched",
        /// Timers.
        Timer = "timer",
        /// The process's memory: faults and mappings.
        Mm = "mm",
        /// Security modules.
        Security = "security",
        /// No rule says.
        Other = "other",
    }
}

choice! {
    /// The kind of work: the categories of Kay and Pasquale 1993, with
    /// checksums that are computed while copying told apart.
    Category, "a category" {
        /// Computing or verifying a checksum.
        Checksum = "checksum",
        /// One loop that copies and computes the checksum.
        CopyChecksum = "copy+checksum",
        /// Moving payload.
        DataMovement = "data-movement",
        /// Getting, freeing, splitting and accounting of buffers and their memory.
        BufferManagement = "buffer-management",
        /// Headers, state and decisions of protocols, devices and sockets.
        Protocol = "protocol",
        /// System calls, scheduling, interrupts, locks, timers, clocks.
        OperatingSystem = "operating-system",
        /// Finding and keeping entries in tables, trees and queues.
        DataStructures = "data-structures",
        /// Checks that a sound message passes.
        ErrorChecking = "error-checking",
        /// The process's own code, which has no kind of the kernel's work.
        User = "user",
        /// No rule says.
        Other = "other",
    }
}

choice! {
    /// Part of getting into the kernel and out of it.
    Crossing, "a crossing" {
        /// From the call to the system call's function.
        Entry = "entry",
        /// From there back to user code.
        Exit = "exit",
    }
}

impl Category {
    /// True of work that touches payload: 1993's "data-touching" work, checksum
    /// and data movement.
    pub const fn touches_data(self) -> bool {
        matches!(self, Self::Checksum | Self::CopyChecksum | Self::DataMovement)
    }
}

/// The attributes that the rules give one call chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Attributes {
    /// In what it ran.
    pub context: Context,
    /// Direction of the message; `None` where the chain shows none, as in the
    /// entry of a system call or in user code.
    pub direction: Option<Direction>,
    /// Part of a message's course that the direction is: of acknowledgements whether one is taken or sent.
    pub phase: Option<Phase>,
    /// On whose behalf.
    pub layer: Layer,
    /// The kind of work.
    pub category: Category,
    /// Set where it is part of getting into the kernel or out.
    pub crossing: Option<Crossing>,
    /// The rules that decided.
    pub rule: Decided,
}

/// The places, in the rule file's order, of the rules that decided. Where a
/// rule says `caller`, the rule that named the caller's layer decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Decided {
    /// The layer; `None` when no rule did.
    pub layer: Option<u16>,
    /// The category; `None` when no rule did.
    pub category: Option<u16>,
}
