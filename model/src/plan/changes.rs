//! Check of the settings that a plan asks nettoll to make on its hosts.

use super::error::PlanError;
use super::{HOST_NAMES, LinkKind, Plan};
use crate::traffic::Family;

/// Checks what the arms and the cells of a plan change.
pub(super) fn check(plan: &Plan) -> Result<(), PlanError> {
    for arm in &plan.arms {
        for cell in &plan.cells {
            arm.apply(cell)?;
        }
        check_mtu(plan, arm.host_settings().mtu, &arm.name)?;
        check_hosts(plan, arm)?;
    }
    let on_agents = plan.is_elsewhere();
    let links = plan.links();
    let spread = plan.cells_run().into_iter().find(|cell| cell.conditions.most_hosts() > 1);
    let over_loopback = links.iter().any(|link| link.kind == LinkKind::Loopback);
    for (asking, changes) in changes(plan) {
        let what = format!("{} of {asking}", changes.join(", "));
        if on_agents {
            let reason = "nothing of an agent's machine is changed, nor of the network: set it there by hand, run two agents on \
                          machines that differ in it and compare them (host.b=ADDRESS in an arm), or leave out --host"
                .to_owned();
            return Err(PlanError::Change { what, reason });
        }
        if let Some(cell) = &spread {
            let reason = format!(
                "the flows of {cell} are spread over several hosts, and it would be set at two of them: leave it out, or senders and receivers"
            );
            return Err(PlanError::Change { what, reason });
        }
        if over_loopback && links.len() > 1 {
            let reason = "some trials go over loopback, where that is a change of this machine, and some over a link of nettoll's own: \
                          study them in two plans"
                .to_owned();
            return Err(PlanError::Change { what, reason });
        }
        if over_loopback && !plan.host_wide {
            let reason = "over loopback that is a change of this machine, for every program on it: study a link of nettoll's own \
                          (--link veth), or give --host-wide, and it is undone when the study ends, however it ends"
                .to_owned();
            return Err(PlanError::Change { what, reason });
        }
    }
    Ok(())
}

/// Changes of the hosts, each with who asks for it.
fn changes(plan: &Plan) -> Vec<(String, Vec<String>)> {
    let of_cells = plan.cells.iter().find(|cell| !cell.offloads.is_empty()).map(|cell| {
        let offloads = cell.offloads.keys().map(|offload| format!("offload.{offload}")).collect();
        (format!("the cell {cell}"), offloads)
    });
    let of_arms = plan.arms.iter().map(|arm| {
        let changes = arm.settings.iter().filter(|setting| setting.changes_host()).map(|setting| setting.name()).collect();
        (format!("arm '{}'", arm.name), changes)
    });
    of_cells.into_iter().chain(of_arms).filter(|(_, changes): &(_, Vec<_>)| !changes.is_empty()).collect()
}

/// Below the least MTU of IPv6 the kernel takes IPv6 off a device, and does
/// not put it back on.
fn check_mtu(plan: &Plan, mtu: Option<u32>, arm: &str) -> Result<(), PlanError> {
    let least = Family::V6.least_mtu();
    if mtu.is_none_or(|mtu| mtu >= least) || plan.link.mtu.is_some_and(|mtu| mtu < least) {
        return Ok(());
    }
    let what = format!("mtu of arm '{arm}'");
    Err(PlanError::Change {
        what,
        reason: format!("below {least} a device loses IPv6: give the whole link such an MTU (--mtu), with IPv4 cells only"),
    })
}

