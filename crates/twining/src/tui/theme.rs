//! Colours: the terminal's own sixteen on its own background, so that light and dark both read.

use std::ffi::OsString;

use ratatui::style::{Color, Modifier, Style};

/// Names the theme for every run.
const VARIABLE: &str = "TWINING_THEME";

/// Which colours are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Theme {
    /// Those that read on a light background.
    Light,
    /// Those that read on a dark one.
    Dark,
    /// None.
    Plain,
}

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Normal,
    Strong,
    Dim,
    Good,
    Warn,
    Bad,
    /// A scope.
    Place,
}

impl Theme {
    /// What `--theme` takes, in the order `t` goes through them.
    pub(crate) const WORDS: [&'static str; 3] = ["light", "dark", "none"];

    /// The theme of this name.
    pub(crate) fn named(word: &str) -> Option<Self> {
        match word {
            "light" => Some(Self::Light),
            "dark" => Some(Self::Dark),
            "none" => Some(Self::Plain),
            _ => None,
        }
    }

    /// What the environment asks for: a theme, no colour, or a background the terminal names.
    pub(crate) fn of_environment(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let word = |name: &str| {
            variable(name).map(|value| value.to_string_lossy().into_owned()).unwrap_or_default()
        };
        if let Some(theme) = Self::named(&word(VARIABLE)) {
            return theme;
        }
        if !word("NO_COLOR").is_empty() {
            return Self::Plain;
        }
        // `0;15`: black on white.
        match word("COLORFGBG").rsplit(';').next() {
            Some("7" | "15") => Self::Light,
            _ => Self::Dark,
        }
    }

    /// The next one.
    pub(crate) fn next(self) -> Self {
        match self {
            Self::Light => Self::Dark,
            Self::Dark => Self::Plain,
            Self::Plain => Self::Light,
        }
    }

    /// How a piece of text looks.
    pub(crate) fn style(self, tone: Tone) -> Style {
        let colour = match (self, tone) {
            (Self::Plain, _) | (_, Tone::Normal | Tone::Strong) => None,
            (Self::Dark, Tone::Dim) => Some(Color::Gray),
            (Self::Dark, Tone::Good) => Some(Color::LightGreen),
            (Self::Dark, Tone::Warn) => Some(Color::LightYellow),
            (Self::Dark, Tone::Bad) => Some(Color::LightRed),
            (Self::Dark, Tone::Place) => Some(Color::LightCyan),
            (Self::Light, Tone::Dim) => Some(Color::DarkGray),
            (Self::Light, Tone::Good) => Some(Color::Green),
            (Self::Light, Tone::Warn) => Some(Color::Magenta),
            (Self::Light, Tone::Bad) => Some(Color::Red),
            (Self::Light, Tone::Place) => Some(Color::Blue),
        };
        let style = colour.map_or_else(Style::new, |colour| Style::new().fg(colour));
        match tone {
            Tone::Strong | Tone::Bad => style.add_modifier(Modifier::BOLD),
            _ => style,
        }
    }

    /// How a selected row looks.
    pub(crate) fn selected() -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }
}

#[cfg(test)]
mod tests {
    use crate::tui::theme::*;

    fn chosen(set: &[(&str, &str)]) -> Theme {
        Theme::of_environment(|name| {
            set.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn a_named_theme_wins_then_no_colour_then_the_terminals_background() {
        assert_eq!(chosen(&[]), Theme::Dark);
        assert_eq!(chosen(&[("COLORFGBG", "0;15")]), Theme::Light);
        assert_eq!(chosen(&[("COLORFGBG", "15;default;0")]), Theme::Dark);
        assert_eq!(chosen(&[("COLORFGBG", "0;15"), ("NO_COLOR", "1")]), Theme::Plain);
        assert_eq!(chosen(&[("NO_COLOR", "")]), Theme::Dark);
        assert_eq!(chosen(&[("NO_COLOR", "1"), ("TWINING_THEME", "light")]), Theme::Light);
        assert_eq!(chosen(&[("TWINING_THEME", "pink")]), Theme::Dark);
    }
}
