//! Check of the links that the trials of a plan can cross, and of what else these can carry.

use super::error::PlanError;
use super::{Plan, many};
use crate::cell::{Cell, Factor, LevelError};
use crate::condition::Conditions;
use crate::link::{LinkKind, Offload};

/// Features that make one packet of several frames.
const BUNDLING: [Offload; 3] = [Offload::Tso, Offload::Gso, Offload::Gro];

/// Checks the link of every cell as some trial runs it.
pub(super) fn check(plan: &Plan) -> Result<(), PlanError> {
    check_loopback(plan)?;
    many::check(plan)?;
    for cell in plan.cells_run() {
        if !plan.is_elsewhere() {
            check_kind(plan, &cell)?;
            check_room(plan, &cell)?;
        } else {
            check_agents(plan, &cell)?;
        }
        check_frames(plan, &cell)?;
    }
    Ok(())
}

fn refused(factor: Factor, reason: String) -> PlanError {
    LevelError { factor, reason }.into()
}

/// Between machines nothing is made, and an agent sends nothing but the trial's messages.
fn check_agents(plan: &Plan, cell: &Cell) -> Result<(), PlanError> {
    let conditions = &cell.conditions;
    match conditions.link {
        Some(kind) if kind != LinkKind::Network => {
            return Err(refused(Factor::Link, format!("{kind}: hosts that are named are joined by the network; leave out --host")));
        }
        _ => {}
    }
    let reason = "an agent sends nothing but the messages of trials; leave it out, or leave out --host";
    if !conditions.link_load.is_none() {
        return Err(refused(Factor::LinkLoad, format!("{}: {reason}", conditions.link_load)));
    }
    if let Some(factor) = spread(cell) {
        many::check_cell(plan, cell, factor)?;
    }
    if conditions.bulk > 0 {
        return Err(refused(Factor::Bulk, format!("{}: {reason}", conditions.bulk)));
    }
    Ok(())
}

/// The factor by which the flows of an end are spread over several hosts, if they are.
fn spread(cell: &Cell) -> Option<Factor> {
    let Conditions { senders, receivers, .. } = cell.conditions;
    [(Factor::Senders, senders), (Factor::Receivers, receivers)].into_iter().find(|(_, hosts)| *hosts > 1).map(|(factor, _)| factor)
}

fn check_kind(plan: &Plan, cell: &Cell) -> Result<(), PlanError> {
    match plan.link_of(cell).kind {
        LinkKind::Network => Err(refused(Factor::Link, "network: name at least one host: --host b=ADDRESS".to_owned())),
        _ => Ok(()),
    }
}

/// Loopback is this machine's own device: a plan sets none of its properties.
fn check_loopback(plan: &Plan) -> Result<(), PlanError> {
    let crossed = || plan.links().iter().any(|link| link.kind == LinkKind::Loopback);
    let features = plan.link.offloads.iter().map(|(offload, on)| format!("{offload} {}", if *on { "on" } else { "off" }));
    // Cells over other links may need the MTU.
    let mtu = plan.link.mtu.filter(|_| plan.link.kind == LinkKind::Loopback).map(|mtu| format!("MTU {mtu}"));
    let settings: Vec<String> = features.chain(mtu).collect();
    if settings.is_empty() || !crossed() {
        return Ok(());
    }
    let reason = "loopback is this machine's own device, which every program here uses, and stays as it is: leave that out, or study a link \
                  of nettoll's own (--link veth)";
    Err(PlanError::Change { what: format!("{} over loopback", settings.join(", ")), reason: reason.to_owned() })
}

fn check_room(plan: &Plan, cell: &Cell) -> Result<(), PlanError> {
    let (load, kind) = (cell.conditions.link_load, plan.link_of(cell).kind);
    if kind.has_room() {
        return Ok(());
    }
    let reason = "this link joins two hosts and no others: choose 'shared-wire RATE', 'switch' or 'switch RATE' (--link 'switch 100M')";
    match spread(cell) {
        Some(factor) => Err(refused(factor, format!("{} over {kind}: {reason}", cell.conditions.most_hosts()))),
        None if load.is_none() => Ok(()),
        None => Err(refused(Factor::LinkLoad, format!("{load} over {kind}: {reason}"))),
    }
}

