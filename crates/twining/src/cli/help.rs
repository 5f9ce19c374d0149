//! The help of the program itself: the verbs by group, and how commands end.

use anstyle::{AnsiColor, Style};

use crate::commands::VERBS;
use crate::verbs::verb::VerbGroup;

/// How commands end; kept with [`crate::render::command_error::ExitStatus`].
pub(crate) const ENDINGS: &str = "Exit codes:\n  0  done\n  1  refused or failed: not found, not allowed in this state, store error\n  2  wrong usage or invalid input\n  3  it ran and found problems (doctor, audit, verify, check-gates, knowledge check, dot check)\n\nEnvironment:\n  TWINING_PROJECT  the project folder, like --project; CLAUDE_PROJECT_DIR works too\n  TWINING_AGENT    the name to sign with, like --agent\n  NO_COLOR         no colour, even on a terminal\n\nWithout them the project is the nearest parent with a .twining/, else the git top level.";

/// The template of the top-level help: clap lists commands as one heap, and a
/// newcomer needs to see what belongs together.
pub(crate) fn template(tool_command: &[(&str, &str)]) -> String {
    let heading = AnsiColor::Green.on_default().bold().underline();
    let mut text = String::from("{about}\n\n{usage-heading} {usage}\n");
    let own = || VERBS.iter().filter(|verb| verb.command.is_none());
    let width = own().map(|verb| verb.command_name().len()).max().unwrap_or_default() + 1;
    for group in VerbGroup::ALL {
        text.push_str(&titled(heading, &capital(group.as_str()), group.summary()));
        let verbs = own().filter(|verb| verb.group == group);
        verbs.for_each(|verb| text.push_str(&listed(&verb.command_name(), verb.about, width)));
    }
    text.push_str(&titled(heading, "Tools", "for people and hosts"));
    tool_command.iter().for_each(|(name, about)| text.push_str(&listed(name, about, width)));
    text.push_str(&format!(
        "\n{}Options:{}\n{{options}}{{after-help}}",
        heading.render(),
        heading.render_reset()
    ));
    text
}

fn titled(heading: Style, name: &str, summary: &str) -> String {
    format!("\n{}{name}:{} {summary}\n", heading.render(), heading.render_reset())
}

fn listed(name: &str, about: &str, width: usize) -> String {
    let bold = Style::new().bold();
    format!("  {}{name:<width$}{} {}\n", bold.render(), bold.render_reset(), first_sentence(about))
}

/// The beginning of a description, as far as a line of help needs it.
pub(crate) fn first_sentence(about: &str) -> &str {
    let end = [". ", ": ", "; "].iter().filter_map(|stop| about.find(stop)).min();
    end.map_or(about, |end| &about[..end]).trim_end_matches('.')
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use crate::cli::help::*;
    use twining_testcases::each;

    #[test]
    fn every_verb_stands_in_the_help() {
        let help = template(&[("doctor", "Check")]);
        each(VERBS.iter().filter(|verb| verb.command.is_none()), |verb| {
            assert!(help.contains(&verb.command_name()), "{}", verb.name);
        });
        assert_eq!(first_sentence("Search it. Then stop."), "Search it");
    }
}
