//! What is kept, and what a start makes of it.

use super::*;

fn start(pinned: Vec<&'static str>) -> Start {
    Start { config: BrokerConfig::new(DataPlace::Folder(PathBuf::from("/d"))), pinned }
}

#[test]
fn what_was_changed_wins_over_defaults_and_loses_against_flags() {
    let kept = Kept {
        host: "::1".parse().ok(),
        port: Some(7001),
        auth_tokens: Some(vec!["t".to_owned()]),
        data_file: Some(PathBuf::from("/other.db")),
        dedup_window: Some(KeptWindow::UntilDone),
        read_only: None,
    };
    let all = merged(&start(vec![]), &kept);
    assert_eq!(
        (all.addr().to_string().as_str(), all.auth_tokens.as_slice()),
        ("[::1]:7001", ["t".to_owned()].as_slice())
    );
    assert_eq!((all.data, all.dedup_window), (DataPlace::File(PathBuf::from("/other.db")), DedupWindow::UntilDone));
    let none = start(vec!["host", "port", "authTokens", "dataFile", "dedupWindow"]);
    assert_eq!(merged(&none, &kept), none.config);
}

#[test]
fn a_file_is_written_whole_and_a_bad_one_is_named() {
    let folder = std::env::temp_dir().join(format!("onceover-kept-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let place = folder.join(FILE_NAME);
    assert_eq!(load(&place), Ok(Kept::default()));
    let kept = Kept { port: Some(7001), ..Kept::default() };
    keeper(place.clone())(&kept).unwrap();
    assert_eq!(load(&place), Ok(kept));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&place).unwrap().permissions().mode() & 0o777, 0o600);
    }
    for (text, wrong) in [("{\"port\": 70000}", "70000"), ("{\"prot\": 1}", "prot"), ("{", "EOF")] {
        std::fs::write(&place, text).unwrap();
        let error = load(&place).unwrap_err();
        assert!(error.contains(wrong) && error.contains(FILE_NAME), "{error}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(keeper(place)(&Kept::default()).unwrap_err().contains(FILE_NAME));
}
