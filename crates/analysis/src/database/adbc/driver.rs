//! Finds and loads driver libraries.
//!
//! A library is code, so it is searched only where the owner of this process put it: at a given
//! path, in the folders of `STEWARD_DRIVERS`, in the active Python environment, and in ADBC's own
//! locations (manifests and the system's libraries). The working directory is not searched.

use std::path::{Path, PathBuf};

use adbc_core::options::AdbcVersion;
use adbc_core::{LOAD_FLAG_SEARCH_ENV, LOAD_FLAG_SEARCH_SYSTEM, LOAD_FLAG_SEARCH_USER};
use adbc_driver_manager::ManagedDriver;

use super::super::error::DatabaseError;
use super::address::Address;

/// Folders with driver libraries, as in `PATH`.
const FOLDERS: &str = "STEWARD_DRIVERS";
/// The entry point of DuckDB; its library has several.
const DUCKDB: &str = "duckdb_adbc_init";

/// Loads the driver of an address.
pub(super) fn load(address: &Address) -> Result<ManagedDriver, DatabaseError> {
    let name = address.driver.as_str();
    let known = address.is_duckdb().then_some(DUCKDB);
    let entrypoint = address.entrypoint.as_deref().or(known).map(str::as_bytes);
    let missing = |detail: String| DatabaseError::Driver {
        name: name.to_owned(),
        detail,
        install: installation(name, address.is_duckdb()),
    };
    if name.contains('/') {
        let path = Path::new(name);
        if !path.is_file() {
            return Err(missing("the file is not there".to_owned()));
        }
        let loaded = ManagedDriver::load_from_name(path, entrypoint, AdbcVersion::V110, 0, None);
        return loaded.map_err(|error| missing(error.message));
    }
    if let Some(path) = candidates(name).into_iter().find(|path| path.is_file()) {
        let loaded = ManagedDriver::load_dynamic_from_filename(&path, entrypoint, AdbcVersion::V110);
        return loaded.map_err(|error| missing(format!("{}: {}", path.display(), error.message)));
    }
    let flags = LOAD_FLAG_SEARCH_ENV | LOAD_FLAG_SEARCH_USER | LOAD_FLAG_SEARCH_SYSTEM;
    // The loader's message is long and lists every location; all that matters is that the driver
    // was not found.
    ManagedDriver::load_from_name(name, entrypoint, AdbcVersion::V110, flags, None)
        .or_else(|_| ManagedDriver::load_dynamic_from_name(name, entrypoint, AdbcVersion::V110))
        .map_err(|_| missing("it is not installed".to_owned()))
}

/// Possible files of a driver of this name.
fn candidates(name: &str) -> Vec<PathBuf> {
    let (start, end) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let files = [format!("{start}adbc_driver_{name}{end}"), format!("{start}{name}{end}")];
    let mut found = Vec::new();
    let listed = std::env::var_os(FOLDERS).unwrap_or_default();
    for folder in std::env::split_paths(&listed).filter(|folder| folder.is_absolute()) {
        found.extend(files.iter().map(|file| folder.join(file)));
    }
    // A wheel has its library beside its module.
    if let Some(environment) = std::env::var_os("VIRTUAL_ENV").map(PathBuf::from) {
        let versions = std::fs::read_dir(environment.join("lib")).into_iter().flatten().flatten();
        for version in versions {
            let module = version.path().join("site-packages").join(format!("adbc_driver_{name}"));
            found.extend(files.iter().map(|file| module.join(file)));
        }
    }
    found
}

/// What to install to get a driver.
fn installation(name: &str, is_duckdb: bool) -> String {
    if is_duckdb {
        return "Install it with `pip install dbc && dbc install duckdb`, or put libduckdb.so of \
                https://duckdb.org/install (C/C++) into the folder `drivers` of Steward's home. The Python package \
                `duckdb` alone is not enough: its library runs only inside of Python"
            .to_owned();
    }
    let name =
        Path::new(name).file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let name = name.trim_start_matches("lib").trim_start_matches("adbc_driver_");
    format!(
        "Install it with `pip install adbc-driver-{name}` (in an active virtual environment) or `pip install \
            dbc && dbc install {name}`, or put its library into the folder `drivers` of Steward's home"
    )
}
