//! A private temporary folder of one server. It is removed when the server ends.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The folder. Its name ends with the process id, so that a later start of Steward can remove it
/// after a crash.
#[derive(Debug)]
pub(crate) struct PrivateFolder(PathBuf);

impl PrivateFolder {
    /// Creates a folder in `tmp/` of Steward's home, or in the system's temporary folder.
    pub(crate) fn make(home: Option<&Path>, server: &str) -> std::io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let place = home.map_or_else(std::env::temp_dir, |home| home.join("tmp"));
        let place = std::path::absolute(place)?;
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = place.join(format!("server-{server}-{number}-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        let _removed_at_next_start = std::fs::remove_dir_all(&self.0);
    }
}
