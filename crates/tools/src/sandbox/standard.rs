//! The standard sandbox: the rights of a server program without a configured sandbox.
//!
//! It suffices for ordinary servers: their installation, their folder, the caches of their package
//! runner, a private temporary folder, the network, and paths in their arguments. Other files of
//! the user are denied.
//!
//! Invariant: it never grants the user's home, its parents, or Steward's own files, whatever the
//! arguments name.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// The granted folders.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Folders {
    /// Readable folders.
    pub(crate) read: Vec<PathBuf>,
    /// Readable and writable folders.
    pub(crate) write: Vec<PathBuf>,
}

/// A program and its context.
pub(crate) struct Program<'a> {
    /// The path of the program.
    pub(crate) path: &'a Path,
    /// Its arguments.
    pub(crate) args: &'a [String],
    /// Its environment.
    pub(crate) env: &'a BTreeMap<String, String>,
    /// The working directory.
    pub(crate) folder: Option<&'a Path>,
    /// The user's home.
    pub(crate) home: Option<&'a Path>,
    /// Steward's home.
    pub(crate) own: Option<&'a Path>,
}

/// Folder names of version managers.
const MANAGERS: [&str; 9] = [".pyenv", ".nvm", ".volta", ".asdf", ".rbenv", ".fnm", ".bun", ".deno", "mise"];

/// Caches of package runners below the home. They are readable and writable.
const CACHES: [(&str, &[&str]); 9] = [
    ("npx", &[".npm", ".cache/npm", ".cache/node"]),
    ("npm", &[".npm", ".cache/npm", ".cache/node"]),
    ("pnpm", &[".local/share/pnpm", ".cache/pnpm", ".local/state/pnpm"]),
    ("bunx", &[".bun"]),
    ("bun", &[".bun"]),
    ("deno", &[".cache/deno", ".deno"]),
    ("uvx", &[".cache/uv", ".local/share/uv"]),
    ("uv", &[".cache/uv", ".local/share/uv"]),
    ("pipx", &[".local/pipx", ".local/share/pipx", ".cache/pipx", ".cache/pip"]),
];

/// Extensions of scripts. They are readable together with their folder.
const SCRIPTS: [&str; 10] = ["py", "js", "mjs", "cjs", "ts", "mts", "rb", "sh", "pl", "jar"];
/// Extensions of databases, whose programs write files beside them.
const DATABASES: [&str; 6] = ["db", "db3", "sqlite", "sqlite3", "duckdb", "s3db"];
/// System folders. They are never granted for writing, and their readable parts are granted to
/// every program.
const SYSTEM: [&str; 14] = [
    "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/sys", "/dev", "/boot",
    "/run", "/var/run",
];
/// Folders of a home that contain secrets.
const SECRET: [&str; 7] = [".ssh", ".gnupg", ".aws", ".kube", ".docker", ".password-store", "keyrings"];
/// Steward's own folders in its home.
const OWN: [&str; 8] = ["config", "keys", "logs", "artifacts", "memory", "tmp", "backups", "uploads"];

/// The folders that this program is granted.
pub(crate) fn folders(program: &Program<'_>) -> Folders {
    let mut granted = Folders::default();
    program.installation(program.path, 2, &mut granted.read);
    if let Some(folder) = program.folder.filter(|folder| program.may_have(folder)) {
        granted.read.push(folder.to_owned());
    }
    let name = program.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if let (Some((_, kept)), Some(home)) = (CACHES.iter().find(|(runner, _)| *runner == name), program.home) {
        granted.write.extend(kept.iter().map(|folder| home.join(folder)));
    }
    for argument in program.args {
        let value = argument.split_once('=').filter(|_| argument.starts_with('-')).map(|(_, value)| value);
        program.grant(value.unwrap_or(argument), true, &mut granted);
    }
    for value in program.env.values().filter(|value| value.starts_with(['/', '~'])) {
        program.grant(value, false, &mut granted);
    }
    granted
}

/// Expands `~/` to the home.
pub(crate) fn expanded(path: &str, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(path),
    }
}

