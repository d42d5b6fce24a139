//! Settings from the environment, and the texts of those that cannot be used.

use super::*;

fn read(names: &[(&str, &str)]) -> Result<Environment, ConfigError> {
    Environment::read(|name| names.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
}

#[test]
fn every_name_is_read() {
    let environment = read(&[
        ("TCP_PORT", "7000"),
        ("HTTP_PORT", "0"),
        ("HOST", "0.0.0.0"),
        ("BUNQUEUE_DATA_PATH", "/a/jobs.db"),
        ("DATA_PATH", "/b/jobs.db"),
        ("AUTH_TOKENS", "one, two,,"),
        ("MAX_CONNECTIONS", "77"),
        ("MAX_COMPLETED_JOBS", "0"),
        ("TCP_IDLE_TIMEOUT_MS", "500"),
        ("RATE_LIMIT_MAX_REQUESTS", "9"),
        ("RATE_LIMIT_WINDOW_MS", "2000"),
        ("WEBHOOK_STRICT", "true"),
        ("WEBHOOK_MAX_RETRIES", "5"),
        ("WEBHOOK_RETRY_DELAY_MS", "10"),
        ("TLS_CERT_FILE", "c.pem"),
        ("TLS_KEY_FILE", "k.pem"),
    ]);
    let expected = Environment {
        tcp_port: Some(7000),
        http_port: Some(0),
        host: Some("0.0.0.0".parse().unwrap()),
        data_file: Some("/a/jobs.db".into()),
        auth_tokens: vec!["one".to_owned(), "two".to_owned()],
        connections_max: Some(77),
        completed_max: Some(0),
        connection: ConnSettings {
            partial_frame_timeout: Some(Duration::from_millis(500)),
            rate_limit: Some(RateLimit { frames_max: 9, window: Duration::from_secs(2) }),
        },
        webhooks: WebhookSettings { strict: true, tries: 5, retry_delay: Duration::from_millis(10) },
        tls_cert: Some(NamedFile { setting: "TLS_CERT_FILE", path: "c.pem".into() }),
        tls_key: Some(NamedFile { setting: "TLS_KEY_FILE", path: "k.pem".into() }),
    };
    assert_eq!(environment, Ok(expected));
}

#[test]
fn empty_values_say_nothing() {
    let names = ["TCP_PORT", "HTTP_PORT", "HOST", "BUNQUEUE_DATA_PATH", "AUTH_TOKENS", "TLS_CERT_FILE"];
    let names = names.map(|name| (name, ""));
    assert_eq!(read(&names), Ok(Environment::default()));
    assert_eq!(read(&[("BUNQUEUE_DATA_PATH", ""), ("DATA_PATH", "x")]).unwrap().data_file, Some("x".into()));
}

#[test]
fn values_that_cannot_be_used_are_named() {
    let cases = [
        ("TCP_PORT", "65536", "TCP_PORT must be a port number from 0 to 65535, not \"65536\"."),
        ("HTTP_PORT", "x", "HTTP_PORT must be a port number from 0 to 65535, not \"x\"."),
        ("MAX_CONNECTIONS", "0", "MAX_CONNECTIONS must be a whole number from 1 to 1000000, not \"0\"."),
        ("MAX_COMPLETED_JOBS", "-1", "MAX_COMPLETED_JOBS must be a whole number from 0 to 100000000, not \"-1\"."),
        ("RATE_LIMIT_WINDOW_MS", "0", "RATE_LIMIT_WINDOW_MS must be a whole number from 1 to 4294967295, not \"0\"."),
        ("TCP_IDLE_TIMEOUT_MS", "1s", "TCP_IDLE_TIMEOUT_MS must be a whole number from 0 to 4294967295, not \"1s\"."),
        ("WEBHOOK_STRICT", "yes", "WEBHOOK_STRICT must be true or false, not \"yes\"."),
        ("WEBHOOK_MAX_RETRIES", "0", "WEBHOOK_MAX_RETRIES must be a whole number from 1 to 20, not \"0\"."),
        ("HOST", "example.org", "HOST must be an IP address or localhost, not \"example.org\"."),
    ];
    for (name, value, text) in cases {
        assert_eq!(read(&[(name, value)]).unwrap_err().to_string(), text);
    }
}

#[test]
fn zero_switches_bounds_of_a_connection_off() {
    let off = read(&[("TCP_IDLE_TIMEOUT_MS", "0"), ("RATE_LIMIT_MAX_REQUESTS", "0")]).unwrap().connection;
    assert_eq!(off, ConnSettings { partial_frame_timeout: None, rate_limit: None });
}

#[test]
fn tls_takes_both_files_or_none() {
    let named = |setting| Some(NamedFile { setting, path: "x.pem".into() });
    let text =
        |cert, key| tls_files(cert, key).map_or_else(|error| error.to_string(), |files| files.is_some().to_string());
    assert_eq!(text(None, None), "false");
    assert_eq!(text(named("--tls-cert"), named("TLS_KEY_FILE")), "true");
    for (cert, key, start) in [
        (named("--tls-cert"), None, "--tls-cert is set, but --tls-key is not."),
        (named("TLS_CERT_FILE"), None, "TLS_CERT_FILE is set, but TLS_KEY_FILE is not."),
        (None, named("--tls-key"), "--tls-key is set, but --tls-cert is not."),
        (None, named("TLS_KEY_FILE"), "TLS_KEY_FILE is set, but TLS_CERT_FILE is not."),
    ] {
        assert!(text(cert.clone(), key.clone()).starts_with(start), "{}", text(cert, key));
    }
}

#[test]
fn hosts_and_windows() {
    assert_eq!(parse_host("HOST", "localhost"), Ok("127.0.0.1".parse().unwrap()));
    assert_eq!(parse_host("HOST", "::1"), Ok("::1".parse().unwrap()));
    assert_eq!(parse_dedup_window("--dedup-window", "until-done"), Ok(DedupWindow::UntilDone));
    assert!(parse_dedup_window("--dedup-window", "TTL").is_err());
}

#[cfg(target_os = "linux")]
#[test]
fn the_data_folder_follows_the_system() {
    let folder = |names: &'static [(&str, &str)]| {
        default_data_folder(|name| names.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    };
    assert_eq!(folder(&[("XDG_DATA_HOME", "/d"), ("HOME", "/h")]), Some("/d/onceover".into()));
    assert_eq!(folder(&[("XDG_DATA_HOME", "relative"), ("HOME", "/h")]), Some("/h/.local/share/onceover".into()));
    assert_eq!(folder(&[]), None);
}

#[test]
fn a_folder_holds_the_file() {
    assert_eq!(DataPlace::Folder("/d".into()).file(), Path::new("/d/onceover.db"));
    assert_eq!(DataPlace::File("/d/x".into()).file(), Path::new("/d/x"));
    assert_ne!(DataPlace::temporary(), DataPlace::temporary());
}
