//! Cobertura's XML: the totals it states, else its lines.

use super::xml::{self, XmlEvent};
use super::{LineCounts, ReportProblem};

/// What a rate without counts is made of.
const RATE: f64 = 10_000.0;

/// Counts the lines of a report.
pub(super) fn read_cobertura(xml: &str) -> Result<LineCounts, ReportProblem> {
    let mut stated: Option<LineCounts> = None;
    let mut rate: Option<f64> = None;
    let mut counted = LineCounts::default();
    let mut in_method = 0_u32;
    xml::walk(xml, |step| match step {
        XmlEvent::Begin(element) => match element.local_name().as_ref() {
            "coverage" => {
                let (covered, total) = (xml::count(element, "lines-covered"), xml::count(element, "lines-valid"));
                stated = covered.zip(total).map(|(covered, total)| LineCounts { covered, total });
                rate = xml::share(element, "line-rate");
            }
            // A method's lines stand among its class's a second time.
            "method" => in_method += 1,
            "line" if in_method == 0 => {
                counted.total += 1;
                counted.covered += u64::from(xml::count(element, "hits").is_some_and(|hits| hits > 0));
            }
            _ => {}
        },
        XmlEvent::End("method") => in_method = in_method.saturating_sub(1),
        XmlEvent::End(_) => {}
    })?;
    let lines = match (stated, rate) {
        (Some(stated), _) => stated,
        (None, _) if counted.total > 0 => counted,
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be a share")]
        (None, Some(rate)) if (0.0..=1.0).contains(&rate) => LineCounts { covered: (rate * RATE) as u64, total: RATE as u64 },
        _ => LineCounts::default(),
    };
    if lines.total == 0 {
        return Err("measures no line at all".to_owned());
    }
    if lines.covered > lines.total {
        return Err("says that more lines ran than there are".to_owned());
    }
    Ok(lines)
}
