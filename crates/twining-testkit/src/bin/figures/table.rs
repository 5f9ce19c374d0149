//! Figures as Markdown: samples, percentiles, goals met or missed, and tables
//! that read well as plain text too.

use std::time::Duration;

/// Durations of the same call, one after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct LatencySample(Vec<Duration>);

impl LatencySample {
    /// Adds one.
    pub(crate) fn push(&mut self, took: Duration) {
        self.0.push(took);
    }

    /// How many there are.
    #[must_use]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The nearest-rank percentile in milliseconds; zero of nothing.
    #[must_use]
    pub(crate) fn percentile(&self, percent: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a length is a rank"
        )]
        let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.saturating_sub(1)).map_or(0.0, |took| ms(*took))
    }

    /// The middle one, in milliseconds.
    #[must_use]
    pub(crate) fn p50(&self) -> f64 {
        self.percentile(50.0)
    }

    /// The longest, in milliseconds.
    #[must_use]
    pub(crate) fn max(&self) -> f64 {
        self.percentile(100.0)
    }
}

impl IntoIterator for LatencySample {
    type Item = Duration;
    type IntoIter = std::vec::IntoIter<Duration>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl Extend<Duration> for LatencySample {
    fn extend<T: IntoIterator<Item = Duration>>(&mut self, more: T) {
        self.0.extend(more);
    }
}

/// Milliseconds with their fractions.
#[must_use]
pub(crate) fn ms(took: Duration) -> f64 {
    took.as_secs_f64() * 1000.0
}

/// A number with as many digits as mean something.
#[must_use]
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        size if size < 1.0 => format!("{value:.3}"),
        size if size < 10.0 => format!("{value:.2}"),
        size if size < 100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// A count with its thousands set apart.
#[must_use]
pub(crate) fn thousands(count: usize) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A goal beside what was measured: `p50 < 0.5 ok`.
#[must_use]
pub(crate) fn below(what: &str, measured: f64, goal: f64) -> String {
    verdict(&format!("{what} < {goal}"), measured < goal)
}

/// A goal that may be reached exactly: `ratio ≤ 1.5 ok`.
#[must_use]
pub(crate) fn at_most(what: &str, measured: f64, goal: f64) -> String {
    verdict(&format!("{what} ≤ {goal}"), measured <= goal)
}

/// A goal that wants more, not less: `slowest/fastest ≥ 0.25 ok`.
#[must_use]
pub(crate) fn at_least(what: &str, measured: f64, goal: f64) -> String {
    verdict(&format!("{what} ≥ {goal}"), measured >= goal)
}

fn verdict(goal: &str, is_met: bool) -> String {
    format!("{goal} {}", if is_met { "ok" } else { "**MISSED**" })
}

/// A table in the making.
#[derive(Clone, Debug)]
pub(crate) struct FigureTable {
    title: String,
    rows: Vec<Vec<String>>,
    notes: Vec<String>,
}

impl FigureTable {
    /// A table with its title and the heads of its columns.
    #[must_use]
    pub(crate) fn new<const N: usize>(title: &str, heads: [&str; N]) -> Self {
        Self {
            title: title.to_owned(),
            rows: vec![heads.map(str::to_owned).to_vec()],
            notes: Vec::new(),
        }
    }

    /// Adds a row.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into());
    }

    /// Adds a sentence under the table.
    pub(crate) fn note(&mut self, sentence: impl Into<String>) {
        self.notes.push(sentence.into());
    }
}

impl std::fmt::Display for FigureTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let wide = |column: usize| {
            self.rows
                .iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or_default()
        };
        let widths: Vec<usize> = (0..columns).map(|column| wide(column).max(3)).collect();
        writeln!(f, "\n## {}\n", self.title)?;
        for (i, row) in self.rows.iter().enumerate() {
            let cells = widths.iter().zip(row).map(|(width, cell)| format!(" {cell:width$} |"));
            writeln!(f, "|{}", cells.collect::<String>())?;
            if i == 0 {
                writeln!(
                    f,
                    "|{}",
                    widths
                        .iter()
                        .map(|width| format!("{}|", "-".repeat(width + 2)))
                        .collect::<String>()
                )?;
            }
        }
        for note in &self.notes {
            writeln!(f, "\n{note}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_one_of_the_measured_values() {
        let mut sample = LatencySample::default();
        sample.extend((1..=200).map(Duration::from_millis));
        assert_eq!(
            (sample.p50(), sample.percentile(99.0), sample.percentile(99.9), sample.max()),
            (100.0, 198.0, 200.0, 200.0)
        );
        assert_eq!(LatencySample::default().p50(), 0.0);
    }

    #[test]
    fn a_missed_goal_is_easy_to_see() {
        assert_eq!(below("p50", 0.4, 0.5), "p50 < 0.5 ok");
        assert_eq!(at_most("ratio", 1.6, 1.5), "ratio ≤ 1.5 **MISSED**");
    }

    #[test]
    fn a_table_is_markdown_with_its_columns_in_line() {
        let mut table = FigureTable::new("writes", ["call", "p50"]);
        table.row(["post".to_owned(), number(0.1234)]);
        assert_eq!(
            table.to_string(),
            "\n## writes\n\n| call | p50   |\n|------|-------|\n| post | 0.123 |\n"
        );
        assert_eq!(
            (thousands(100_000), thousands(999), thousands(1_000)),
            ("100,000".to_owned(), "999".to_owned(), "1,000".to_owned())
        );
    }
}