impl Program<'_> {
    /// The folders of a program: its prefix, that of its link target, and that of its interpreter.
    fn installation(&self, path: &Path, depth: usize, into: &mut Vec<PathBuf>) {
        let real = path.canonicalize().ok();
        for path in std::iter::once(path).chain(real.as_deref()) {
            let managed = path.ancestors().find(|folder| {
                folder.file_name().and_then(|name| name.to_str()).is_some_and(|name| MANAGERS.contains(&name))
            });
            let Some(folder) = path.parent() else { continue };
            let prefix = if folder.ends_with("bin") { folder.parent().unwrap_or(folder) } else { folder };
            // `.local` also contains personal data, so only the folder is granted.
            let prefix = if prefix.ends_with(".local") { folder } else { prefix };
            let prefix = managed.unwrap_or(prefix);
            let prefix = if self.may_have(prefix) { prefix } else { folder };
            if self.may_have(prefix) && !into.iter().any(|known| known == prefix) {
                into.push(prefix.to_owned());
            }
        }
        if depth > 0 {
            for interpreter in self.interpreters(path) {
                self.installation(&interpreter, depth - 1, into);
            }
        }
    }

    /// The interpreters in the first line of a script.
    fn interpreters(&self, script: &Path) -> Vec<PathBuf> {
        use std::io::Read as _;
        let mut start = [0_u8; 256];
        let read = std::fs::File::open(script).and_then(|mut file| file.read(&mut start)).unwrap_or(0);
        let start = String::from_utf8_lossy(start.get(..read).unwrap_or_default()).into_owned();
        let Some(line) = start.strip_prefix("#!").and_then(|rest| rest.lines().next()) else {
            return Vec::new();
        };
        let words = line.split_whitespace().filter(|word| !word.starts_with('-'));
        let path =
            self.env.get("PATH").map(Into::into).or_else(|| std::env::var_os("PATH")).unwrap_or_default();
        words
            .filter_map(|word| match Path::new(word).is_absolute() {
                true => Some(PathBuf::from(word)),
                false => {
                    std::env::split_paths(&path).map(|folder| folder.join(word)).find(|path| path.is_file())
                }
            })
            .collect()
    }

    /// Grants a path in an argument. A folder is writable, a script readable with its folder, a
    /// database writable with its folder; of any other file only the file itself is granted. With
    /// `makes`, the folder of a file that does not exist yet is created.
    fn grant(&self, named: &str, makes: bool, granted: &mut Folders) {
        let outright = named.starts_with(['/', '~', '.']);
        if named.is_empty() || named.starts_with('-') || named.contains("://") || named.contains('\n') {
            return;
        }
        let path = expanded(named, self.home);
        let path = match self.folder {
            Some(folder) if path.is_relative() => folder.join(path),
            _ => std::path::absolute(&path).unwrap_or(path),
        };
        let ends = |list: &[&str]| {
            path.extension()
                .and_then(|end| end.to_str())
                .is_some_and(|end| list.contains(&end.to_lowercase().as_str()))
        };
        let beside = path.parent().filter(|folder| self.may_have(folder));
        if path.is_dir() {
            if outright && self.may_have(&path) {
                granted.write.push(path);
            }
        } else if path.is_file() {
            if ends(&SCRIPTS) {
                granted.read.extend(self.packages(&path));
            }
            match beside {
                Some(folder) if ends(&SCRIPTS) => granted.read.push(folder.to_owned()),
                Some(folder) if ends(&DATABASES) => granted.write.push(folder.to_owned()),
                _ if ends(&SCRIPTS) => granted.read.push(path),
                _ if self.is_own(&path) => {}
                _ => granted.write.push(path),
            }
        } else if let (true, true, Some(folder)) = (outright, makes && path.extension().is_some(), beside) {
            let _program_reports_missing_folder = std::fs::create_dir(folder);
            granted.write.push(folder.to_owned());
        }
    }

    /// The package folders of a script: Node searches `node_modules` and `package.json` in every
    /// parent folder.
    fn packages(&self, script: &Path) -> Vec<PathBuf> {
        let above = script.ancestors().skip(1).filter(|folder| self.may_have(&folder.join("node_modules")));
        above
            .flat_map(|folder| [folder.join("node_modules"), folder.join("package.json")])
            .filter(|path| path.exists())
            .collect()
    }

    /// Whether a folder may be granted as a whole.
    fn may_have(&self, folder: &Path) -> bool {
        let plain = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        let real = plain.canonicalize().unwrap_or_else(|_| plain.clone());
        let parts = real.components().filter(|part| matches!(part, Component::Normal(_))).count();
        let above = |of: Option<&Path>| {
            let of = of.map(|of| of.canonicalize().unwrap_or_else(|_| of.to_owned()));
            of.is_some_and(|of| of.starts_with(&real))
        };
        let secret = real.components().any(|part| SECRET.iter().any(|name| part.as_os_str() == *name));
        let shared = real == std::env::temp_dir() || real == Path::new("/var/tmp");
        parts >= 2
            && !above(self.home)
            && !above(self.own)
            && !self.is_own(&real)
            && !secret
            && !shared
            && !SYSTEM.iter().any(|system| real.starts_with(system))
    }

    /// Whether a path belongs to Steward's own files.
    fn is_own(&self, path: &Path) -> bool {
        let Some(own) = self.own else { return false };
        let own = own.canonicalize().unwrap_or_else(|_| own.to_owned());
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let Ok(inside) = path.strip_prefix(&own) else { return false };
        let first = inside.components().next().map(|part| part.as_os_str().to_string_lossy().into_owned());
        first.is_none_or(|first| {
            OWN.contains(&first.as_str()) || first.starts_with("state.db") || first == "journal.head"
        })
    }
}

#[cfg(test)]
#[path = "standard_tests.rs"]
mod tests;
