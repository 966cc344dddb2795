//! The help, as a newcomer reads it.

use crate::support::Skip;
use crate::support::tool::Tool;

crate::claims!(the_help_is_as_reviewed, the_help_of_each_command_is_as_reviewed, the_commands_that_it_starts_itself_as_are_hidden,);

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
