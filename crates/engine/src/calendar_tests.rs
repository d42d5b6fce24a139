//! Which texts are patterns, and which moments they name around changes of the clock.

use super::{Pattern, Zone};
use crate::time::Timestamp;
use chrono::DateTime;

fn moment(text: &str) -> Timestamp {
    Timestamp(DateTime::parse_from_rfc3339(text).unwrap().timestamp_millis())
}

/// The next moments after `from`, as the zone's clock shows them, each with its difference to UTC.
fn next(text: &str, zone: &str, from: &str, count: usize) -> Vec<String> {
    let pattern = Pattern::parse(text, Some(Zone::parse(zone).unwrap())).unwrap();
    let tz: chrono_tz::Tz = zone.parse().unwrap();
    let mut at = moment(from);
    let mut found = Vec::new();
    for _ in 0..count {
        at = pattern.next(at, &Zone::utc()).unwrap();
        let local = DateTime::from_timestamp_millis(at.0).unwrap().with_timezone(&tz);
        found.push(local.format("%d %H:%M %:z").to_string());
    }
    found
}

#[test]
fn texts_that_are_no_patterns() {
    let fields = "Cron expression must have 5 fields, or 6 fields with leading seconds";
    let never = "Cron expression has no future occurrences";
    let cases = [
        ("", fields),
        ("   ", fields),
        ("* * * *", fields),
        ("* * * * * * *", fields),
        ("@reboot", fields),
        ("61 * * * *", "Invalid cron minute field \"61\": values must be between 0 and 59"),
        ("60 * * * * *", "Invalid cron seconds field \"60\": values must be between 0 and 59"),
        ("5/10 * * * * *", "Invalid cron seconds field \"5/10\": steps require a wildcard or range"),
        ("5-1 * * * * *", "Invalid cron seconds field \"5-1\": range start must not exceed range end"),
        ("0 24 * * *", "Invalid cron hour field \"24\": values must be between 0 and 23"),
        ("0 0 0 * *", "Invalid cron day of month field \"0\": values must be between 1 and 31"),
        ("0 0 * 13 *", "Invalid cron month field \"13\": values must be between 1 and 12"),
        ("0 0 * * 8", "Invalid cron day of week field \"8\": values must be between 0 and 7"),
        ("0 0 * * fri-mon", "Invalid cron day of week field \"fri-mon\": range start must not exceed range end"),
        ("*/0 * * * *", "Invalid cron minute field \"*/0\": a step must be a number of at least 1"),
        ("*/ * * * *", "Invalid cron minute field \"*/\": a step must be a number of at least 1"),
        ("1/2/3 * * * *", "Invalid cron minute field \"1/2/3\": a step must be a number of at least 1"),
        ("mon * * * *", "Invalid cron minute field \"mon\": values must be between 0 and 59"),
        ("0 0 * mon *", "Invalid cron month field \"mon\": values must be between 1 and 12"),
        ("0 0 L * *", "Invalid cron day of month field \"L\": values must be between 1 and 31"),
        ("0 0 1W * *", "Invalid cron day of month field \"1W\": values must be between 1 and 31"),
        ("0 0 ? * *", "Invalid cron day of month field \"?\": values must be between 1 and 31"),
        ("0 0 * * 1#2", "Invalid cron day of week field \"1#2\": values must be between 0 and 7"),
        ("1,,2 * * * *", "Invalid cron minute field \"1,,2\": values must be between 0 and 59"),
        ("-5 * * * *", "Invalid cron minute field \"-5\": values must be between 0 and 59"),
        ("1.5 * * * *", "Invalid cron minute field \"1.5\": values must be between 0 and 59"),
        (
            "99999999999999999999 * * * *",
            "Invalid cron minute field \"99999999999999999999\": values must be between 0 and 59",
        ),
        ("0 0 30 2 *", never),
        ("0 0 31 2,4,6,9,11 *", never),
    ];
    for (text, why) in cases {
        assert_eq!(Pattern::parse(text, None).unwrap_err().to_string(), why, "{text}");
    }
    let long = "0,".repeat(600);
    assert_eq!(
        Pattern::parse(&long, None).unwrap_err().to_string(),
        "Cron expression must have at most 1024 characters"
    );
    assert_eq!(Zone::parse("Nowhere/City").unwrap_err().to_string(), "unknown time zone 'Nowhere/City'");
    assert_eq!(Zone::parse("europe/berlin").unwrap().tz, chrono_tz::Europe::Berlin);
}

