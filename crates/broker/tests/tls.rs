//! Clients of a broker that asks for TLS, and what becomes of those that speak something else.

#![allow(clippy::unwrap_used)] // A failed step is a failed test.

mod kit;

use kit::{Client, problem, socket, start_with};
use onceover_broker::tls::{NamedFile, TlsFiles};
use onceover_broker::{Broker, BrokerStatus};
use onceover_store::SimDisk;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use serde_json::json;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{
    ClientConfig, ClientConnection, ProtocolVersion, RootCertStore, StreamOwned, SupportedProtocolVersion,
};

/// A TLS alert begins with this byte.
const ALERT_RECORD: u8 = 21;

struct Bench {
    broker: Broker,
    addr: SocketAddr,
    roots: RootCertStore,
    folder: PathBuf,
}

impl Bench {
    fn new(name: &str) -> Bench {
        Bench::for_clients(name, 100)
    }

    fn for_clients(name: &str, connections_max: usize) -> Bench {
        let folder = std::env::temp_dir().join(format!("onceover-tls-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let named = |setting, file: &str, content: String| {
            let path = folder.join(file);
            std::fs::write(&path, content).unwrap();
            NamedFile { setting, path }
        };
        let files = TlsFiles {
            cert: named("TLS_CERT_FILE", "cert.pem", cert.pem()),
            key: named("TLS_KEY_FILE", "key.pem", signing_key.serialize_pem()),
        };
        let broker = start_with(&SimDisk::default(), |config| {
            config.tls = Some(files);
            config.connections_max = connections_max;
        });
        let BrokerStatus::Listening { addr } = broker.handle().status() else { panic!("it does not listen") };
        let mut roots = RootCertStore::empty();
        roots.add(cert.der().clone()).unwrap();
        Bench { broker, addr, roots, folder }
    }

    fn client(
        &self,
        version: &'static SupportedProtocolVersion,
        roots: RootCertStore,
    ) -> StreamOwned<ClientConnection, TcpStream> {
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[version])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = "localhost".try_into().unwrap();
        StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), socket(self.addr))
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn both_versions_carry_commands_large_and_small_in_both_directions() {
    let bench = Bench::new("both");
    for (version, name) in [(&TLS12, ProtocolVersion::TLSv1_2), (&TLS13, ProtocolVersion::TLSv1_3)] {
        let mut client = Client::over(bench.client(version, bench.roots.clone()));
        let data = "x".repeat(3_000_000);
        let id = client.call("PUSH", json!({"queue": "q", "data": data}))["id"].clone();
        assert_eq!(client.call("GetJob", json!({"id": id}))["job"]["data"], json!(data));
        let many: Vec<_> = (0..2_000).map(|_| ("PUSH", json!({"queue": "many", "data": {}}))).collect();
        client.send_together(&many);
        assert!(many.iter().all(|_| client.read().unwrap()["ok"] == true));
        assert_eq!(client.stream().conn.protocol_version(), Some(name));
    }
}

#[test]
fn a_parked_pull_is_answered_over_tls() {
    let bench = Bench::new("parked");
    let mut worker = Client::over(bench.client(&TLS13, bench.roots.clone()));
    worker.send("PULL", json!({"queue": "q", "timeout": 15_000}));
    assert_eq!(worker.call("Ping", json!({}))["ok"], true);
    let mut producer = Client::over(bench.client(&TLS13, bench.roots.clone()));
    let id = producer.call("PUSH", json!({"queue": "q", "data": 1}))["id"].clone();
    assert_eq!(worker.read().unwrap()["job"]["id"], id);
}

#[test]
fn a_client_without_tls_gets_an_alert_and_its_author_the_reason() {
    let bench = Bench::new("plain");
    let mut plain = Client::new(bench.addr);
    let ping = plain.frame("Ping", json!({}));
    let mut socket = socket(bench.addr);
    socket.write_all(&ping).unwrap();
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).unwrap();
    assert_eq!((answer[0], answer.len()), (ALERT_RECORD, 7), "{answer:02x?}");
    let problem = problem(&bench.broker, "no TLS").problem;
    assert_eq!((problem.label, &problem.bytes), ("no TLS", &ping));
    assert!(problem.text.contains("does not use TLS"), "{}", problem.text);
    // The bystanders are served.
    assert_eq!(Client::over(bench.client(&TLS13, bench.roots.clone())).call("Ping", json!({}))["ok"], true);
}

#[test]
fn a_client_that_does_not_trust_the_certificate_is_told_of() {
    let bench = Bench::new("trust");
    let mut stranger = bench.client(&TLS13, RootCertStore::empty());
    assert!(stranger.write_all(b"x").and_then(|()| stranger.flush()).is_err());
    let text = problem(&bench.broker, "no TLS").problem.text;
    assert!(text.contains("does not trust this broker's certificate"), "{text}");
}

#[test]
fn a_look_at_the_port_is_no_problem() {
    let bench = Bench::new("look");
    drop(socket(bench.addr));
    socket(bench.addr).write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert_eq!(problem(&bench.broker, "no TLS").problem.bytes, b"GET / HTTP/1.1\r\n\r\n");
}

#[test]
fn a_handshake_counts_as_a_connection_and_the_surplus_is_told_inside_of_tls() {
    let bench = Bench::for_clients("surplus", 1);
    let begun = socket(bench.addr);
    let mut surplus = Client::over(bench.client(&TLS13, bench.roots.clone()));
    surplus.send("Ping", json!({}));
    assert_eq!(surplus.read(), Some(json!({"ok": false, "error": "Too many connections (max 1)"})));
    problem(&bench.broker, "turned away");
    drop(begun);
}
