//! Addresses of drivers: `adbc://DRIVER?option=value&…`. The driver is a name or the path of a
//! library.

use adbc_core::options::{OptionDatabase, OptionValue};
use percent_encoding::percent_decode_str;

use super::super::error::DatabaseError;

/// A driver and its options.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Address {
    /// Its name, such as `flightsql`, or a path.
    pub(super) driver: String,
    /// The entry point of the library, if it is not the usual one.
    pub(super) entrypoint: Option<String>,
    /// The file of a DuckDB database.
    pub(super) path: Option<String>,
    /// Other options, passed to the driver.
    pub(super) options: Vec<(String, String)>,
}

impl Address {
    /// A DuckDB driver, from any of the search locations.
    pub(super) fn duckdb() -> Self {
        Self { driver: "duckdb".to_owned(), ..Self::default() }
    }

    pub(super) fn parse(url: &str) -> Result<Self, DatabaseError> {
        let wrong = |detail: &str| DatabaseError::Address { detail: detail.to_owned() };
        let rest = url.split_once("://").map(|(_, rest)| rest).unwrap_or_default();
        let (driver, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut address = Self { driver: decoded(driver)?, ..Self::default() };
        if address.driver.is_empty() {
            return Err(wrong("the driver is missing: adbc://flightsql?uri=grpc://host:31337"));
        }
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').ok_or_else(|| wrong("an option has no value"))?;
            let (name, value) = (decoded(name)?, decoded(value)?);
            match name.as_str() {
                "entrypoint" => address.entrypoint = Some(value),
                "path" if address.is_duckdb() => address.path = Some(value),
                _ => address.options.push((name, value)),
            }
        }
        Ok(address)
    }

    /// Whether it is DuckDB: by its name, or by the name of the library.
    pub(super) fn is_duckdb(&self) -> bool {
        let file = self.driver.rsplit('/').next().unwrap_or(&self.driver);
        file.to_ascii_lowercase().contains("duckdb")
    }

    /// The options as ADBC types.
    pub(super) fn database_options(&self) -> Vec<(OptionDatabase, OptionValue)> {
        let option = |(name, value): &(String, String)| {
            (OptionDatabase::from(name.as_str()), OptionValue::String(value.clone()))
        };
        self.options.iter().map(option).collect()
    }
}

fn decoded(text: &str) -> Result<String, DatabaseError> {
    let text = percent_decode_str(text).decode_utf8();
    text.map(|text| text.into_owned())
        .map_err(|_| DatabaseError::Address { detail: "a part of it is not UTF-8".to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_name_a_driver_and_its_options() {
        let address =
            Address::parse("adbc://flightsql?uri=grpc%3A%2F%2Fh:1&username=a&password=p%26q").unwrap();
        assert_eq!(address.driver, "flightsql");
        let option = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let expected = [option("uri", "grpc://h:1"), option("username", "a"), option("password", "p&q")];
        assert_eq!(address.options, expected);
        let address = Address::parse("adbc:///opt/libduckdb.so?path=a.duckdb&entrypoint=x").unwrap();
        assert!(address.is_duckdb() && address.options.is_empty());
        assert_eq!((address.path.as_deref(), address.entrypoint.as_deref()), (Some("a.duckdb"), Some("x")));
        for wrong in ["adbc://", "adbc://?uri=x", "adbc://sqlite?uri", "adbc://sqlite?uri=%ff"] {
            assert!(Address::parse(wrong).is_err(), "{wrong}");
        }
    }
}