/// Two texts, the same moments.
#[test]
fn names_shortcuts_steps_and_spaces() {
    let cases = [
        ("0 0 * jan-mar mon", "0 0 * 1-3 1"),
        ("0 0 * JANUARY Sunday,7", "0 0 * 1 0"),
        ("0 0 * * 5-7", "0 0 * * 0,5,6"),
        ("0 0 * * 1-mon", "0 0 * * 1"),
        ("5/20 * * * *", "5,25,45 * * * *"),
        ("*/90 * * * *", "0 * * * *"),
        ("  0   0 \t*  * * ", "0 0 * * *"),
        ("@Midnight", "0 0 * * *"),
        ("@hourly", "0 * * * *"),
        ("@weekly", "0 0 * * 0"),
        ("@monthly", "0 0 1 * *"),
        ("@annually", "0 0 1 1 *"),
        ("*/15 */6 * * *", "0,15,30,45 0,6,12,18 * * *"),
        ("00 08 * * *", "0 8 * * *"),
        ("0 0 31 2 mon", "0 0 31 2 1"),
    ];
    for (one, other) in cases {
        let from = "2026-01-01T00:00:00Z";
        assert_eq!(next(one, "UTC", from, 9), next(other, "UTC", from, 9), "{one}");
    }
    assert_eq!(next("*/20 * * * * *", "UTC", "2026-01-01T00:00:39.999Z", 1), ["01 00:00 +00:00"]);
    assert_eq!(next("0 0 29 2 *", "UTC", "2026-01-01T00:00:00Z", 1), ["29 00:00 +00:00"], "in two years");
}

#[test]
fn day_of_month_and_day_of_week_are_either_unless_one_is_a_star() {
    let from = "2026-01-01T00:00:00Z";
    assert_eq!(next("0 0 13 * fri", "UTC", from, 3), ["02 00:00 +00:00", "09 00:00 +00:00", "13 00:00 +00:00"]);
    assert_eq!(next("0 0 */15 * fri", "UTC", from, 3), ["02 00:00 +00:00", "09 00:00 +00:00", "16 00:00 +00:00"]);
    assert_eq!(next("0 0 */1 * fri", "UTC", from, 2), ["02 00:00 +00:00", "03 00:00 +00:00"]);
    assert_eq!(next("0 0 * * fri", "UTC", from, 2), ["02 00:00 +00:00", "09 00:00 +00:00"]);
}

