//! The command line together with the environment.

use super::*;
use onceover_broker::config::DedupWindow;

fn run(args: &str, names: &[(&str, &str)]) -> Result<Action, UsageError> {
    let home = ("HOME", "/h");
    let lookup =
        |name: &str| names.iter().chain([&home]).find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
    parse(args.split_whitespace().map(str::to_owned), lookup)
}

fn settings(args: &str, names: &[(&str, &str)]) -> Settings {
    match run(args, names) {
        Ok(Action::Run(settings)) => *settings,
        other => panic!("{args}: {other:?}"),
    }
}

#[test]
fn defaults_are_local() {
    let settings = settings("", &[]);
    assert_eq!(settings.broker.addr().to_string(), "127.0.0.1:6789");
    assert_eq!(settings.ui, Ui::Prefer(6790));
    assert!(matches!(settings.broker.data, DataPlace::Folder(folder) if folder.ends_with("onceover")));
}

#[test]
fn flags_win_over_the_environment() {
    let names = [("TCP_PORT", "1"), ("HTTP_PORT", "2"), ("HOST", "::1"), ("DATA_PATH", "/a.db"), ("AUTH_TOKENS", "t")];
    let environment = settings("", &names);
    assert_eq!((environment.broker.addr().to_string().as_str(), environment.ui), ("[::1]:1", Ui::Exactly(2)));
    assert_eq!(environment.broker.data, DataPlace::File("/a.db".into()));
    assert_eq!(environment.broker.auth_tokens, ["t"]);
    let flags = settings("--port 7 --ui-port=8 --host 0.0.0.0 --data /d --dedup-window until-done", &names);
    assert_eq!((flags.broker.addr().to_string().as_str(), flags.ui), ("0.0.0.0:7", Ui::Exactly(8)));
    assert_eq!(flags.broker.data, DataPlace::Folder("/d".into()));
    assert_eq!(flags.broker.dedup_window, DedupWindow::UntilDone);
    assert_eq!(settings("--no-ui --ui-port 8", &names).ui, Ui::Off);
}

#[test]
fn tls_files_come_from_either() {
    let names = [("TLS_CERT_FILE", "c"), ("TLS_KEY_FILE", "k")];
    let files = settings("--tls-cert /flag", &names).broker.tls.expect("both are named");
    let named = |file: &NamedFile| (file.setting, file.path.display().to_string());
    assert_eq!(named(&files.cert), ("--tls-cert", "/flag".to_owned()));
    assert_eq!(named(&files.key), ("TLS_KEY_FILE", "k".to_owned()));
    assert_eq!(settings("", &[]).broker.tls, None);
}

#[test]
fn the_number_of_connections_comes_from_either() {
    let names = [("MAX_CONNECTIONS", "7"), ("TCP_IDLE_TIMEOUT_MS", "0")];
    assert_eq!(settings("--max-connections 8", &names).broker.connections_max, 8);
    let environment = settings("", &names).broker;
    assert_eq!((environment.connections_max, environment.connection.partial_frame_timeout), (7, None));
}

#[test]
fn the_number_of_completed_jobs_comes_from_either() {
    let names = [("MAX_COMPLETED_JOBS", "7")];
    assert_eq!(settings("--max-completed-jobs 8", &names).broker.completed_max, 8);
    assert_eq!(settings("", &names).broker.completed_max, 7);
    assert_eq!(settings("", &[]).broker.completed_max, 100_000);
}

#[test]
fn other_pages_are_named_or_need_a_token() {
    let cors = |value, tokens| run("", &[("CORS_ALLOW_ORIGIN", value), ("AUTH_TOKENS", tokens)]);
    let given = |value, tokens| match cors(value, tokens) {
        Ok(Action::Run(settings)) => settings.cors,
        other => panic!("{other:?}"),
    };
    assert_eq!(given("", ""), Cors::Origins(vec![]));
    assert_eq!(given("http://a, http://b/", ""), Cors::Origins(vec!["http://a".to_owned(), "http://b".to_owned()]));
    assert_eq!(given("*", "t"), Cors::Any);
    assert_eq!(cors("*", ""), Err(UsageError::OpenToAll));
}

#[test]
fn help_and_version_come_first() {
    assert_eq!(run("--port 1 --help", &[]), Ok(Action::Help));
    assert_eq!(run("-V", &[("TCP_PORT", "nonsense")]), Ok(Action::Version));
    assert!(HELP.lines().all(|line| line.len() <= 120));
}

#[test]
fn mistakes_are_named() {
    let cases = [
        ("--ports 1", "unknown argument \"--ports\"."),
        ("start", "unknown argument \"start\"."),
        ("--port", "--port needs a value."),
        ("--port x", "--port must be a port number from 0 to 65535, not \"x\"."),
        ("--no-ui=1", "--no-ui takes no value."),
        (
            "--tls-key k",
            "--tls-key is set, but --tls-cert is not. TLS needs a certificate and its key, so set both or neither.",
        ),
        ("--dedup-window always", "--dedup-window must be ttl or until-done, not \"always\"."),
    ];
    for (args, text) in cases {
        assert_eq!(run(args, &[]).unwrap_err().to_string(), text, "{args}");
    }
}

#[test]
fn without_a_home_the_data_folder_must_be_named() {
    let nowhere = |args: &str| parse(args.split_whitespace().map(str::to_owned), |_| None);
    assert_eq!(nowhere(""), Err(UsageError::NoDataFolder));
    assert!(nowhere("--data d").is_ok());
}
