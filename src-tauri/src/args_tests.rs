//! Flags and environment, as a table.

use super::*;

fn parsed(args: &[&str], environment: &[(&str, &str)]) -> Result<Action, UsageError> {
    let lookup =
        |name: &str| environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    parse(args.iter().map(|arg| (*arg).to_owned()), lookup)
}

fn config(args: &[&str], environment: &[(&str, &str)]) -> BrokerConfig {
    match parsed(args, environment) {
        Ok(Action::Run(start)) => start.config,
        other => panic!("no configuration but {other:?}"),
    }
}

#[test]
fn nothing_said_means_loopback_and_the_data_folder() {
    let config = config(&[], &[("HOME", "/h"), ("XDG_DATA_HOME", "/x")]);
    assert_eq!(config.addr().to_string(), "127.0.0.1:6789");
    if cfg!(target_os = "linux") {
        assert_eq!(config.data, DataPlace::Folder(PathBuf::from("/x/onceover")));
    }
}

#[test]
fn flags_win_over_the_environment() {
    let environment = [("TCP_PORT", "1"), ("HOST", "::1"), ("BUNQUEUE_DATA_PATH", "/f.db"), ("AUTH_TOKENS", "a,b")];
    let said = config(&["--port=2", "--data", "/d", "--host", "127.0.0.2"], &environment);
    assert_eq!(said.addr().to_string(), "127.0.0.2:2");
    assert_eq!(said.data, DataPlace::Folder(PathBuf::from("/d")));
    let unsaid = config(&[], &environment);
    assert_eq!(unsaid.addr().to_string(), "[::1]:1");
    assert_eq!(unsaid.data, DataPlace::File(PathBuf::from("/f.db")));
    assert_eq!(unsaid.auth_tokens, ["a", "b"]);
}

#[test]
fn what_was_said_is_told_apart_from_defaults() {
    let pinned = |args: &[&str], environment: &[(&str, &str)]| match parsed(args, environment) {
        Ok(Action::Run(start)) => start.pinned,
        other => panic!("no start but {other:?}"),
    };
    assert_eq!(pinned(&[], &[("HOME", "/h"), ("LOCALAPPDATA", "C:\\h")]), Vec::<&str>::new());
    let environment = [("HOST", "::1"), ("AUTH_TOKENS", "a")];
    assert_eq!(pinned(&["--port", "1", "--data", "/d"], &environment), ["host", "port", "authTokens", "dataFile"]);
}

#[test]
fn mistakes_are_named() {
    let home = [("HOME", "/h"), ("LOCALAPPDATA", "C:\\h")];
    let table: [(&[&str], &str); 3] = [
        (&["--prot", "1"], "unknown argument \"--prot\"."),
        (&["--data"], "--data needs a value."),
        (&["--port", "70000"], "--port must be a port number from 0 to 65535, not \"70000\"."),
    ];
    for (args, text) in table {
        assert_eq!(parsed(args, &home).unwrap_err().to_string(), text);
    }
    assert_eq!(parsed(&[], &[]), Err(UsageError::NoDataFolder));
    assert_eq!(parsed(&["--help"], &home), Ok(Action::Help));
    assert_eq!(parsed(&["-V"], &home), Ok(Action::Version));
}
