//! Claims of the papers with their rulings: a table, and a line for each figure that they belong to.

use literature::statement::{Ruling, Standing, Statement, counts};

use crate::document::{Block, Cell, Kind, Level, Rows, Span, Table, Text};
use crate::words::capital;

/// `100 claims: 43 hold by their own tables, 17 do not, ...`.
pub fn tally<'a>(all: impl IntoIterator<Item = &'a Statement>) -> String {
    let all: Vec<Statement> = all.into_iter().cloned().collect();
    let words = |(ruling, count): &(Ruling, usize)| match (ruling, count) {
        (Ruling::Holds, 1) => "holds by its own table",
        (Ruling::Holds, _) => "hold by their own tables",
        (Ruling::DoesNotHold, 1) => "does not",
        (Ruling::DoesNotHold, _) => "do not",
        (Ruling::Undecidable, _) => "cannot be decided",
        (Ruling::NeedsTable, 1) => "needs a table that nettoll does not carry",
        (Ruling::NeedsTable, _) => "need a table that nettoll does not carry",
    };
    let known = counts(&all).into_iter().filter(|(_, count)| *count > 0);
    let parts: Vec<String> = known.map(|known| format!("{} {}", known.1, words(&known))).collect();
    format!("{} claims: {}", all.len(), parts.join(", "))
}

/// `Today: 4 hold, 3 no longer do, ...`; `None` where no run was given.
pub fn tally_today<'a>(all: impl IntoIterator<Item = &'a Statement>) -> Option<String> {
    let standings: Vec<Standing> = all.into_iter().filter_map(|one| one.today.as_ref().map(|today| today.standing)).collect();
    let count = |standing: Standing| standings.iter().filter(|one| **one == standing).count();
    let known = Standing::ALL.map(|standing| (count(standing), standing)).into_iter().filter(|(count, _)| *count > 0);
    let words = |(count, standing): (usize, Standing)| match (standing, count) {
        (Standing::Holds, 1) => "1 holds".to_owned(),
        (Standing::Holds, _) => format!("{count} hold"),
        (Standing::NoLonger, 1) => "1 no longer does".to_owned(),
        (Standing::NoLonger, _) => format!("{count} no longer do"),
        (Standing::DoesNotHold, 1) => "1 does not".to_owned(),
        (Standing::DoesNotHold, _) => format!("{count} do not"),
        (_, 1) => format!("1 is {}", standing.words()),
        (_, count) => format!("{count} are {}", standing.words()),
    };
    let parts: Vec<String> = known.map(words).collect();
    (!parts.is_empty()).then(|| format!("Today: {}", parts.join(", ")))
}

/// The ruling in words that stand out where the paper is not borne out.
fn ruling(one: &Statement) -> Text {
    let words = one.ruling.words().to_owned();
    let ruling = if one.ruling == Ruling::DoesNotHold { Span::Strong(words) } else { Span::Plain(words) };
    let given = one.given.iter().map(|given| Span::Small(format!("{}: {}", given.label, given.ruling.words())));
    given.fold(Text(vec![ruling]), Text::and)
}

/// The figures as a sentence.
fn sentence(one: &Statement) -> String {
    // Its first word may be the name of the program.
    if one.ruling == Ruling::NeedsTable { one.found.clone() } else { capital(&one.found) }
}

/// The figure of a page that a claim was made from: its place, and its name.
pub type Places<'a> = dyn Fn(&Statement) -> Option<(String, String)> + 'a;

/// A table of claims: a group a paper, a row a claim, with the way to its figure.
pub fn table(groups: &[(Text, Vec<&Statement>)], places: &Places) -> Table {
    let all: Vec<&Statement> = groups.iter().flat_map(|(_, claims)| claims.iter().copied()).collect();
    let found = |one: &&Statement| {
        let given = one.given.iter().map(|given| format!("{}: {}", given.label, given.found));
        Cell::Lines(std::iter::once(sentence(one)).chain(given).map(Text::from).collect())
    };
    let says = |one: &&Statement| {
        let text = Text::from(one.says.as_str()).and(Span::Small(format!("{} · {}", one.id, one.place)));
        places(one).into_iter().fold(text, |text, (place, name)| text.and(Span::Link(place.into(), name)))
    };
    // Where today asks otherwise than then.
    let rule = |one: &&Statement| {
        let today = one.today.as_ref().and_then(|today| today.rule.as_ref()).map(|rule| format!("Today: {rule}"));
        Cell::Lines(std::iter::once(one.rule.clone()).chain(today).map(Text::from).collect())
    };
    let measured = all.iter().any(|one| one.today.is_some());
    let mut table = Rows::of(&all)
        .words("Claim", says)
        .words("Stated", |one| one.stated.as_str())
        .words("Then", |one| ruling(one))
        .words("Figures", found)
        .column_if(measured, "Today", Kind::Words, |one| one.today.as_ref().map(|today| today.standing.words().to_owned()))
        .column_if(measured, "Figures of today", Kind::Words, |one| one.today.as_ref().map(|today| capital(&today.found)))
        .words("Rule", rule)
        .table()
        .labelled("Claims", "Claims of the papers, ruled by their own tables")
        .styled("every claims");
    table.has_narrow_style = true;
    // Sentences: a terminal has no room for them, and prints them with their figures.
    table.columns.iter_mut().for_each(|column| column.level = Level::Everything);
    let mut start = 0;
    for (name, claims) in groups.iter().filter(|(name, _)| !name.0.is_empty()) {
        table.groups.push((start, name.clone()));
        start += claims.len();
    }
    table
}

/// What became of claims, a sentence each: under the figure that they were made from.
pub fn lines(all: &[Statement], ids: &[&str]) -> Option<Block> {
    let known = ids.iter().filter_map(|id| all.iter().find(|one| one.id == *id));
    Block::sentences(known.map(|one| {
        let start = Text(vec![Span::Plain(format!("{}: ", one.says))]);
        let text = ruling(one).0.into_iter().fold(start, Text::and);
        let given = one.given.iter().map(|given| Span::Plain(format!(" {}: {}.", given.label, given.found)));
        let found = Span::Plain(format!(". {}. ", sentence(one).trim_end_matches('.')));
        let text = given.fold(text.and(found), Text::and);
        let text = match one.today.as_ref().filter(|today| today.standing != Standing::NotTestable) {
            Some(today) => text
                .and(Span::Plain("Today: ".to_owned()))
                .and(Span::Strong(today.standing.words().to_owned()))
                .and(Span::Plain(format!(". {}. ", capital(&today.found)))),
            None => text,
        };
        let rule = one.today.as_ref().and_then(|today| today.rule.as_ref()).map_or_else(String::new, |rule| format!(" Today: {rule}."));
        text.and(Span::Faint(format!("Rule: {}.{rule}", one.rule)))
    }))
}

/// A table of words alone: of stated figures.
pub fn stated(all: &[literature::StatedFigure]) -> Option<Block> {
    let mut table = Rows::of(all)
        .words("The text states", |one| one.quantity.as_str())
        .column("Figure", Kind::Words, |one| one.figure.as_str())
        .words("Where", |one| one.place.as_str())
        .words("Condition", |one| one.condition.as_str())
        .table();
    table.label = "Figures that the text states".to_owned();
    Block::everything("Every figure that the text states", (!all.is_empty()).then(|| table.into()))
}
