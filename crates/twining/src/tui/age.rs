//! Ages and times as a person reads them.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use twining_model::Time;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// Ages move this often at most, and then together.
const STEP_MS: i64 = 10_000;

/// How long ago: `now`, `25m`, `2h`, `3d`.
pub(crate) fn label(now: Time, since: Time) -> String {
    let (unit, letter) = unit(now.as_ms() - since.as_ms());
    match (now.as_ms() - since.as_ms()) / unit {
        ..=0 => "now".to_owned(),
        count => format!("{count}{letter}"),
    }
}

/// How long until that says something else.
pub(crate) fn next_change_ms(now: Time, since: Time) -> Option<i64> {
    let age = (now.as_ms() - since.as_ms()).max(0);
    let (unit, _) = unit(age);
    let left = unit - age % unit;
    // Beyond a day nobody looks that long.
    (unit < DAY).then(|| (left + STEP_MS - 1) / STEP_MS * STEP_MS)
}

fn unit(age: i64) -> (i64, char) {
    match age {
        ..HOUR => (MINUTE, 'm'),
        age if age < 2 * DAY => (HOUR, 'h'),
        _ => (DAY, 'd'),
    }
}

/// The time of day, or the day if it is another.
pub(crate) fn clock(now: Time, at: Time, zone: &TimeZone) -> String {
    let local = |time: Time| {
        let at = Timestamp::from_millisecond(time.as_ms()).unwrap_or_default();
        at.to_zoned(zone.clone())
    };
    let (now, at) = (local(now), local(at));
    let format = if now.date() == at.date() { "%H:%M" } else { "%d %b" };
    at.strftime(format).to_string()
}

#[cfg(test)]
mod tests {
    use crate::tui::age::*;

    fn at(text: &str) -> Time {
        Time::read(text).expect("is a time")
    }

    #[test]
    fn an_age_is_one_short_word() {
        let now = at("2026-11-15T12:00:00Z");
        let ages = [
            ("2026-11-15T12:00:30Z", "now"),
            ("2026-11-15T11:59:30Z", "now"),
            ("2026-11-15T11:35:00Z", "25m"),
            ("2026-11-15T10:00:00Z", "2h"),
            ("2026-11-13T13:00:00Z", "47h"),
            ("2026-11-10T12:00:00Z", "5d"),
        ];
        assert_eq!(ages.map(|(since, _)| label(now, at(since))), ages.map(|(_, age)| age));
    }

    #[test]
    fn an_age_moves_in_steps_of_ten_seconds_and_only_when_it_changes() {
        let now = at("2026-11-15T12:00:00Z");
        assert_eq!(next_change_ms(now, at("2026-11-15T11:59:25Z")), Some(30_000));
        assert_eq!(next_change_ms(now, at("2026-11-15T10:30:00Z")), Some(30 * 60_000));
        assert_eq!(next_change_ms(now, at("2026-11-10T12:00:00Z")), None);
    }

    #[test]
    fn the_clock_is_the_persons_own() {
        let now = at("2026-11-15T12:00:00Z");
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        assert_eq!(clock(now, at("2026-11-15T09:05:00Z"), &zone), "11:05");
        assert_eq!(clock(now, at("2026-11-14T09:05:00Z"), &zone), "14 Nov");
    }
}
