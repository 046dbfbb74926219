//! Files that are either written completely or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Makes sure that files can be written into a directory, before hours of work depend on it.
pub fn prepare_directory(directory: &Path) -> Result<(), Failure> {
    let refuse = |error: std::io::Error| Failure::at(directory, format!("cannot write here: {error}"));
    fs::create_dir_all(directory).map_err(refuse)?;
    let probe = beside(&directory.join("probe"));
    fs::write(&probe, []).map_err(refuse)?;
    fs::remove_file(&probe).map_err(refuse)
}

/// Writes a file under a temporary name and renames it.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let draft = beside(path);
    fs::write(&draft, bytes).and_then(|()| fs::rename(&draft, path)).map_err(|error| {
        // The draft may not exist; what went wrong before is what the user needs to hear.
        let _ = fs::remove_file(&draft);
        Failure::at(path, format!("cannot write: {error}"))
    })
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.tmp", std::process::id()));
    path.with_file_name(name)
}
