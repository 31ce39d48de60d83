//! Connections of the settings: a named address, with its password in a variable or a private file.

use crate::home::Home;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use steward_analysis::source::connections;

/// `connections` of `config/steward.yaml`, by name.
pub(crate) type Connections = BTreeMap<String, Connection>;

/// One data source.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Connection {
    /// Its address without a password, or a path.
    pub(crate) address: String,
    /// The environment variable that holds its password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) password_variable: Option<String>,
    /// The file that holds its password, relative to the home. Only its owner may read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) password_file: Option<PathBuf>,
}

/// Registers the connections, so that `connection:NAME` can be used.
pub(crate) fn install(home: &Home, known: &Connections) {
    let (home, known) = (home.path.clone(), known.clone());
    connections::install(Box::new(move |name| {
        let connection = known.get(name).ok_or_else(|| {
            let names: Vec<&str> = known.keys().map(String::as_str).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            format!("there is no connection of this name; there is {names}. `steward connect` makes one")
        })?;
        connection.full_address(&home)
    }));
}

impl Connection {
    /// The address with its password.
    pub(crate) fn full_address(&self, home: &Path) -> Result<String, String> {
        match self.password(home)? {
            None => Ok(self.address.clone()),
            Some(password) => with_password(&self.address, &password),
        }
    }

    fn password(&self, home: &Path) -> Result<Option<String>, String> {
        if let Some(variable) = &self.password_variable {
            let value = std::env::var(variable).ok().filter(|value| !value.is_empty());
            return value
                .map(Some)
                .ok_or_else(|| format!("its password is in the variable {variable}, which is not set"));
        }
        let Some(file) = &self.password_file else { return Ok(None) };
        let path = home.join(file);
        let said =
            |error: std::io::Error| format!("its password in {} cannot be read: {error}", path.display());
        let mode = std::fs::metadata(&path).map_err(said)?.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(format!("others may read its password. Run: chmod 600 {}", path.display()));
        }
        let password = std::fs::read_to_string(&path).map_err(said)?;
        Ok(Some(password.trim_end_matches(['\r', '\n']).to_owned()))
    }
}

/// Writes a password into a private file of the home. Returns its path relative to the home.
pub(crate) fn keep_password(home: &Path, name: &str, password: &str) -> std::io::Result<PathBuf> {
    use std::io::Write as _;
    let folder = home.join("secrets");
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    let file = Path::new("secrets").join(format!("connection-{name}"));
    let path = home.join(&file);
    // An existing file keeps its mode when it is written to, so it is created again.
    if path.exists() {
        std::fs::remove_file(&path)?;
    }
    let mut made = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    made.write_all(password.as_bytes())?;
    made.sync_all()?;
    Ok(file)
}

/// The address with the password inserted.
fn with_password(address: &str, password: &str) -> Result<String, String> {
    let encoded: String =
        percent_encoding::utf8_percent_encode(password, percent_encoding::NON_ALPHANUMERIC).to_string();
    if address.starts_with("adbc://") {
        let mark = if address.contains('?') { '&' } else { '?' };
        return Ok(format!("{address}{mark}password={encoded}"));
    }
    let (scheme, rest) = address.split_once("://").ok_or("a path has no password")?;
    let (user, host) = rest.rsplit_once('@').ok_or("the address has no user before the @")?;
    Ok(format!("{scheme}://{user}:{encoded}@{host}"))
}

/// The address without its password, and the password.
pub(crate) fn without_password(address: &str) -> (String, Option<String>) {
    let parts = address.split_once("://").and_then(|(scheme, rest)| {
        let (login, host) = rest.rsplit_once('@')?;
        let (user, password) = login.split_once(':')?;
        Some((format!("{scheme}://{user}@{host}"), password))
    });
    match parts {
        Some((plain, password)) => {
            let password = percent_encoding::percent_decode_str(password).decode_utf8_lossy().into_owned();
            (plain, Some(password).filter(|password| !password.is_empty()))
        }
        None => (address.to_owned(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_go_into_addresses_and_out_again() {
        let full = with_password("postgres://ana@db:5432/shop?sslmode=require", "p@ss/wörd:").unwrap();
        assert!(!full.contains("p@ss"), "{full}");
        let (plain, password) = without_password(&full);
        assert_eq!(plain, "postgres://ana@db:5432/shop?sslmode=require");
        assert_eq!(password.as_deref(), Some("p@ss/wörd:"));
        assert_eq!(
            with_password("adbc://flightsql?uri=x", "a&b").unwrap(),
            "adbc://flightsql?uri=x&password=a%26b"
        );
        assert!(with_password("sales.csv", "x").is_err());
        assert_eq!(without_password("sales@home.csv"), ("sales@home.csv".to_owned(), None));
    }

    #[test]
    fn a_password_is_kept_for_its_owner_alone() {
        let home = tempfile::tempdir().unwrap();
        let file = keep_password(home.path(), "shop", "secret").unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&home.path().join("secrets")), mode(&home.path().join(&file))), (0o700, 0o600));
        let address = "postgres://ana@db/shop".to_owned();
        let connection = Connection { address, password_file: Some(file.clone()), ..Connection::default() };
        assert_eq!(connection.full_address(home.path()).unwrap(), "postgres://ana:secret@db/shop");
        std::fs::set_permissions(home.path().join(&file), std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(connection.full_address(home.path()).unwrap_err().contains("chmod 600"));
    }
}