fn check_hosts(plan: &Plan, arm: &crate::Arm) -> Result<(), PlanError> {
    let settings = arm.host_settings();
    let refused =
        |what: &str, reason: &str| Err(PlanError::Change { what: format!("{what} of arm '{}'", arm.name), reason: reason.to_owned() });
    if let Some(name) = settings.hosts.keys().find(|name| !plan.hosts.contains_key(*name)) {
        let reason = "the study itself has no agent there, and arms over different kinds of links do not compare: name one for it (--host)";
        return refused(&format!("host.{name}"), reason);
    }
    if let Some(name) = settings.cpus.keys().find(|name| !HOST_NAMES.contains(&name.as_str()) && !plan.hosts.contains_key(*name)) {
        return refused(&format!("cpus.{name}"), &format!("the study has no host {name}: name one (--host {name}=PLACE)"));
    }
    if !plan.is_elsewhere() {
        return Ok(());
    }
    for (what, asked) in [("before", settings.before.is_some()), ("after", settings.after.is_some()), ("tool", settings.tool.is_some())] {
        if asked {
            return refused(what, "an agent runs nothing of its controllers' choosing: do it on that machine, or leave out --host");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::Plan;
    use crate::plan::{ApprovedPlan, PlanError, RawPlan, resolve};

    fn plan(more: &str, cells: &str, host_wide: bool) -> Result<Plan, String> {
        let text = format!("name = \"x\"\n{more}\n[[cells]]\ntest = [\"TCP_STREAM\", \"UDP_STREAM\"]\nsize = 64\n{cells}");
        let raw = RawPlan::parse(&text).map(|raw| RawPlan { host_wide, ..raw });
        raw.and_then(|raw| resolve(&raw, &[], 1)).map(ApprovedPlan::into_plan).map_err(|error: PlanError| error.to_string())
    }

    fn complaint(more: &str) -> String {
        plan(more, "", false).unwrap_err()
    }

    #[test]
    fn what_would_change_the_machine_needs_the_users_word() {
        for setting in ["sysctl.net.ipv4.tcp_rmem=1 2 3", "offload.gro=off", "mtu=9000"] {
            let arms = format!("arms = [\"a\", \"b: {setting}\"]\nlink = {{ kind = \"loopback\" }}");
            assert!(complaint(&arms).contains("--host-wide"), "{setting}");
            plan(&arms, "", true).unwrap();
            plan(&format!("arms = [\"a\", \"b: {setting}\"]"), "", false).unwrap();
            let far = complaint(&format!("arms = [\"a\", \"b: {setting}\"]\nhosts = {{ b = \"db1\" }}"));
            assert!(far.contains("nothing of an agent's machine"), "{far}");
        }
        let cells = "offload.tx = [true, false]";
        assert!(plan("link = { kind = \"loopback\" }", cells, false).unwrap_err().contains("offload.tx of the cell TCP_STREAM"));
        let both = format!("{cells}\nlink = [\"veth\", \"loopback\"]");
        assert!(plan("", &both, true).unwrap_err().contains("in two plans"));
        assert!(plan("", &both.replace("\"veth\", ", ""), false).unwrap_err().contains("--host-wide"));
        let varied = plan("", cells, false).unwrap().cells;
        let labels: Vec<String> = varied.iter().map(ToString::to_string).collect();
        assert_eq!(labels[..2], ["TCP_STREAM (nagle, tx on) 64 B", "TCP_STREAM (nagle, tx off) 64 B"]);
        assert_eq!(plan("", "\"offload.tx\" = [\"on\", \"off\"]", false).unwrap().cells, varied);
    }

    #[test]
    fn arms_that_cannot_be_are_refused_when_the_plan_is_read() {
        assert!(complaint("arms = [\"a\", \"b: mtu=1000\"]").contains("loses IPv6"));
        plan("arms = [\"a\", \"b: mtu=1000\"]\nlink = { mtu = 1200 }", "", false).unwrap();
        assert!(complaint("arms = [\"a\", \"b: host.b=db2\"]").contains("has no agent there"));
        assert!(complaint("arms = [\"a\", \"b: before=true\"]\nhosts = { b = \"db1\" }").contains("an agent runs nothing"));
        assert!(complaint("arms = [\"a\", \"b: stamp=true\"]").contains("over the cell TCP_STREAM"));
        assert!(complaint("arms = [\"a\", \"b: flows=1\\\\,2\"]").contains("flows"));
        plan("arms = [\"a\", \"b: host.b=db2\"]\nhosts = { b = \"db1\" }", "", false).unwrap();
    }

    #[test]
    fn a_plan_with_arms_is_stored_and_read_again() {
        let plan = plan("arms = [\"a\", \"a\", \"b: cc=reno, cpus.a=0,2, mtu=1400\"]", "", false).unwrap();
        let json = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), plan);
        assert_eq!((plan.shape().arms, plan.cells_run().len()), (3, 3));
    }
}
