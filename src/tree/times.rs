//! Integers, dates and times as text: `2024-01-31 09:00:00+09:00`, `13:15:00`, `1 day 2h
//! 30m`.
//!
//! Programs read these back: SQL and pandas read instants with the offset of their clock, and intervals with units.

use jiff::civil::{self, Date};
use jiff::{Span, Timestamp};

use crate::data::{Feature, Kind, NumericType};

/// The constant of a test of a column of integers, dates or times.
pub(super) fn whole(feature: &Feature, value: i64) -> String {
    let Kind::Continuous(number) = feature.kind else { return value.to_string() };
    match (number, number.per_second()) {
        (NumericType::Date, _) => {
            date(value).map_or_else(|| format!("{value} days since 1970-01-01"), |day| day.to_string())
        }
        (_, None) => value.to_string(),
        (NumericType::Time, Some(per_second)) => match (0..86_400 * per_second).contains(&value) {
            true => clock(value, per_second),
            false => format!("{value} ns since midnight"),
        },
        (NumericType::DurationMs | NumericType::DurationUs | NumericType::DurationNs, Some(per_second)) => {
            length(value, per_second)
        }
        (_, Some(per_second)) => {
            let text = instant(feature, value, per_second);
            text.unwrap_or_else(|| format!("{value} {} since 1970-01-01", unit_of(per_second)))
        }
    }
}

fn unit_of(per_second: i64) -> &'static str {
    match per_second {
        1_000 => "ms",
        1_000_000 => "us",
        _ => "ns",
    }
}

/// An instant by the clock of the column's zone, with its offset from UTC, if it has a zone; `None` outside the years 1
/// to 9999.
fn instant(feature: &Feature, value: i64, per_second: i64) -> Option<String> {
    let mut offset = 0;
    if let Some(zone) = feature.zone()
        && let Ok(at) = Timestamp::from_second(value.div_euclid(per_second))
    {
        // Before time zones clocks were ahead by odd seconds, which programs cannot read.
        offset = Some(zone.to_offset(at).seconds()).filter(|offset| offset % 60 == 0).unwrap_or(0);
    }
    let local = i128::from(value) + i128::from(offset) * i128::from(per_second);
    let day = 86_400 * i128::from(per_second);
    let (date, time) = (date(local.div_euclid(day) as i64)?, clock(local.rem_euclid(day) as i64, per_second));
    let ahead = match feature.zone_name() {
        Some(_) => {
            let (sign, minutes) = (if offset < 0 { '-' } else { '+' }, offset.abs() / 60);
            format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
        }
        None => String::new(),
    };
    Some(format!("{date} {time}{ahead}"))
}

/// The Gregorian date of a day counted from 1970-01-01; `None` outside the years 1 to 9999.
fn date(days: i64) -> Option<Date> {
    let date = civil::date(1970, 1, 1).checked_add(Span::new().try_days(days).ok()?).ok()?;
    (date.year() >= 1).then_some(date)
}

/// A time of day.
fn clock(time: i64, per_second: i64) -> String {
    let (second, part) = (time / per_second, time % per_second);
    let digits = per_second.ilog10() as usize;
    let fraction = match part {
        0 => String::new(),
        _ => format!(".{part:0digits$}").trim_end_matches('0').into(),
    };
    format!("{:02}:{:02}:{:02}{fraction}", second / 3600, second / 60 % 60, second % 60)
}

