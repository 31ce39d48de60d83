//! Evaluation on public data sets, which live outside the repository in a folder given by `--bench`.
//!
//! Nothing in this version answers questions yet. What is here counts the cases of each set, so that the crates that
//! will be measured on them (analysis, tools, language) find one place to add their scores to.

use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};

/// Which data.
#[derive(clap::Args)]
pub(crate) struct Eval {
    /// The folder with the data sets.
    #[arg(long)]
    bench: PathBuf,
}

pub(crate) fn run(eval: &Eval) -> Result<()> {
    let folders =
        std::fs::read_dir(&eval.bench).with_context(|| format!("{} cannot be read", eval.bench.display()))?;
    let mut sets = 0;
    for folder in folders {
        let folder = folder?.path();
        for (name, cases) in cases(&folder)? {
            println!("{name:<28} {cases:>6} cases, not scored: nothing answers them yet");
            sets += 1;
        }
    }
    ensure!(sets > 0, "{} has no data sets: a set is a folder with *.jsonl files", eval.bench.display());
    Ok(())
}

/// The files of a set and how many cases each has.
fn cases(folder: &Path) -> Result<Vec<(String, usize)>> {
    let mut found = Vec::new();
    for file in std::fs::read_dir(folder).into_iter().flatten() {
        let path = file?.path();
        if path.extension().is_some_and(|ending| ending == "jsonl") {
            let text = std::fs::read_to_string(&path)?;
            let set = folder.file_name().unwrap_or_default().to_string_lossy();
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            found
                .push((format!("{set}/{name}"), text.lines().filter(|line| !line.trim().is_empty()).count()));
        }
    }
    found.sort();
    Ok(found)
}
