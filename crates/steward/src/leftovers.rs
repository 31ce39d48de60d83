//! Cleans up after killed processes: folders whose names contain the id of the process that made
//! them.
//!
//! Invariant: only folders of processes that no longer exist are removed.

use std::path::{Path, PathBuf};

/// Whether a process with this id exists.
fn lives(pid: &str) -> bool {
    Path::new("/proc").join(pid).exists() || !Path::new("/proc/self").exists()
}

/// The process id after the last hyphen of a name.
fn pid_of(name: &str) -> Option<&str> {
    let pid = name.rsplit_once('-')?.1;
    (!pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit())).then_some(pid)
}

/// Removes entries of a folder with this prefix whose process no longer exists.
pub(crate) fn clean(folder: &Path, start: &str) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let gone = name.starts_with(start) && pid_of(&name).is_some_and(|pid| !lives(pid));
        if gone {
            let path = entry.path();
            let _retried_at_next_start =
                std::fs::remove_dir_all(&path).or_else(|_| std::fs::remove_file(&path));
        }
    }
}

/// Notes in `tmp/` about folders outside the home that a process works in; the name of a note ends
/// with the process id.
pub(crate) struct Note(PathBuf);

impl Note {
    /// Notes that this process works in a folder.
    pub(crate) fn write(tmp: &Path, folder: &Path) -> std::io::Result<Self> {
        std::fs::create_dir_all(tmp)?;
        let note = tmp.join(format!("elsewhere-{}", std::process::id()));
        std::fs::write(&note, folder.as_os_str().as_encoded_bytes())?;
        Ok(Self(note))
    }
}

impl Drop for Note {
    fn drop(&mut self) {
        let _removed_at_next_start = std::fs::remove_file(&self.0);
    }
}

/// Removes the folders in notes of dead processes, and the notes.
pub(crate) fn clean_noted(tmp: &Path) {
    let entries = std::fs::read_dir(tmp).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(pid) = pid_of(&name).filter(|_| name.starts_with("elsewhere-")) else { continue };
        if lives(pid) {
            continue;
        }
        let folder = std::fs::read_to_string(entry.path()).map(PathBuf::from).unwrap_or_default();
        // A folder in a note was made by Steward only if its name contains the same process id.
        let own = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if own.starts_with('.') && own.ends_with(&format!("-{pid}")) {
            let _it_may_be_gone = std::fs::remove_dir_all(&folder);
        }
        let _retried_at_next_start = std::fs::remove_file(entry.path());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_dead_process_left_is_taken_away() {
        let home = tempfile::tempdir().unwrap();
        let tmp = home.path().join("tmp");
        let dead = "4194304999";
        let (theirs, ours) =
            (tmp.join(format!("data-{dead}")), tmp.join(format!("data-{}", std::process::id())));
        let (elsewhere, other) =
            (home.path().join(format!(".x.tar.gz.backup-{dead}")), home.path().join("precious"));
        for folder in [&theirs, &ours, &elsewhere, &other, &tmp.join("data-x")] {
            std::fs::create_dir_all(folder.join("inner")).unwrap();
        }
        std::fs::write(tmp.join(format!("elsewhere-{dead}")), elsewhere.display().to_string()).unwrap();
        clean(&tmp, "data-");
        clean_noted(&tmp);
        assert!(!theirs.exists() && ours.exists() && tmp.join("data-x").exists());
        assert!(!elsewhere.exists() && other.exists());
        std::fs::write(tmp.join(format!("elsewhere-{dead}")), other.display().to_string()).unwrap();
        clean_noted(&tmp);
        assert!(other.exists(), "a note cannot name what Steward did not make");
    }
}
