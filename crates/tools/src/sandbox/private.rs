//! A temporary folder that one server has for itself. It goes when the server ends.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The folder. Its name ends with this process, so that a later start of Steward finds what a
/// killed one left.
#[derive(Debug)]
pub(crate) struct PrivateFolder(PathBuf);

impl PrivateFolder {
    /// Makes one in `tmp/` of Steward's home, or where temporary files are kept.
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
        let _the_next_start_takes_it_away = std::fs::remove_dir_all(&self.0);
    }
}
