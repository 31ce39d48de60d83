//! Days, moments and their columns.

use super::*;

#[test]
fn every_dress_of_a_day_is_read() {
    let cases = [
        "2021-03-04",
        "2021/03/04",
        "2021/3/4",
        "2021.03.04",
        "3/4/2021",
        "03-04-2021",
        "3.4.2021",
        "3/4/21",
        "04-Mar-2021",
        "4-Mar-21",
        "Mar 4, 2021",
        "March 4, 2021",
        "Mar 4 2021",
        "4 March 2021",
        "4 mar 2021",
        "4th March 2021",
        "March 4th, 2021",
        "4. März 2021",
        "Thursday, March 4, 2021",
        "Thu 4 Mar 2021",
        "2021 Mar 4",
        "4th of March 2021",
        "2021-03-04T00:00:00",
        "Mar. 4, 2021",
        "MARCH 4, 2021",
    ];
    for text in cases {
        assert_eq!(moment(text, Order::Mdy).map(|m| m.day), Some(day(2021, 3, 4)), "{text}");
    }
    assert_eq!(moment("3/4/2021", Order::Dmy).map(|m| m.day), Some(day(2021, 4, 3)));
    assert_eq!(moment("21-03-04", Order::Ymd).map(|m| m.day), Some(day(2021, 3, 4)));
    assert_eq!(moment("March 2021", Order::Mdy).map(|m| m.day), Some(day(2021, 3, 1)));
    assert_eq!(moment("2021-03", Order::Mdy).map(|m| m.day), Some(day(2021, 3, 1)));
    assert_eq!(moment("03/2021", Order::Mdy).map(|m| m.day), Some(day(2021, 3, 1)));
}

#[test]
fn every_dress_of_a_moment_is_read() {
    let at = |h, m, s| Some(day(2021, 3, 4).and_hms_opt(h, m, s).unwrap());
    let cases = [
        ("2021-03-04T10:05:06Z", at(10, 5, 6)),
        ("2021-03-04 10:05:06", at(10, 5, 6)),
        ("2021-03-04T10:05", at(10, 5, 0)),
        ("2021-03-04T12:05:06+02:00", at(10, 5, 6)),
        ("2021-03-04T12:05:06 +0200", at(10, 5, 6)),
        ("2021-03-04T05:05:06-05", at(10, 5, 6)),
        ("2021-03-04 10:05:06 UTC", at(10, 5, 6)),
        ("3/4/2021 1:05 PM", at(13, 5, 0)),
        ("3/4/2021 12:05:06 AM", at(0, 5, 6)),
        ("3/4/2021, 12:05:06 p.m.", at(12, 5, 6)),
        ("Mar 4 2021 1:05PM", at(13, 5, 0)),
        ("Apr  4 2021", None),
        ("Thu, 04 Mar 2021 10:05:06 GMT", at(10, 5, 6)),
        ("Thu Mar 04 10:05:06 +0000 2021", at(10, 5, 6)),
        ("Thu Mar 04 2021 11:05:06 GMT+0100 (CET)", at(10, 5, 6)),
        ("20210304", None),
        ("20210304T100506Z", at(10, 5, 6)),
    ];
    for (text, expected) in cases {
        let read = moment(text, Order::Mdy).filter(|m| m.clock.is_some()).map(|m| m.time());
        assert_eq!(read, expected, "{text}");
    }
    let fraction = moment("2021-03-04T10:05:06.250Z", Order::Mdy).unwrap().time();
    assert_eq!(fraction.and_utc().timestamp_millis() % 1000, 250);
    // The zone moves the day.
    assert_eq!(moment("2021-03-04T23:30:00-01:00", Order::Mdy).unwrap().day, day(2021, 3, 5));
}

#[test]
fn what_is_not_a_day_is_nothing() {
    let not = [
        "",
        "2021",
        "13/13/2021",
        "2021-02-30",
        "2021-13-01",
        "1/2",
        "12:30",
        "hello",
        "March",
        "4 March",
        "1 2 3",
        "1.2.3",
        "2021-03-04x",
        "2021-03-04 25:00",
        "2021-03-04 10:61",
        "Mar 4",
        "may be 2021",
        "10-20-30-40",
        "1/2/3",
        "Aug 22 - 25",
        "1901 - 02",
        "123456789012345",
        "2021-03-04T",
        "00/00/0000",
        "0000-00-00",
        "2021-03-04 10:00 Mars",
    ];
    for text in not {
        assert_eq!(moment(text, Order::Mdy), None, "{text}");
    }
}

