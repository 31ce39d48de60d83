//! The signing key on disk: created on first use, readable by its owner only.

use crate::error::{Error, Result};
use crate::note::NoteSigner;
use crate::random::Random;
use base64::{Engine, engine::general_purpose::STANDARD};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Loads the key, or creates one if there is none. A key that other users can read is rejected.
pub fn load_or_create(path: &Path, random: &dyn Random) -> Result<NoteSigner> {
    match load(path) {
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            create(path, random)
        }
        other => other,
    }
}

/// Loads the key.
pub fn load(path: &Path) -> Result<NoteSigner> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    let mode = fs::metadata(path).map_err(io)?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(Error::OpenKey { path: path.to_owned() });
    }
    let text = fs::read_to_string(path).map_err(io)?;
    let bad = |what: &str| Error::BadKey { path: path.to_owned(), what: what.to_owned() };
    let (name, secret) = text
        .trim()
        .strip_prefix("steward-journal-key ")
        .and_then(|rest| rest.split_once(' '))
        .ok_or_else(|| bad("it must read `steward-journal-key NAME SECRET`"))?;
    let secret = STANDARD.decode(secret).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
    NoteSigner::new(name, &secret.ok_or_else(|| bad("the secret must be 32 bytes in base64"))?)
}

fn create(path: &Path, random: &dyn Random) -> Result<NoteSigner> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    if let Some(folder) = path.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(io)?;
    }
    let secret = random.bytes()?;
    let name = format!("steward.log/{:08x}", random.uuid_v4()?.as_fields().0);
    let text = format!("steward-journal-key {name} {}\n", STANDARD.encode(secret));
    // Written to a temporary file and linked into place: a crash leaves no partial key, and if two
    // processes start at once, one of them wins.
    let aside = path.with_extension(format!("new-{}", random.uuid_v4()?));
    let written =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&aside).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
    let linked = written.and_then(|()| fs::hard_link(&aside, path));
    let _nothing_to_remove = fs::remove_file(&aside);
    match linked {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => load(path),
        Err(error) => Err(io(error)),
        Ok(()) => {
            // The directory entry must survive a power failure too: a log without its key cannot be
            // continued.
            let folder = path.parent().unwrap_or(Path::new("."));
            fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(io)?;
            NoteSigner::new(&name, &secret)
        }
    }
}
