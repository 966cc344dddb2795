//! A host's side: carries out what an arm wants of it.

use model::adjust::{ArmReply, ArmRequest};
use model::control::FromHost;

use super::{Adjuster, COMMAND_LIMIT, may_write, run_command, tool_version};
use crate::host::namespace::Entered;

/// Carries a command out.
///
/// # Errors
/// What was tried, what the system answered, what to do.
pub fn carry_out(command: ArmRequest, adjuster: &mut Adjuster, entered: &mut Entered) -> Result<FromHost, Box<dyn std::error::Error>> {
    Ok(match command {
        ArmRequest::Look { sysctls } => FromHost::Arm(ArmReply::NotOwn(sysctls.into_iter().filter_map(not_own).collect())),
        ArmRequest::Adjust(wanted) => FromHost::Arm(ArmReply::Adjusted(adjuster.adjust(&wanted, entered)?)),
        ArmRequest::Run { command, environment } => {
            run_command(&command, &environment, COMMAND_LIMIT)?;
            FromHost::Done
        }
        ArmRequest::Version { tool } => FromHost::Arm(ArmReply::Version(tool_version(&tool)?)),
        ArmRequest::Start { .. } => return Err("start an endpoint: that is the keeper's own to do (a fault of the program)".into()),
    })
}

/// A sysctl that this namespace does not have, or not to be written. The kernel
/// lets a namespace write those of its network that are its own, and no others.
fn not_own(name: String) -> Option<(String, String)> {
    if !name.starts_with("net.") {
        return Some((name, "it is not one of the network's".to_owned()));
    }
    may_write(&name).err().map(|error| (name, error.to_string()))
}
