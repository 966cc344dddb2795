//! A study ends when its plan says so, and the seed decides on the order.

use model::TrialRecord;
use model::run::Status;

use crate::support::Skip;
use crate::support::tool::Tool;

crate::claims!(
    a_study_ends_at_a_look_once_its_intervals_are_met,
    a_study_ends_after_its_last_block_whatever_its_intervals,
    a_seed_gives_the_same_order_again,
    a_flag_replaces_what_the_plan_says,
    a_precision_with_blocks_goes_on_no_longer_than_these,
    arms_take_time_of_their_own,
    arms_are_compared_in_few_cells_unless_others_are_named,
);

fn plan(blocks: &str) -> String {
    format!(
        r#"
        name = "plans"
        trial = {{ length = "20ms", warmup = "2ms" }}
        blocks = {{ {blocks} }}
        [[cells]]
        test = "UDP_STREAM"
        size = [64, 512, 1024]
        "#
    )
}

fn a_study_ends_at_a_look_once_its_intervals_are_met() -> Result<(), Skip> {
    let tool = Tool::new();
    let answer = tool.study(&plan("least = 9, most = 100, precision = 0.9"), &["--size", "1024", "-t", "60ms"]).done();
    let blocks = tool.stored().trials().len();
    assert_eq!(tool.stored().status(), Status::IntervalMet);
    // 9 unless something disturbs this machine, and then at a later look.
    assert!([9, 14, 20, 30, 50, 75].contains(&blocks), "{blocks} blocks");
    answer.says("Stopped because every interval asked for was met");
    Ok(())
}

fn a_study_ends_after_its_last_block_whatever_its_intervals() -> Result<(), Skip> {
    for (written, blocks) in [("least = 3, most = 3, precision = 0.9", 3), ("least = 1, most = 10, precision = 0.000001", 10)] {
        let tool = Tool::new();
        tool.study(&plan(written), &[]).done();
        assert_eq!(tool.stored().status(), Status::BlocksDone, "{written}");
        assert_eq!(tool.stored().trials().len(), 3 * blocks, "{written}");
    }
    Ok(())
}

fn a_seed_gives_the_same_order_again() -> Result<(), Skip> {
    let order = |seed: &str| -> Vec<(u64, bool)> {
        let tool = Tool::new();
        tool.study(&plan("least = 2, most = 2"), &["--seed", seed, "--size", "1..64:x2"]).done();
        assert_eq!(tool.stored().run().plan.seed.to_string(), seed);
        let place = |trial: &TrialRecord| (trial.cell.size.get(), trial.swapped);
        tool.stored().trials().iter().map(place).collect()
    };
    assert_eq!(order("11"), order("11"));
    assert_ne!(order("11"), order("12"));
    Ok(())
}

fn a_flag_replaces_what_the_plan_says() -> Result<(), Skip> {
    let tool = Tool::new();
    let flags =
        ["--test", "TCP_RR", "-l", "1,1K", "-t", "10ms", "-O", "1ms", "--blocks", "1", "-6", "-N", "--mtu", "2000", "--rcvbuf", "32K"];
    tool.study(&plan("least = 5, most = 50"), &flags).done();
    let run = tool.stored().run();
    assert_eq!((run.plan.blocks.least, run.plan.blocks.most, run.plan.link.mtu), (1, 1, Some(2_000)));
    let mut cells: Vec<String> = tool.stored().all_measured().iter().map(|(record, _)| record.cell.to_string()).collect();
    cells.sort();
    assert_eq!(cells, ["TCP_RR (ipv6, nodelay, rcvbuf=32K) 1 B", "TCP_RR (ipv6, nodelay, rcvbuf=32K) 1024 B"]);
    Ok(())
}

fn a_precision_with_blocks_goes_on_no_longer_than_these() -> Result<(), Skip> {
    let tool = Tool::new();
    tool.study(&plan("least = 9, most = 9"), &["--blocks", "2", "--precision", "0.0001%", "--size", "64"]).done();
    assert_eq!((tool.stored().trials().len(), tool.stored().status()), (2, Status::BlocksDone));
    let blocks = |flags: &[&str]| {
        let dry = tool.run(&[&["study", "quick", "--dry-run", "-J"], flags].concat()).done().json();
        let blocks = &dry["plan"]["blocks"];
        (blocks["least"].as_u64().unwrap(), blocks["most"].as_u64().unwrap(), blocks["interval"].as_f64().unwrap())
    };
    assert_eq!(blocks(&["--precision", "5%"]), (9, 100, 0.05));
    assert_eq!(blocks(&["--precision", "0.1", "--most", "40"]), (9, 40, 0.1));
    assert_eq!(blocks(&["--blocks", "50", "--precision", "10%"]), (9, 50, 0.1));
    assert_eq!(blocks(&["--blocks", "50"]), (50, 50, 0.05));
    Ok(())
}

fn arms_take_time_of_their_own() -> Result<(), Skip> {
    let dry = |flags: &[&str]| Tool::new().run(&[&["study", "quick", "--dry-run", "-J"], flags].concat()).done().json();
    let (alone, arms) = (dry(&["--size", "64"]), dry(&["--size", "64", "--in-turn", "--arm", "base", "--arm", "bigger: sndbuf=1M"]));
    assert_eq!((&alone["plan"]["end"]["length"], &arms["plan"]["end"]["length"]), (&150_000_000.into(), &150_000_000.into()));
    assert_eq!(arms["duration"]["s"].as_f64().unwrap(), 2.0 * alone["duration"]["s"].as_f64().unwrap());
    // Where a trial is shorter than written, both say so.
    let words = "measures 54.05 ms in place of 150 ms";
    assert!(dry(&["--flows", "1,2"])["shortened"]["to"].as_u64().unwrap() < 60_000_000);
    Tool::new().run(&["study", "quick", "--dry-run", "--flows", "1,2"]).done().says(words);
    Ok(())
}

fn arms_are_compared_in_few_cells_unless_others_are_named() -> Result<(), Skip> {
    let arms = ["study", "size", "--dry-run", "--arm", "a", "--arm", "b: sndbuf=64K"];
    let dry = |flags: &[&str]| Tool::new().run(&[&arms[..], flags].concat()).done();
    let few = dry(&[]);
    assert!(few.stderr.contains("for other cells give --size"), "{}", few.stderr);
    few.says("Takes about 8.5 s to the first look");
    let all = dry(&["--size", "64,1448,16K", "-J"]);
    assert!(!all.stderr.contains("for other cells"), "{}", all.stderr);
    assert_eq!(all.json()["cells"].as_array().map(Vec::len), Some(6));
    Ok(())
}
