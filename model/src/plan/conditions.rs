//! Check of the conditions that cells ask for: which of them can be brought about on the hosts
//! of a plan.

use super::error::PlanError;
use super::{LinkKind, Plan};
use crate::cell::Cell;
use crate::condition::Placement;

/// Checks what the cells of a plan are run under, each as its arm makes it.
pub(super) fn check(plan: &Plan) -> Result<(), PlanError> {
    for cell in plan.cells_run() {
        check_cell(plan, &cell)?;
    }
    for arm in plan.arms.iter().filter(|arm| !arm.host_settings().cpus.is_empty()) {
        for cell in &plan.cells {
            let placement = arm.apply(cell)?.conditions.placement;
            if matches!(placement, Placement::SameCore | Placement::OtherCore) {
                let what = format!("placement {placement} in arm '{}'", arm.name);
                return refused(what, "the arm names the CPUs of the ends itself (cpus.a, cpus.b): leave one of the two out");
            }
        }
    }
    Ok(())
}

fn check_cell(plan: &Plan, cell: &Cell) -> Result<(), PlanError> {
    let conditions = &cell.conditions;
    let what = |condition: &str| format!("{condition} of the cell {cell}");
    let steers = matches!(conditions.placement, Placement::SoftirqAtSender | Placement::SoftirqAtReceiver);
    if plan.is_elsewhere() {
        if !conditions.load.is_usual() {
            let reason = "an agent loads no machine: start other work there by hand and say so in the study's name, or leave out --host";
            return refused(what("load"), reason);
        }
        if !conditions.priority.is_usual() {
            let reason = "an agent changes no priority: start it under one (nice, chrt), which its ends inherit, or leave out --host";
            return refused(what("priority"), reason);
        }
        if steers {
            let reason = "an agent changes nothing of its machine's devices: set rps_cpus there by hand, or leave out --host";
            return refused(what(conditions.placement.name()), reason);
        }
    }
    if steers && plan.link_of(cell).kind == LinkKind::Loopback {
        let reason = "loopback is this machine's own device, which every program here uses: study a link of nettoll's own (--link veth)";
        return refused(what(conditions.placement.name()), reason);
    }
    Ok(())
}

fn refused(what: String, reason: &str) -> Result<(), PlanError> {
    Err(PlanError::Change { what, reason: reason.to_owned() })
}

#[cfg(test)]
mod tests {
    use crate::plan::{RawPlan, resolve};

    fn complaint(more: &str, cells: &str) -> Option<String> {
        let text = format!("name = \"x\"\n{more}\n[[cells]]\ntest = \"TCP_STREAM\"\nsize = 64\n{cells}");
        RawPlan::parse(&text).and_then(|raw| resolve(&raw, &[], 1)).err().map(|error| error.to_string())
    }

    #[test]
    fn an_agents_machine_is_left_as_it_is() {
        const AGENT: &str = "hosts = { b = \"db1\" }";
        for (cells, words) in [
            ("load = \"receiver:1\"", "load of the cell TCP_STREAM (nagle, load receiver:1) 64 B: an agent loads no machine"),
            ("priority = \"nice:5\"", "nice, chrt"),
            ("placement = \"softirq-at-sender\"", "set rps_cpus there by hand"),
        ] {
            let refused = complaint(AGENT, cells).unwrap();
            assert!(refused.contains(words), "{refused}");
            assert_eq!(complaint("", cells), None, "{cells}");
        }
        let in_an_arm = complaint(&format!("{AGENT}\narms = [\"a\", \"b: load=2\"]"), "").unwrap();
        assert!(in_an_arm.contains("load both:2"), "{in_an_arm}");
        // Where an end runs is the tool's own affair.
        assert_eq!(complaint(AGENT, "placement = [\"usual\", \"same-core\", \"other-core\"]"), None);
    }

    #[test]
    fn loopback_is_not_steered_but_loaded() {
        const LOOPBACK: &str = "link = { kind = \"loopback\" }";
        assert!(complaint(LOOPBACK, "placement = \"softirq-at-receiver\"").unwrap().contains("--link veth"));
        assert!(complaint("", "link = \"loopback\"\nplacement = \"softirq-at-receiver\"").unwrap().contains("--link veth"));
        assert_eq!(complaint(LOOPBACK, "placement = \"same-core\"\nload = 1\npriority = \"rt:1\""), None);
    }

    #[test]
    fn two_words_on_where_an_end_runs_are_refused() {
        let arms = "arms = [\"a\", \"b: cpus.a=0\"]";
        assert!(complaint(arms, "placement = \"same-core\"").unwrap().contains("placement same-core in arm 'b'"));
        assert!(complaint("arms = [\"a\", \"b: cpus.a=0, placement=other-core\"]", "").unwrap().contains("leave one of the two out"));
        assert_eq!(complaint(arms, "placement = \"softirq-at-sender\""), None);
    }
}