#[test]
fn the_first_time_that_does_not_exist_comes_later_by_as_much_as_the_clock_went_ahead() {
    let berlin = |text, count| next(text, "Europe/Berlin", "2026-03-28T22:00:00Z", count);
    assert_eq!(berlin("30 2 * * *", 2), ["29 03:30 +02:00", "30 02:30 +02:00"]);
    assert_eq!(berlin("30 2,3 * * *", 3), ["29 03:30 +02:00", "30 02:30 +02:00", "30 03:30 +02:00"], "one of the two");
    assert_eq!(berlin("0,30 15 2 * * *", 3), ["29 03:15 +02:00", "29 03:15 +02:00", "30 02:15 +02:00"], "both seconds");
    assert_eq!(berlin("0 3,2 29 3 *", 1), ["29 03:00 +02:00"]);
    assert_eq!(berlin("0 * * * *", 4), ["29 00:00 +01:00", "29 01:00 +01:00", "29 03:00 +02:00", "29 04:00 +02:00"]);
    assert_eq!(berlin("*/10 2 * * *", 2), ["29 03:00 +02:00", "30 02:00 +02:00"], "one for all six");
    let new_york = |text, count| next(text, "America/New_York", "2026-03-08T05:30:00Z", count);
    assert_eq!(new_york("30 2 * * *", 2), ["08 03:30 -04:00", "09 02:30 -04:00"]);
    assert_eq!(
        new_york("15,45 * * * *", 4),
        ["08 00:45 -05:00", "08 01:15 -05:00", "08 01:45 -05:00", "08 03:15 -04:00"]
    );
    // Half an hour only.
    let lord_howe = |text, count| next(text, "Australia/Lord_Howe", "2026-10-03T14:30:00Z", count);
    assert_eq!(lord_howe("15 2 * * *", 2), ["04 02:45 +11:00", "05 02:15 +11:00"]);
    assert_eq!(lord_howe("15 * * * *", 3), ["04 01:15 +10:30", "04 02:45 +11:00", "04 03:15 +11:00"]);
    let another = ["04 01:55 +10:30", "04 02:30 +11:00", "04 02:55 +11:00"];
    assert_eq!(lord_howe("5/25 1-4 * * *", 5)[2..], another, "02:05 would come at 02:35, after another");
}

#[test]
fn a_time_that_exists_twice_comes_once_unless_an_interval_is_meant() {
    let berlin = |text, count| next(text, "Europe/Berlin", "2026-10-24T23:30:00Z", count);
    assert_eq!(berlin("30 2 * * *", 2), ["25 02:30 +02:00", "26 02:30 +01:00"]);
    assert_eq!(berlin("*/30 2 * * *", 3), ["25 02:00 +02:00", "25 02:30 +02:00", "26 02:00 +01:00"]);
    assert_eq!(berlin("0 * * * *", 4), ["25 02:00 +02:00", "25 02:00 +01:00", "25 03:00 +01:00", "25 04:00 +01:00"]);
    assert_eq!(berlin("0 0-22 * * *", 3), ["25 02:00 +02:00", "25 03:00 +01:00", "25 04:00 +01:00"]);
    let every_minute = next("* 2 * * *", "Europe/Berlin", "2026-10-25T00:58:30Z", 2);
    assert_eq!(every_minute, ["25 02:59 +02:00", "25 02:00 +01:00"]);
    let new_york = |text, count| next(text, "America/New_York", "2026-11-01T04:45:00Z", count);
    assert_eq!(new_york("30 1 * * *", 2), ["01 01:30 -04:00", "02 01:30 -05:00"]);
    assert_eq!(new_york("30 * * * *", 3), ["01 01:30 -04:00", "01 01:30 -05:00", "01 02:30 -05:00"]);
    let lord_howe = |text, count| next(text, "Australia/Lord_Howe", "2026-04-04T14:00:00Z", count);
    assert_eq!(lord_howe("45 1 * * *", 2), ["05 01:45 +11:00", "06 01:45 +10:30"]);
    assert_eq!(lord_howe("45 * * * *", 3), ["05 01:45 +11:00", "05 01:45 +10:30", "05 02:45 +10:30"]);
}

#[test]
fn a_pattern_in_words() {
    assert_eq!(Pattern::parse("0 8 * * mon", None).unwrap().words(), "At 08:00, on Monday");
    assert_eq!(Pattern::parse("*/5 * * * *", None).unwrap().words(), "At every 5 minutes");
    assert_eq!(Pattern::parse("@midnight", None).unwrap().words(), "At 00:00");
    assert_eq!(Pattern::parse("0 0 1 january *", None).unwrap().words(), "At 00:00, on day 1, in January");
}

#[test]
fn the_calendar_ends() {
    let pattern = Pattern::parse("* * * * *", None).unwrap();
    assert_eq!(pattern.next(moment("5200-01-01T00:00:00Z"), &Zone::utc()), None);
    assert_eq!(pattern.next(Timestamp(i64::MAX), &Zone::utc()), None);
    assert_eq!(pattern.next(Timestamp(-1), &Zone::utc()), Some(Timestamp(0)));
}