#[test]
fn the_column_decides_the_order() {
    let by_day = column("d", &["3/4/2021", "13/4/2021"]);
    assert_eq!((by_day.format.date("3/4/2021"), by_day.assumptions.len()), (Some(day(2021, 4, 3)), 0));
    let by_month = column("d", &["3/4/2021", "3/14/2021"]);
    assert_eq!((by_month.format.date("3/4/2021"), by_month.assumptions.len()), (Some(day(2021, 3, 4)), 0));
    let unclear = column("d", &["3/4/2021", "5/6/2021"]);
    assert_eq!(unclear.format.date("3/4/2021"), Some(day(2021, 3, 4)));
    assert_eq!(unclear.assumptions, ["3/4/2021 was read as month/day/year"]);
    let dots = column("d", &["3.4.2021", "5.6.2021"]);
    assert_eq!(dots.format.date("3.4.2021"), Some(day(2021, 4, 3)));
    let sorted = ["1/9/2021", "1/10/2021", "2/10/2021", "1/11/2021", "1/12/2021", "1/2/2022"];
    assert_eq!(column("d", &sorted).format.date("1/9/2021"), Some(day(2021, 9, 1)));
    let monthly = ["1/10/2021", "1/11/2021", "1/12/2021", "1/1/2022", "1/2/2022", "1/3/2022"];
    assert_eq!(column("d", &monthly).format.date("1/10/2021"), Some(day(2021, 10, 1)));
    let daily = ["1/1/2021", "1/2/2021", "1/3/2021", "1/4/2021", "1/5/2021", "1/6/2021"];
    assert_eq!(column("d", &daily).format.date("1/2/2021"), Some(day(2021, 1, 2)));
    let short = column("d", &["97-03-04", "98-12-31"]);
    assert_eq!(short.format.date("97-03-04"), Some(day(1997, 3, 4)));
}

#[test]
fn numbers_are_dates_only_when_the_name_says_so() {
    assert_eq!(
        column("date", &["20210304", "20210305"]).format.value("20210304"),
        Value::Date(day(2021, 3, 4))
    );
    assert_eq!(column("order id", &["20210304", "20210305"]).kind, Kind::Integer);
    let unix = column("created_at", &["1614852306", "1614852307"]);
    assert_eq!((unix.kind, unix.assumptions.len()), (Kind::Timestamp, 1));
    assert_eq!(unix.format.time("1614852306"), Some(day(2021, 3, 4).and_hms_opt(10, 5, 6).unwrap()));
    assert_eq!(
        column("timestamp", &["1614852306000"]).format.time("1614852306000"),
        unix.format.time("1614852306")
    );
    assert_eq!(column("amount", &["1614852306", "1614852307"]).kind, Kind::Integer);
    let years = column("Date", &["1991", "1992"]);
    assert_eq!((years.kind, years.unit), (Kind::Integer, Unit::Year));
}

#[test]
fn days_with_midnight_are_days_and_seasons_are_words() {
    assert_eq!(column("d", &["2021-03-04 00:00:00", "2021-03-05 00:00:00"]).kind, Kind::Date);
    assert_eq!(column("d", &["2021-03-04 00:00:00", "2021-03-05 10:00:00"]).kind, Kind::Timestamp);
    assert_eq!(column("season", &["2004/05", "2005/06", "2011/12"]).kind, Kind::Text);
    assert_eq!(column("month", &["2004/05", "2004/06", "2004/07"]).kind, Kind::Date);
    assert_eq!(column("d", &["2021-03-04", "0000-00-00"]).kind, Kind::Date);
    assert_eq!(column("born", &["1/20/45"]).assumptions, ["1/20/45 was read as the year 2045"]);
    let zoned = column("t", &["2021-03-04T10:00:00+02:00"]);
    assert_eq!(zoned.assumptions, ["times with a zone were converted to UTC"]);
}