/// A length of time: days, hours, minutes, seconds and parts of a second, those that are not 0. A minus applies to all.
fn length(value: i64, per_second: i64) -> String {
    let per_second = per_second as u64;
    let units = [
        (86_400 * per_second, " day"),
        (3_600 * per_second, "h"),
        (60 * per_second, "m"),
        (per_second, "s"),
        (per_second / 1_000, "ms"),
        (per_second / 1_000_000, "us"),
        (per_second / 1_000_000_000, "ns"),
    ];
    let mut rest = value.unsigned_abs();
    let mut parts = Vec::new();
    for (size, unit) in units.into_iter().filter(|&(size, _)| size > 0) {
        let count = rest / size;
        rest %= size;
        if count > 0 {
            let plural = if unit == " day" && count > 1 { "s" } else { "" };
            parts.push(format!("{count}{unit}{plural}"));
        }
    }
    match parts.is_empty() {
        true => "0s".into(),
        false => format!("{}{}", if value < 0 { "-" } else { "" }, parts.join(" ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(number: NumericType, dtype: &str, value: i64) -> String {
        whole(&Feature { name: String::new(), kind: Kind::Continuous(number), dtype: dtype.into() }, value)
    }

    #[test]
    fn dates_and_times() {
        for (days, text) in [
            (0, "1970-01-01"),
            (19_753, "2024-01-31"),
            (19_782, "2024-02-29"),
            (19_783, "2024-03-01"),
            (-1, "1969-12-31"),
            (-25_508, "1900-03-01"),
            (-25_509, "1900-02-28"),
            (-719_162, "0001-01-01"),
            (-719_163, "-719163 days since 1970-01-01"),
            (2_932_896, "9999-12-31"),
            (2_932_897, "2932897 days since 1970-01-01"),
            (i64::MIN, "-9223372036854775808 days since 1970-01-01"),
        ] {
            assert_eq!(written(NumericType::Date, "", days), text);
        }
        let noon = 19_753 * 86_400 + 12 * 3600;
        for (number, value, text) in [
            (NumericType::DatetimeMs, noon * 1_000, "2024-01-31 12:00:00"),
            (NumericType::DatetimeUs, noon * 1_000_000 + 50, "2024-01-31 12:00:00.00005"),
            (NumericType::DatetimeNs, noon * 1_000_000_000 + 999_999_999, "2024-01-31 12:00:00.999999999"),
            (NumericType::DatetimeMs, -1, "1969-12-31 23:59:59.999"),
            (NumericType::DatetimeNs, i64::MIN, "1677-09-21 00:12:43.145224192"),
            (NumericType::DatetimeMs, i64::MAX, "9223372036854775807 ms since 1970-01-01"),
            (NumericType::Integer, i64::MAX, "9223372036854775807"),
            (NumericType::Time, 47_700_000_000_000, "13:15:00"),
            (NumericType::Time, 86_399_999_999_999, "23:59:59.999999999"),
            (NumericType::Time, -1, "-1 ns since midnight"),
            (NumericType::DurationMs, 0, "0s"),
            (NumericType::DurationMs, 95_400_000, "1 day 2h 30m"),
            (NumericType::DurationMs, i64::MIN, "-106751991167 days 7h 12m 55s 808ms"),
            (NumericType::DurationUs, 2 * 86_400_000_000, "2 days"),
            (NumericType::DurationUs, -1_500_001, "-1s 500ms 1us"),
            (NumericType::DurationNs, 7, "7ns"),
        ] {
            assert_eq!(written(number, "", value), text);
        }
    }

    #[test]
    fn instants_are_written_by_the_clock_of_their_zone() {
        let noon = (19_753 * 86_400 + 12 * 3600) * 1_000;
        for (dtype, value, text) in [
            (r#"Datetime["ms", "Asia/Tokyo"]"#, noon, "2024-01-31 21:00:00+09:00"),
            (r#"Datetime["ms", "America/St_Johns"]"#, noon, "2024-01-31 08:30:00-03:30"),
            (r#"Datetime["ms", "UTC"]"#, noon, "2024-01-31 12:00:00+00:00"),
            (r#"Datetime["ms", "Europe/Berlin"]"#, noon + 180 * 86_400_000, "2024-07-29 14:00:00+02:00"),
            (r#"Datetime["ms", "Europe/Berlin"]"#, -80 * 365 * 86_400_000, "1890-01-20 00:00:00+00:00"),
            (r#"Datetime["ms", "Middle/Earth"]"#, noon, "2024-01-31 12:00:00+00:00"),
            (r#"Datetime["ms", null]"#, noon, "2024-01-31 12:00:00"),
            ("Datetime[", noon, "2024-01-31 12:00:00"),
        ] {
            assert_eq!(written(NumericType::DatetimeMs, dtype, value), text);
        }
    }
}