/// Refuses packets that stand for several frames where each frame is charged.
fn check_frames(plan: &Plan, cell: &Cell) -> Result<(), PlanError> {
    let link = plan.link_of(cell);
    if !link.kind.is_charged() {
        return Ok(());
    }
    let is_on = |offload: &Offload| cell.offloads.get(offload).or_else(|| link.offloads.get(offload)) == Some(&true);
    match BUNDLING.into_iter().find(is_on) {
        None => Ok(()),
        Some(offload) => {
            let what = format!("offload.{offload} on over {}", link.kind);
            let reason = "this link charges each frame, so no packet may stand for several: leave tso, gso and gro out".to_owned();
            Err(PlanError::Change { what, reason })
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Plan;
    use crate::plan::{ApprovedPlan, PlanError, RawPlan, resolve};

    fn plan(top: &str, cells: &str) -> Result<Plan, String> {
        let text = format!("name = \"x\"\n{top}\n[[cells]]\ntest = \"TCP_STREAM\"\nsize = 64\n{cells}");
        RawPlan::parse(&text)
            .and_then(|raw| resolve(&raw, &[], 1))
            .map(ApprovedPlan::into_plan)
            .map_err(|error: PlanError| error.to_string())
    }

    fn complaint(top: &str, cells: &str) -> String {
        plan(top, cells).unwrap_err()
    }

    #[test]
    fn each_cell_crosses_its_own_link_with_the_plans_settings() {
        let plan = plan("link = { kind = \"veth\", mtu = 1400 }", "link = [\"switch 10M\", \"veth\"]\nlink_load = [0]").unwrap();
        let links: Vec<String> = plan.cells.iter().map(|cell| plan.link_of(cell).kind.to_string()).collect();
        assert_eq!(links, ["switch 10M", "veth"]);
        assert!(plan.cells.iter().all(|cell| plan.link_of(cell).mtu == Some(1400)));
        // The plan's own comes first where any trial crosses it.
        assert_eq!(plan.links().iter().map(|link| link.kind.to_string()).collect::<Vec<_>>(), ["veth", "switch 10M"]);
    }

    #[test]
    fn loopback_stays_as_it_is() {
        let said = complaint("link = { kind = \"loopback\", offloads = { gro = false } }", "");
        assert!(said.starts_with("gro off over loopback: loopback is this machine's own device"), "{said}");
        assert!(complaint("link = { kind = \"loopback\", mtu = 9000 }", "").contains("MTU 9000 over loopback"));
        assert!(complaint("link = { offloads = { tx = false } }", "link = [\"veth\", \"loopback\"]").contains("tx off"));
        plan("link = { mtu = 1500 }", "link = [\"veth\", \"loopback\"]").unwrap();
        // What a preset sets of its own link is not asked of another.
        let mut raw = RawPlan::parse(crate::plan::preset("quick").unwrap()).unwrap();
        raw.force_link("loopback".parse().unwrap());
        assert_eq!(resolve(&raw, &[], 1).unwrap().link.mtu, None);
    }

    #[test]
    fn a_link_that_no_trial_crosses_is_not_among_them() {
        let kinds = |plan: &Plan| plan.links().iter().map(|link| link.kind.to_string()).collect::<Vec<_>>();
        assert_eq!(kinds(&plan("", "link = [\"ethernet 10M\", \"relay 10M\"]").unwrap()), ["ethernet 10M", "relay 10M"]);
        assert_eq!(kinds(&plan("", "").unwrap()), ["veth"]);
        let arms = "arms = [\"base\", \"slow: link=ethernet 10M\"]";
        assert_eq!(kinds(&plan(arms, "").unwrap()), ["veth", "ethernet 10M"]);
    }

    #[test]
    fn a_link_that_is_asked_for_takes_the_place_of_all_levels() {
        let mut raw = RawPlan::parse("name = \"x\"\n[[cells]]\ntest = \"TCP_RR\"\nsize = 1\nlink = [\"veth\", \"switch\"]").unwrap();
        raw.force_link("ethernet 10M".parse().unwrap());
        let plan = resolve(&raw, &[], 1).unwrap();
        assert_eq!((plan.cells.len(), plan.links()), (1, vec![plan.link.clone()]));
        assert_eq!(plan.link.kind.to_string(), "ethernet 10M");
    }

    #[test]
    fn as_many_pairs_are_made_as_a_trial_over_the_link_needs() {
        let plan = plan("link = { kind = \"switch 10M\" }", "link_load = [0, \"3x750K\", 2]").unwrap();
        assert_eq!(plan.most_pairs(&plan.link), 3);
        let crossed = plan.cells.iter().map(|cell| cell.conditions.link_load.to_string()).collect::<Vec<_>>();
        assert_eq!(crossed, ["0", "3x750K", "2"]);
    }

    #[test]
    fn pairs_need_room() {
        for link in ["veth", "ethernet 10M", "relay 10M", "loopback"] {
            let said = complaint(&format!("link = {{ kind = \"{link}\" }}"), "link_load = 1");
            assert!(said.contains(&format!("1 over {link}")) && said.contains("'shared-wire RATE', 'switch'"), "{said}");
        }
        for link in ["switch", "switch 10M", "shared-wire 10M"] {
            plan("", &format!("link = \"{link}\"\nlink_load = 3")).unwrap();
        }
        assert!(complaint("arms = [\"a\", \"b: link_load=2\"]", "").contains("2 over veth"));
    }

    #[test]
    fn between_machines_there_is_the_network_and_nothing_but_the_trial() {
        let hosts = "hosts = { b = \"db1\" }";
        assert!(complaint(hosts, "link = \"switch 10M\"").contains("switch 10M: hosts that are named are joined by the network"));
        assert!(complaint(hosts, "link_load = 1").contains("an agent sends nothing but"));
        assert!(complaint(hosts, "bulk = 2").contains("factor 'bulk': 2: an agent"));
        plan(hosts, "link = \"network\"").unwrap();
        assert!(complaint("", "link = \"network\"").contains("name at least one host"));
    }

    #[test]
    fn nothing_bundles_frames_that_are_charged() {
        let said = complaint("link = { kind = \"veth\", offloads = { tso = true } }", "link = [\"veth\", \"ethernet 10M\"]");
        assert!(said.contains("offload.tso on over ethernet 10M: this link charges each frame"), "{said}");
        assert!(complaint("", "link = \"shared-wire 10M\"\noffload.gro = [true, false]").contains("offload.gro on"));
        plan("link = { kind = \"veth\", offloads = { tso = true } }", "").unwrap();
        plan("", "link = \"ethernet 10M\"\noffload.tso = false").unwrap();
        assert!(complaint("", "link = \"ethernet 0\"").contains("a wire of rate 0 carries nothing"));
    }
}
