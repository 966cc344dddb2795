//! An agent that was started as root keeps none of root's capabilities.

use std::net::TcpListener;

use super::support::Agent;
use crate::support::Skip;
use crate::support::tool::Tool;

crate::claims!(an_agent_of_root_gives_up_its_capabilities);

/// Bits of `CAP_PERFMON` and `CAP_BPF`.
const PERFMON_AND_BPF: u64 = 1 << 38 | 1 << 39;

fn an_agent_of_root_gives_up_its_capabilities() -> Result<(), Skip> {
    if !nix::unistd::geteuid().is_root() {
        return Err(Skip("only root has capabilities to give up".to_owned()));
    }
    for (keep, kept) in [(&[][..], 0), (&["--keep-capabilities", "perfmon,CAP_BPF"], PERFMON_AND_BPF)] {
        let tool = Tool::new();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
        let agent = Agent::of(tool.command(&[&["agent", "--listen", "127.0.0.1", "--port", &port], keep].concat()));
        for set in ["CapEff", "CapPrm", "CapBnd"] {
            assert_eq!(agent.capabilities(set), kept, "{set}");
        }
        assert_eq!((agent.capabilities("CapInh"), agent.capabilities("CapAmb")), (0, 0));
        tool.run(&["-c", "127.0.0.1", "-p", &port, "-t", "0.1", "-i", "0"]).done();
        agent.end();
    }
    let tool = Tool::new();
    tool.run(&["agent", "--keep-capabilities", "sys_admin"]).refused(2, &["'sys_admin'", "perfmon, bpf, syslog"]);
    Ok(())
}
