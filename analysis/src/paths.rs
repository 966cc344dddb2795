//! Facts about the links that the cells of a run cross.

use std::collections::BTreeMap;

use model::host::HostFacts;
use model::plan::{Link, LinkKind, Offload};
use model::sorting::Gather;
use model::{Cell, Run};

/// The largest IP packet of loopback.
const LOOPBACK_MTU: u64 = 65_536;

/// Facts about one link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Path {
    /// Its largest IP packet, if it is known.
    pub mtu: Option<u64>,
    /// True where TCP hands single segments to its device. With segmentation offload
    /// it hands over as many at once as it happens to have, so that frames are an
    /// outcome, not a cause.
    pub segments_are_frames: bool,
}

/// Facts about each link of a run.
#[derive(Debug, Clone, Default)]
pub struct Paths {
    /// The plan's own link.
    own: Path,
    others: BTreeMap<LinkKind, Path>,
}

impl Paths {
    /// From what a run recorded: the hosts' facts are those of its first link.
    pub fn new(run: &Run, hosts: &[HostFacts]) -> Self {
        let plan = &run.plan;
        let links = plan.links();
        let of_device = || hosts.iter().find_map(|host| host.device.get("mtu")?.parse().ok());
        let path = |link: &Link| Path {
            mtu: link.mtu.map(u64::from).or_else(|| if links.first() == Some(link) { of_device() } else { usual(link.kind) }),
            segments_are_frames: segments_are_frames(link),
        };
        Self { own: path(&plan.link), others: links.iter().map(|link| (link.kind, path(link))).into_map() }
    }

    /// That of a cell, as it is run.
    pub fn of_cell(&self, cell: &Cell) -> Path {
        cell.conditions.link.and_then(|kind| self.others.get(&kind)).copied().unwrap_or(self.own)
    }
}

#[cfg(test)]
impl From<Path> for Paths {
    fn from(own: Path) -> Self {
        Self { own, others: BTreeMap::new() }
    }
}

/// The largest IP packet of a link as it is made, or as the kernel has it.
fn usual(kind: LinkKind) -> Option<u64> {
    match kind {
        LinkKind::Loopback => Some(LOOPBACK_MTU),
        LinkKind::Network => None,
        _ => Some(u64::from(linksim::frame::USUAL_MTU)),
    }
}

fn segments_are_frames(link: &Link) -> bool {
    link.kind.is_charged() || [Offload::Tso, Offload::Gso].iter().all(|offload| link.offloads.get(offload) == Some(&false))
}

#[cfg(test)]
mod tests {
    use super::{Path, Paths};
    use crate::testing::{cell, run};
    use model::Test;
    use model::host::HostFacts;
    use model::plan::LinkKind;

    #[test]
    fn each_cell_has_the_path_of_its_own_link() {
        let over = |link: &str| {
            let mut cell = cell(Test::TcpStream, 64);
            cell.conditions.link = Some(link.parse::<LinkKind>().unwrap());
            cell
        };
        let cells = [cell(Test::TcpStream, 64), over("ethernet 10M"), over("loopback")];
        let mut run = run(cells.to_vec(), 1);
        run.plan.link.mtu = None;
        let hosts = [HostFacts { device: [("mtu".to_owned(), "9000".to_owned())].into(), ..HostFacts::default() }];
        let paths = Paths::new(&run, &hosts);
        let found: Vec<Path> = cells.iter().map(|cell| paths.of_cell(cell)).collect();
        let path = |mtu, segments_are_frames| Path { mtu: Some(mtu), segments_are_frames };
        assert_eq!(found, [path(9_000, false), path(1_500, true), path(65_536, false)]);
        run.plan.link.mtu = Some(1_400);
        assert_eq!(Paths::new(&run, &hosts).of_cell(&cells[1]), path(1_400, true));
    }
}
