//! When the token stays, and when it is a new one.

use super::*;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("onceover-page-token-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn data(&self) -> PathBuf {
        self.0.join("onceover.db")
    }

    fn file(&self) -> PathBuf {
        self.0.join("onceover.db.page-token")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn it_stays_until_its_file_is_removed() {
    let folder = Folder::new("stays");
    let first = of(&folder.data()).unwrap();
    assert_eq!(first.len(), 2 * SECRET_BYTES);
    assert_eq!(of(&folder.data()).unwrap(), first);
    fs::remove_file(folder.file()).unwrap();
    let second = of(&folder.data()).unwrap();
    assert_ne!(second, first);
    assert_eq!(of(&folder.data()).unwrap(), second);
}

#[test]
fn what_is_not_a_token_is_replaced() {
    let folder = Folder::new("replaced");
    let first = of(&folder.data()).unwrap();
    for content in ["", "short", &first[1..], &format!("{first}0"), &first.replace(|_| true, "g")] {
        fs::write(folder.file(), content).unwrap();
        let token = of(&folder.data()).unwrap();
        assert_eq!(token.len(), 2 * SECRET_BYTES, "{content:?}");
        assert_ne!(token, first, "{content:?}");
        assert_eq!(of(&folder.data()).unwrap(), token);
    }
}

#[cfg(unix)]
#[test]
fn nobody_else_can_read_it_and_one_that_others_could_read_is_replaced() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("private");
    let first = of(&folder.data()).unwrap();
    let mode = || fs::metadata(folder.file()).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(), 0o600);
    fs::set_permissions(folder.file(), fs::Permissions::from_mode(0o644)).unwrap();
    assert_ne!(of(&folder.data()).unwrap(), first);
    assert_eq!(mode(), 0o600);
}

#[test]
fn where_it_cannot_be_kept_there_is_one_all_the_same() {
    let nowhere = Path::new("/nowhere/at/all/onceover.db");
    assert_ne!(of(nowhere).unwrap(), of(nowhere).unwrap());
}
