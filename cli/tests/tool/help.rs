//! The help, as a newcomer reads it.

use crate::support::Skip;
use crate::support::tool::Tool;

crate::claims!(
    the_help_is_as_reviewed,
    the_help_of_each_command_is_as_reviewed,
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

fn the_commands_that_it_starts_itself_as_are_hidden() -> Result<(), Skip> {
    let help = Tool::new().run(&["--help"]).done().stdout;
    assert!(!help.contains("__"), "{help}");
    Ok(())
}

fn help_is_there_for_a_topic_as_behind_the_command() -> Result<(), Skip> {
    let tool = Tool::new();
    for (topic, flags) in
        [(&["help"][..], &["--help"][..]), (&["help", "study"], &["study", "--help"]), (&["help", "help"], &["help", "--help"])]
    {
        assert_eq!(tool.run(topic).done().stdout, tool.run(flags).done().stdout, "{topic:?}");
    }
    tool.run(&["help", "colums"]).refused(2, &["no help on 'colums'", "columns, study, report"]);
    Ok(())
}

fn columns_are_explained() -> Result<(), Skip> {
    let text = Tool::new().run(&["help", "columns"]).done().stdout;
    insta::assert_snapshot!("help_columns", text);
    Ok(())
}
