//! Times for people.

/// How long ago `at` (RFC 3339 UTC, as the engine writes it) was at `now` (milliseconds since
/// 1970): `just now`, `40 s ago`, `5 min ago`, `3 h ago`, `2 days ago`; a date when older than a
/// month, `in 5 min` for what is to come. What can't be read is shown as it is.
pub(crate) fn relative(at: &str, now: i64) -> String {
    let Some(then) = parse(at) else { return at.to_owned() };
    let seconds = (now - then) / 1000;
    let (past, seconds) = (seconds >= 0, seconds.abs());
    let amount = match seconds {
        0..5 => return "just now".to_owned(),
        5..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        86_400..172_800 => "1 day".to_owned(),
        172_800..2_592_000 => format!("{} days", seconds / 86_400),
        _ => return at.get(..10).unwrap_or(at).to_owned(),
    };
    if past { format!("{amount} ago") } else { format!("in {amount}") }
}

/// Milliseconds since 1970 of `YYYY-MM-DDTHH:MM:SS.mmmZ`.
fn parse(at: &str) -> Option<i64> {
    let number = |range: std::ops::Range<usize>| at.get(range)?.parse::<i64>().ok();
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second, milli) = (number(11..13)?, number(14..16)?, number(17..19)?, number(20..23).unwrap_or(0));
    if !at.ends_with('Z') || !(1..=12).contains(&month) {
        return None;
    }
    // Days since 1970 in the proleptic Gregorian calendar, years beginning in March.
    let shifted_year = if month <= 2 { year - 1 } else { year };
    let era = shifted_year.div_euclid(400);
    let year_of_era = shifted_year.rem_euclid(400);
    let day_of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    let days = era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468;
    Some((((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + milli)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_engine_writes() {
        assert_eq!(parse("1970-01-01T00:00:00.000Z"), Some(0));
        assert_eq!(parse("2000-02-29T00:00:00.000Z"), Some(951_782_400_000));
        assert_eq!(parse("2026-11-30T09:48:58.007Z"), Some(1_796_032_138_007));
        assert_eq!(parse("yesterday"), None);
    }

    #[test]
    fn ages_are_short_words() {
        let now = 1_796_032_138_007;
        for (at, words) in [
            ("2026-11-30T09:48:58.007Z", "just now"),
            ("2026-11-30T09:48:18.007Z", "40 s ago"),
            ("2026-11-30T09:43:58.007Z", "5 min ago"),
            ("2026-11-30T06:48:58.007Z", "3 h ago"),
            ("2026-11-28T09:48:58.007Z", "2 days ago"),
            ("2026-01-05T09:48:58.007Z", "2026-01-05"),
            ("2026-11-30T09:54:58.007Z", "in 6 min"),
            ("soon", "soon"),
        ] {
            assert_eq!(relative(at, now), words);
        }
    }
}
