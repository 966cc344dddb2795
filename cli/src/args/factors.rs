//! Flags that vary a factor, for every command that has a plan.

use clap::Args;
use model::Family;
use model::plan::Factor;

/// Flags that replace the levels of a factor.
#[derive(Debug, Args)]
#[command(next_help_heading = "Factors (lists are separated by commas)")]
pub struct FactorArgs {
    /// Tests: TCP_STREAM, UDP_STREAM, TCP_MAERTS, TCP_RR, UDP_RR, TCP_CRR
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    test: Option<Vec<String>>,
    /// Message sizes: 1,64,16K or 1..16K:x2 or 100..900:+100 (K is 1024)
    #[arg(short = 'l', long, value_name = "SWEEP", value_delimiter = ',', allow_hyphen_values = true)]
    size: Option<Vec<String>>,
    /// Bytes that one receive call asks for
    #[arg(long, value_name = "SWEEP", value_delimiter = ',', allow_hyphen_values = true)]
    read_size: Option<Vec<String>>,
    /// TCP_NODELAY; without a value: true
    #[arg(short = 'N', long, value_name = "LIST", value_delimiter = ',', num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    nodelay: Option<Vec<String>>,
    /// TCP congestion control
    #[arg(short = 'C', long, value_name = "LIST", value_delimiter = ',')]
    cc: Option<Vec<String>>,
    /// SO_SNDBUF at both ends
    #[arg(long, value_name = "SWEEP", value_delimiter = ',', allow_hyphen_values = true)]
    sndbuf: Option<Vec<String>>,
    /// SO_RCVBUF at both ends
    #[arg(long, value_name = "SWEEP", value_delimiter = ',', allow_hyphen_values = true)]
    rcvbuf: Option<Vec<String>>,
    /// Flows beside each other, each with a thread
    #[arg(short = 'P', long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true)]
    flows: Option<Vec<String>>,
    /// What each flow offers: 10M bits or 50000/s messages a second (K is 1000)
    #[arg(short = 'b', long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true)]
    rate: Option<Vec<String>>,
    /// How a sender waits for the time of its next message: sleep, spin
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pacing: Option<Vec<String>>,
    /// How both ends wait for what is to come: block, spin
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    waiting: Option<Vec<String>>,
    /// CPU time spent before each send, as an application's own work: 0,1us
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true)]
    work: Option<Vec<String>>,
    /// Both ends of a stream send; without a value: true
    #[arg(long, value_name = "LIST", value_delimiter = ',', num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    bidir: Option<Vec<String>>,
    /// Datagrams bear their number and time, for loss, order, jitter and
    /// one-way times; without a value: true
    #[arg(long, value_name = "LIST", value_delimiter = ',', num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    stamp: Option<Vec<String>>,
    /// How messages reach the kernel: send
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    api: Option<Vec<String>>,
    /// Measured messages of a trial, in place of its length: 500,1000 or 500..9000:+500
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true)]
    count: Option<Vec<String>>,
    /// Units of host load at both ends, or at one: 2,sender:2,receiver:1
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true)]
    load: Option<Vec<String>>,
    /// Pairs of other hosts on the link, flat out or each at a rate: 3,3x750K
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true)]
    link_load: Option<Vec<String>>,
    /// Bulk TCP flows beside the trial
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true)]
    bulk: Option<Vec<String>>,
    /// Scheduling of both ends, or of one: usual,sender:nice:10,receiver:rt:50
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    priority: Option<Vec<String>>,
    /// CPUs: usual, same-core, other-core, softirq-at-sender, softirq-at-receiver
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    placement: Option<Vec<String>>,
    /// Transmit checksumming of the link's devices: on, off or on,off
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    offload_tx: Option<Vec<String>>,
    /// Receive checksumming: on, off or on,off
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    offload_rx: Option<Vec<String>>,
    /// Scatter-gather: on, off or on,off
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    offload_sg: Option<Vec<String>>,
    /// TCP segmentation offload: on, off or on,off
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    offload_tso: Option<Vec<String>>,
    /// Generic segmentation offload: on, off or on,off
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    offload_gso: Option<Vec<String>>,
    /// Generic receive offload: on, off or on,off
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    offload_gro: Option<Vec<String>>,
    /// IPv4 only
    #[arg(short = '4', conflicts_with = "ipv6")]
    ipv4: bool,
    /// IPv6 only
    #[arg(short = '6')]
    ipv6: bool,
}

impl FactorArgs {
    /// The factors named, with their levels.
    pub fn overrides(&self) -> Vec<(Factor, Vec<String>)> {
        let family = match (self.ipv4, self.ipv6) {
            (true, _) => Some(vec![Family::V4.to_string()]),
            (_, true) => Some(vec![Family::V6.to_string()]),
            _ => None,
        };
        let named = [
            (Factor::Test, &self.test),
            (Factor::Size, &self.size),
            (Factor::ReadSize, &self.read_size),
            (Factor::Nodelay, &self.nodelay),
            (Factor::Cc, &self.cc),
            (Factor::Sndbuf, &self.sndbuf),
            (Factor::Rcvbuf, &self.rcvbuf),
            (Factor::Flows, &self.flows),
            (Factor::Rate, &self.rate),
            (Factor::Pacing, &self.pacing),
            (Factor::Waiting, &self.waiting),
            (Factor::Work, &self.work),
            (Factor::Bidirectional, &self.bidir),
            (Factor::Stamp, &self.stamp),
            (Factor::Api, &self.api),
            (Factor::Family, &family),
            (Factor::Count, &self.count),
            (Factor::Load, &self.load),
            (Factor::LinkLoad, &self.link_load),
            (Factor::Bulk, &self.bulk),
            (Factor::Priority, &self.priority),
            (Factor::Placement, &self.placement),
            (Factor::OffloadTx, &self.offload_tx),
            (Factor::OffloadRx, &self.offload_rx),
            (Factor::OffloadSg, &self.offload_sg),
            (Factor::OffloadTso, &self.offload_tso),
            (Factor::OffloadGso, &self.offload_gso),
            (Factor::OffloadGro, &self.offload_gro),
        ];
        named.into_iter().filter_map(|(factor, levels)| Some((factor, levels.clone()?))).collect()
    }
}
