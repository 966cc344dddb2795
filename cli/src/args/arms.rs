//! The flags that compare arms.

use clap::Args;

/// Flags for arms.
#[derive(Debug, Args)]
#[command(next_help_heading = "Arms")]
pub struct ArmArgs {
    /// A set of settings to compare with the others; the first arm is the
    /// baseline. 'base', 'bbr: cc=bbr', 'x: SETTING=VALUE, SETTING=VALUE'. A
    /// setting is a factor (cc, nodelay, sndbuf, offload.gro=off, ...), mtu,
    /// sysctl.NAME, cpus.a, cpus.b (0,2-3), before or after (a command on each
    /// host around each trial), host.a, host.b (another agent), tool (another
    /// nettoll for the endpoints). May be given up to 16 times
    #[arg(long, value_name = "NAME[: SETTING=VALUE, ...]")]
    pub arm: Vec<String>,
    /// Change settings of this machine, outside nettoll's own namespaces, where
    /// arms or cells ask for it; undone when the study ends, however it ends
    #[arg(long)]
    pub host_wide: bool,
}
