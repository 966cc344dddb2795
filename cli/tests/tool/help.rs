//! The help, as a newcomer reads it.

use crate::support::Skip;
use crate::support::tool::Tool;

crate::claims!(
    the_help_is_as_reviewed,
    the_help_of_each_command_is_as_reviewed,
    the_short_help_is_a_screen,
    the_help_without_a_topic_is_a_page_of_questions,
    no_heading_stands_over_what_it_is_not_about,
    the_commands_that_it_starts_itself_as_are_hidden,
    help_is_there_for_a_topic_as_behind_the_command,
    columns_are_explained,
);

fn the_help_is_as_reviewed() -> Result<(), Skip> {
    insta::assert_snapshot!("help", Tool::new().run(&["--help"]).done().stdout);
    Ok(())
}

fn the_help_of_each_command_is_as_reviewed() -> Result<(), Skip> {
    for command in ["study", "report", "show", "doctor", "reference"] {
        insta::assert_snapshot!(format!("help_{command}"), Tool::new().run(&[command, "--help"]).done().stdout);
    }
    Ok(())
}

fn the_short_help_is_a_screen() -> Result<(), Skip> {
    for (name, arguments) in [("short", &["-h"][..]), ("short_study", &["study", "-h"])] {
        let help = Tool::new().run(arguments).done().stdout;
        assert!(help.lines().count() <= 50, "{} lines: {help}", help.lines().count());
        insta::assert_snapshot!(format!("help_{name}"), help);
    }
    Ok(())
}

fn the_help_without_a_topic_is_a_page_of_questions() -> Result<(), Skip> {
    let (tool, help) = (Tool::new(), Tool::new().run(&["help"]).done().stdout);
    assert!(help.lines().count() <= 25 && help.lines().all(|line| line.chars().count() <= 80), "{help}");
    let bare = tool.run(&[]);
    bare.refused(2, &["Is B cheaper than A?"]);
    assert_eq!(bare.stderr, help);
    // Every command that it names is there.
    for line in help.lines().filter_map(|line| line.split_once("nettoll ")).map(|(_, rest)| rest) {
        let name = line.split([' ', ',', ';']).next().unwrap_or_default();
        if name.chars().all(|letter| letter.is_ascii_lowercase()) && !["measures", "help"].contains(&name) {
            tool.run(&[name, "-h"]).done();
        }
    }
    Ok(())
}

fn no_heading_stands_over_what_it_is_not_about() -> Result<(), Skip> {
    for command in ["study", "workload", "agent", "compare", "report"] {
        let help = Tool::new().run(&[command, "--help"]).done().stdout;
        let (_, trust) = help.split_once("\nTrust").unwrap_or_default();
        let under = trust.split("\n\n").next().unwrap_or_default();
        let flags: Vec<&str> = under.lines().filter_map(|line| line.trim_start().strip_prefix("--")?.split(' ').next()).collect();
        let all = ["secret-file", "tls-cert", "tls-key", "tls-ca", "trust-loopback"];
        assert!(flags.is_empty() || flags == all, "{command}: {flags:?}");
    }
    Ok(())
}

fn the_commands_that_it_starts_itself_as_are_hidden() -> Result<(), Skip> {
    let help = Tool::new().run(&["--help"]).done().stdout;
    assert!(!help.contains("__"), "{help}");
    Ok(())
}

fn help_is_there_for_a_topic_as_behind_the_command() -> Result<(), Skip> {
    let tool = Tool::new();
    for (topic, flags) in
        [(&["help", "client"][..], &["--help"][..]), (&["help", "study"], &["study", "--help"]), (&["help", "help"], &["help", "--help"])]
    {
        assert_eq!(tool.run(topic).done().stdout, tool.run(flags).done().stdout, "{topic:?}");
    }
    tool.run(&["help", "colums"]).refused(2, &["no help on 'colums'", "client, columns, licences, study, report"]);
    Ok(())
}

fn columns_are_explained() -> Result<(), Skip> {
    let text = Tool::new().run(&["help", "columns"]).done().stdout;
    insta::assert_snapshot!("help_columns", text);
    Ok(())
}
