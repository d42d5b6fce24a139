//! Files that TLS cannot be offered with, each with its text.

use super::*;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use std::fs;
use std::path::Path;

fn pair() -> (String, String) {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    (cert.pem(), signing_key.serialize_pem())
}

fn files(folder: &Path, cert: &str, key: &str) -> TlsFiles {
    let named = |setting, name: &str, content: &str| {
        let path = folder.join(name);
        fs::write(&path, content).unwrap();
        NamedFile { setting, path }
    };
    TlsFiles { cert: named("--tls-cert", "cert.pem", cert), key: named("TLS_KEY_FILE", "key.pem", key) }
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_its_name_and_its_setting() {
    let folder = std::env::temp_dir().join(format!("onceover-tls-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (cert, key) = pair();
    let text = |files: &TlsFiles| acceptor(files).err().map(|error| error.to_string()).unwrap_or_default();
    assert_eq!(text(&files(&folder, &cert, &key)), "");
    let bundle = format!("{key}{cert}{}", pair().0);
    assert_eq!(text(&files(&folder, &bundle, &bundle)), "", "one file may hold all of it");
    let cases: &[(&str, &str, &[&str])] = &[
        (&cert, &pair().1, &["key.pem (TLS_KEY_FILE) does not belong", "cert.pem (--tls-cert)"]),
        (&key, &key, &["cert.pem (--tls-cert) holds no certificate", "BEGIN CERTIFICATE"]),
        (&cert, &cert, &["key.pem (TLS_KEY_FILE) holds no private key", "BEGIN PRIVATE KEY"]),
        (&cert, "", &["key.pem (TLS_KEY_FILE) holds no private key"]),
        ("\0\u{1}not pem", &key, &["cert.pem (--tls-cert) holds no certificate"]),
        (
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            &key,
            &["cannot use", "cert.pem (--tls-cert)"],
        ),
        ("-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n", &key, &["cert.pem (--tls-cert) holds no"]),
    ];
    for (cert, key, parts) in cases {
        let text = text(&files(&folder, cert, key));
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    }
    let gone = files(&folder, &cert, &key);
    fs::remove_dir_all(&folder).unwrap();
    assert!(text(&gone).contains("cert.pem (--tls-cert): No such file"), "{}", text(&gone));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_says_nothing_is_given_up() {
    let folder = std::env::temp_dir().join(format!("onceover-tls-silent-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (cert, key) = pair();
    let acceptor = acceptor(&files(&folder, &cert, &key)).unwrap_or_else(|error| panic!("{error}"));
    fs::remove_dir_all(&folder).unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let _silent = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (socket, _) = listener.accept().await.unwrap();
    let began = tokio::time::Instant::now();
    let refused = handshake(&acceptor, socket).await.expect_err("nothing was said");
    assert!(began.elapsed() >= HANDSHAKE_TIMEOUT);
    assert!(refused.problem.is_some_and(|problem| problem.text.contains("did not finish the TLS handshake")));
}
