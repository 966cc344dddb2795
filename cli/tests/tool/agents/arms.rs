//! Arms whose hosts are other agents.

use model::Test;

use super::support::{A, Agent, B, Net, secret};
use crate::support::Skip;
use crate::support::tool::Tool;

crate::claims!(an_arm_runs_on_another_agent,);

const PLAN: &str = r#"
    name = "apart"
    seed = 5
    trial = { length = "20ms", warmup = "3ms" }
    blocks = { least = 2, most = 2 }
    [[cells]]
    test = "TCP_RR"
    size = 64
"#;

fn an_arm_runs_on_another_agent() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let secret = secret(&tool);
    let more = [&secret[..], &["--port", "7000"]].concat();
    let agents = [Agent::start(&net.a, &tool, &secret), Agent::start(&net.b, &tool, &secret), Agent::start(&net.b, &tool, &more)];
    let (a, b, other) = (format!("a={A}"), format!("b={B}"), format!("other: host.b={B}:7000"));
    let words = [&["--host", &a, "--host", &b, "--arm", "base", "--arm", &other][..], &secret].concat();
    net.router.study(&tool, PLAN, &words).judged();
    let trials = tool.stored().trials();
    assert_eq!(trials.len(), 4);
    for trial in &trials {
        assert!(trial.measured().is_some() && trial.cell.test == Test::TcpRr, "{trial:?}");
        let asked: Vec<(&str, &str)> = trial.taken.iter().map(|taken| (taken.name.as_str(), taken.asked.as_str())).collect();
        let at = format!("{B}:7000");
        assert_eq!(asked, if trial.arm.as_deref() == Some("other") { vec![("host.b", at.as_str())] } else { Vec::new() });
    }
    for agent in agents {
        agent.logs("admitted");
        agent.end();
    }
    net.nothing_left(&[&tool]);
    Ok(())
}
