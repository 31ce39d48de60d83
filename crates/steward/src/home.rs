//! `$STEWARD_HOME`: its layout, and opening its store.

use crate::config::Settings;
use crate::error::Failure;
use crate::leftovers;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use steward_journal::clock::SystemClock;
use steward_journal::keys;
use steward_journal::note::NoteSigner;
use steward_journal::random::SystemRandom;
use steward_journal::redact::Redactor;
use steward_store::postgres::PostgresStore;
use steward_store::sqlite::SqliteStore;
use steward_store::{Store, StoreOptions};

/// The folders of a home.
pub(crate) const FOLDERS: &[&str] = &["agents", "workflows", "config", "skills", "artifacts", "logs", "keys"];

/// A home.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    pub(crate) path: PathBuf,
}

impl Home {
    /// The folder on the command line, `STEWARD_HOME`, or `~/.steward`.
    pub(crate) fn locate(named: Option<&Path>) -> Result<Self, Failure> {
        if let Some(path) = named {
            return Ok(Self { path: path.to_owned() });
        }
        let user = std::env::var_os("HOME").map(PathBuf::from);
        let path = user.map(|user| user.join(".steward"));
        path.map(|path| Self { path }).ok_or_else(|| {
            Failure::user("CLI003", "there is no home folder to use: set STEWARD_HOME or pass --home")
        })
    }

    /// Whether it has been set up.
    pub(crate) fn exists(&self) -> bool {
        self.path.join("config").is_dir()
    }

    /// Creates the folders, readable by their owner only. Existing ones are kept.
    pub(crate) fn create(&self) -> Result<(), Failure> {
        for folder in
            std::iter::once(self.path.clone()).chain(FOLDERS.iter().map(|name| self.path.join(name)))
        {
            let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder);
            made.map_err(|error| match error.kind() {
                std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
                    Failure::from(steward_store::Error::ReadOnly {
                        path: folder.clone(),
                        detail: error.to_string(),
                    })
                }
                _ => Failure::file(&folder, &error),
            })?;
        }
        Ok(())
    }

    /// Temporary folder of this process; the next start removes what is left.
    pub(crate) fn scratch(&self) -> PathBuf {
        self.tmp().join(format!("data-{}", std::process::id()))
    }

    pub(crate) fn tmp(&self) -> PathBuf {
        self.path.join("tmp")
    }

    /// Removes temporary files of killed processes, and the access of other users to the store.
    fn tidy(&self, store: &Path) {
        leftovers::clean(&self.tmp(), "data-");
        leftovers::clean(&self.tmp(), "server-");
        leftovers::clean_noted(&self.tmp());
        if let (Some(parent), Some(name)) = (self.path.parent(), self.path.file_name()) {
            leftovers::clean(parent, &format!(".{}.restore-", name.to_string_lossy()));
        }
        let store = Some((store, 0o600)).filter(|(store, _)| store.is_file());
        for (path, mode) in std::iter::once((self.path.as_path(), 0o700)).chain(store) {
            let open = std::fs::metadata(path).is_ok_and(|about| about.permissions().mode() & 0o077 != 0);
            if open {
                let _doctor_tells = std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode));
            }
        }
    }

    pub(crate) fn key_path(&self) -> PathBuf {
        self.path.join("keys/journal.key")
    }

    /// The signing key, created on first use.
    pub(crate) fn signer(&self) -> Result<NoteSigner, Failure> {
        // A new key would not match the existing log; report the missing key instead.
        if !self.key_path().exists() && self.path.join("state.db").exists() {
            let what = "it is missing, but the store that it belongs to is there".to_owned();
            return Err(steward_journal::Error::BadKey { path: self.key_path(), what }.into());
        }
        Ok(keys::load_or_create(&self.key_path(), &SystemRandom)?)
    }

    /// Opens a copy of the store in another place.
    pub(crate) fn open_copy(&self, path: &Path, signer: NoteSigner) -> Result<Opened, Failure> {
        let signer = Arc::new(signer);
        Ok(Opened { store: Arc::new(SqliteStore::open(path, options(&signer))?), signer })
    }

    /// Opens the store of the settings. A home that does not exist is set up first.
    pub(crate) async fn open(&self, settings: &Settings) -> Result<Opened, Failure> {
        self.create()?;
        let signer = Arc::new(self.signer()?);
        let options = options(&signer);
        let address = settings.store.as_str();
        let store: Arc<dyn Store> = if let Some(path) = address.strip_prefix("sqlite:") {
            let path = self.path.join(path);
            self.tidy(&path);
            Arc::new(SqliteStore::open(&path, options)?)
        } else if address.starts_with("postgres://") || address.starts_with("postgresql://") {
            self.tidy(&self.path);
            Arc::new(PostgresStore::open(address, options).await?)
        } else {
            return Err(steward_store::Error::BadAddress(
                Redactor::default().redact_text(address).into_owned(),
            )
            .into());
        };
        Ok(Opened { store, signer })
    }
}

fn options(signer: &Arc<NoteSigner>) -> StoreOptions {
    StoreOptions {
        clock: Arc::new(SystemClock::default()),
        random: Arc::new(SystemRandom),
        redactor: Arc::new(Redactor::default()),
        signer: signer.clone(),
    }
}

/// An open store and the key of its log.
#[derive(Clone)]
pub(crate) struct Opened {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) signer: Arc<NoteSigner>,
}
