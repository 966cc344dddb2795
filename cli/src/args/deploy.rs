//! The flags of `nettoll deploy`.

use clap::Args;
use model::plan::{CommandHost, HostPlace};

/// `nettoll deploy`.
#[derive(Debug, Args)]
pub struct DeployArgs {
    /// Hosts, as behind --host: ssh:db1, slurm:NODE, kubectl:POD, 'cmd:ANY COMMAND'
    #[arg(value_name = "PLACE", required = true, value_parser = parse)]
    pub places: Vec<CommandHost>,
    /// Remove every nettoll that was copied there, of any version
    #[arg(long)]
    pub prune: bool,
}

fn parse(word: &str) -> Result<CommandHost, String> {
    match word.parse() {
        Ok(HostPlace::Command(host)) => Ok(host),
        Ok(HostPlace::Agent(_)) => {
            Err("that would be an agent, to which nothing is copied: write ssh:, slurm:, kubectl: or cmd: before it".to_owned())
        }
        Err(error) => Err(error.to_string()),
    }
}
