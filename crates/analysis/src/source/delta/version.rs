//! Which version of a table is asked for: `table@v3`, `table@2024-03-01`,
//! `table@2024-03-01T12:00:00Z`.

use chrono::{DateTime, NaiveDate, SecondsFormat, Utc};
use std::fmt;

/// A version of a table, by its number or by the time at which it was the newest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum TableVersion {
    /// The number of the version.
    Number(u64),
    /// The newest version that was written by this time.
    Time(DateTime<Utc>),
}

impl TableVersion {
    /// Splits `path@v3`; `None` if the part after the last `@` names no version.
    pub(crate) fn split(named: &str) -> Option<(&str, Self)> {
        let (path, version) = named.rsplit_once('@')?;
        Some((path, Self::parse(version)?)).filter(|(path, _)| !path.is_empty())
    }

    fn parse(text: &str) -> Option<Self> {
        let number =
            |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok());
        if let Some(number) = text.strip_prefix('v').and_then(number).flatten() {
            return Some(Self::Number(number));
        }
        // A day without a time is its start in UTC, as other readers of Delta tables take it.
        if let Ok(day) = text.parse::<NaiveDate>() {
            return Some(Self::Time(day.and_time(chrono::NaiveTime::MIN).and_utc()));
        }
        let time = DateTime::parse_from_rfc3339(text).ok()?;
        Some(Self::Time(time.with_timezone(&Utc)))
    }
}

impl fmt::Display for TableVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "v{number}"),
            Self::Time(time) => write!(f, "{}", time.to_rfc3339_opts(SecondsFormat::AutoSi, true)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbers_days_and_times() {
        let split = |text: &str| TableVersion::split(text).map(|(path, version)| format!("{path} {version}"));
        assert_eq!(split("lake/sales@v3").as_deref(), Some("lake/sales v3"));
        assert_eq!(
            split("s3://a@b/sales@2024-03-01").as_deref(),
            Some("s3://a@b/sales 2024-03-01T00:00:00Z")
        );
        assert_eq!(split("t@2024-03-01T12:30:00+02:00").as_deref(), Some("t 2024-03-01T10:30:00Z"));
        for other in ["sales", "sales@3", "sales@v", "sales@v3.csv", "@v3", "sales@v-1", "postgres://a@v3/b"]
        {
            assert_eq!(split(other), None, "{other}");
        }
    }
}
