//! Making folders.

use std::fs;
use std::io;
use std::path::Path;

/// Makes a folder and those above it that are missing. A folder that is there is no error.
///
/// As [`fs::create_dir_all`], but for what is told when something has the name and cannot be looked at: that is why,
/// and not that the name is taken.
pub(crate) fn make_all(path: &Path) -> io::Result<()> {
    if path.as_os_str().is_empty() {
        return Ok(());
    }
    match make_one(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let Some(above) = path.parent() else { return Err(error) };
            make_all(above)?;
            make_one(path)
        }
        made => made,
    }
}

fn make_one(path: &Path) -> io::Result<()> {
    let Err(error) = fs::create_dir(path) else { return Ok(()) };
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => Ok(()),
        Err(why) if error.kind() == io::ErrorKind::AlreadyExists && why.kind() != io::ErrorKind::NotFound => Err(why),
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_folders_are_made_and_those_that_are_there_are_left() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("a/b/c");
        make_all(&path).unwrap();
        fs::write(path.join("file"), "x").unwrap();
        make_all(&path).unwrap();
        assert!(path.join("file").is_file());
        make_all(Path::new("")).unwrap();
        let error = make_all(&path.join("file")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert!(make_all(&path.join("file/below")).is_err());
    }

    #[test]
    #[cfg(unix)]
    fn what_cannot_be_looked_at_is_told_as_that() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("round");
        std::os::unix::fs::symlink("round", &path).unwrap();
        assert_eq!(make_all(&path).unwrap_err().raw_os_error(), Some(libc::ELOOP));
        assert_eq!(make_all(&path.join("below")).unwrap_err().raw_os_error(), Some(libc::ELOOP));
        // A link that leads nowhere has the name.
        let nowhere = temp.path().join("nowhere");
        std::os::unix::fs::symlink("not-here", &nowhere).unwrap();
        assert_eq!(make_all(&nowhere).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    }
}
