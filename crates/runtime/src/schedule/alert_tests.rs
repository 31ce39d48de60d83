//! When an alert is active, and when it is sent.

use super::*;

fn alert(condition: AlertCondition) -> Alert {
    let at = Timestamp::from_micros(0);
    Alert {
        id: AlertId(uuid::Uuid::nil()),
        user_id: UserId::new("ada").unwrap(),
        schedule_id: ScheduleId(uuid::Uuid::nil()),
        name: Label::new("low").unwrap(),
        condition,
        quiet: None,
        notify: Vec::new(),
        status: AlertStatus::Clear,
        since: None,
        acknowledged_by: None,
        is_sent: false,
        last_value: None,
        created_at: at,
        updated_at: at,
    }
}

/// Whether each answer in turn sends the alert, and its final status.
fn course(condition: AlertCondition, answers: &[(Option<f64>, bool)]) -> (Vec<bool>, AlertStatus) {
    let mut one = alert(condition);
    let mut told = Vec::new();
    for (place, (value, quiet)) in answers.iter().enumerate() {
        let at = Timestamp::from_micros(i64::try_from(place).unwrap());
        let tells;
        (one, tells) = judge(one, *value, *quiet, at);
        told.push(tells);
    }
    (told, one.status)
}

const LOUD: bool = false;
const QUIET: bool = true;

#[test]
fn alert_is_sent_once_while_active() {
    let answers =
        [(Some(9.0), LOUD), (Some(4.0), LOUD), (Some(3.0), LOUD), (Some(9.0), LOUD), (Some(1.0), LOUD)];
    let (told, status) = course(AlertCondition::Below(5.0), &answers);
    assert_eq!(told, [false, true, false, false, true]);
    assert_eq!(status, AlertStatus::Standing);
}

#[test]
fn quiet_hours_delay_alerts_without_loss() {
    let answers = [(Some(4.0), QUIET), (Some(4.0), QUIET), (Some(4.0), LOUD), (Some(4.0), LOUD)];
    assert_eq!(course(AlertCondition::Below(5.0), &answers).0, [false, false, true, false]);
    let over = [(Some(4.0), QUIET), (Some(9.0), LOUD)];
    assert_eq!(course(AlertCondition::Below(5.0), &over), (vec![false, false], AlertStatus::Clear));
}

#[test]
fn a_change_is_measured_against_the_answer_before() {
    let answers = [(Some(100.0), LOUD), (Some(105.0), LOUD), (Some(130.0), LOUD), (Some(131.0), LOUD)];
    assert_eq!(
        course(AlertCondition::Changed(10.0), &answers),
        (vec![false, false, true, false], AlertStatus::Clear)
    );
}

#[test]
fn missing_data_is_an_alert_of_its_own_and_clears_no_other() {
    assert_eq!(
        course(AlertCondition::Missing, &[(Some(1.0), LOUD), (None, LOUD), (None, LOUD)]).0,
        [false, true, false]
    );
    let below = course(AlertCondition::Below(5.0), &[(Some(4.0), LOUD), (None, LOUD), (Some(4.0), LOUD)]);
    assert_eq!(below, (vec![true, false, false], AlertStatus::Standing));
}

#[test]
fn acknowledged_alerts_stay_silent_until_they_clear() {
    let (mut one, _) = judge(alert(AlertCondition::Above(1.0)), Some(2.0), true, Timestamp::from_micros(0));
    one.status = AlertStatus::Acknowledged;
    let (one, tells) = judge(one, Some(3.0), false, Timestamp::from_micros(1));
    assert!(!tells && one.status == AlertStatus::Acknowledged);
}

#[test]
fn quiet_hours_may_span_midnight() {
    let quiet = QuietHours { from_minute: 22 * 60, to_minute: 7 * 60, zone: "UTC".to_owned() };
    assert!(quiet.covers(23 * 60) && quiet.covers(0) && quiet.covers(7 * 60 - 1));
    assert!(!quiet.covers(7 * 60) && !quiet.covers(12 * 60));
}
