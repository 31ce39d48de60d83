//! Lists the files of the page and the pages of the error codes, so that they are built into the
//! program.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../..");
    let (web, errors) = (root.join("web"), root.join("docs/errors"));
    let mut code = String::from("/// The files of the page.\nstatic FILES: &[(&str, &[u8])] = &[\n");
    let mut files = Vec::new();
    walk(&web, &web, &mut files)?;
    files.sort();
    for (name, path) in files {
        let _infallible = writeln!(code, "    ({name:?}, include_bytes!({path:?})),");
    }
    code.push_str("];\n\n/// What the codes of errors mean.\nstatic ERRORS: &[(&str, &str)] = &[\n");
    let mut pages = Vec::new();
    walk(&errors, &errors, &mut pages)?;
    pages.sort();
    for (name, path) in pages {
        let _infallible = writeln!(code, "    ({:?}, include_str!({path:?})),", name.trim_end_matches(".md"));
    }
    code.push_str("];\n");
    println!("cargo::rerun-if-changed={}", web.display());
    println!("cargo::rerun-if-changed={}", errors.display());
    fs::write(PathBuf::from(env::var("OUT_DIR").unwrap_or_default()).join("page.rs"), code)
}

/// Every file below a folder, by its path from there. What only developers need stays out.
fn walk(root: &Path, folder: &Path, found: &mut Vec<(String, String)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let hidden = name.starts_with('.') || name == "node_modules" || name == "tests";
        let ending = path.extension().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !hidden {
            walk(root, &path, found)?;
        } else if path.is_file()
            && !hidden
            && !name.ends_with(".d.ts")
            && name != "jsconfig.json"
            && ending != "part"
        {
            let short = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            found.push((short, path.canonicalize()?.display().to_string()));
        }
    }
    Ok(())
}
