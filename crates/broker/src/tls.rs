//! TLS for clients: reads the certificate and its key, and makes a connection's handshake.
//!
//! TLS 1.2 and 1.3, from the first byte on, on the port that clients know; no client certificates. Files that cannot be
//! used keep the broker from starting: to go on in plain text would be worse. A client that speaks something else gets a
//! TLS alert, and its author reads in the window what it did.

use crate::inbox::Problem;
use crate::limits::{HANDSHAKE_TIMEOUT, PROBLEM_FRAME_BYTES_MAX};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{AlertDescription, Error, ServerConfig};
use tokio_rustls::server::TlsStream;

/// The first byte of every TLS connection: a handshake record.
const HANDSHAKE_RECORD: u8 = 0x16;

/// A file, and the setting that named it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFile {
    /// The flag or the environment's name.
    pub setting: &'static str,
    /// The file.
    pub path: PathBuf,
}

impl std::fmt::Display for NamedFile {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} ({})", self.path.display(), self.setting)
    }
}

/// What TLS needs, in PEM form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, followed by those that vouch for it.
    pub cert: NamedFile,
    /// Its private key.
    pub key: NamedFile,
}

/// TLS cannot be offered with these files.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    /// It is not there, or this account may not read it.
    #[error("cannot read {file}: {cause}. Clients would get no TLS, so the broker does not start.")]
    Unreadable {
        /// Which.
        file: NamedFile,
        /// What the system says.
        cause: String,
    },
    /// It holds something else.
    #[error("{file} holds no {what} in PEM form. It must contain a block that begins with -----BEGIN {begin}-----.")]
    NotPem {
        /// Which.
        file: NamedFile,
        /// What was looked for.
        what: &'static str,
        /// How its block begins.
        begin: &'static str,
    },
    /// Both are fine, but not together.
    #[error(
        "the key in {key} does not belong to the certificate in {cert}. Name the key that the certificate was made for."
    )]
    Mismatch {
        /// The certificate's file.
        cert: NamedFile,
        /// The key's file.
        key: NamedFile,
    },
    /// PEM of a kind that cannot be used.
    #[error("cannot use the certificate in {cert} with the key in {key}: {cause}.")]
    Unusable {
        /// The certificate's file.
        cert: NamedFile,
        /// The key's file.
        key: NamedFile,
        /// What is wrong.
        cause: String,
    },
}

/// Reads the files.
///
/// # Errors
/// See [`TlsError`].
pub fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, TlsError> {
    let TlsFiles { cert, key } = files;
    let unreadable = |file: &NamedFile, cause: &dyn std::fmt::Display| TlsError::Unreadable {
        file: file.clone(),
        cause: cause.to_string(),
    };
    let read = |file: &NamedFile| std::fs::read(&file.path).map_err(|cause| unreadable(file, &cause));
    let certs: Result<Vec<_>, pem::Error> = CertificateDer::pem_slice_iter(&read(cert)?).collect();
    let certs = certs.unwrap_or_default();
    if certs.is_empty() {
        return Err(TlsError::NotPem { file: cert.clone(), what: "certificate", begin: "CERTIFICATE" });
    }
    let secret = PrivateKeyDer::from_pem_slice(&read(key)?);
    let secret =
        secret.map_err(|_| TlsError::NotPem { file: key.clone(), what: "private key", begin: "PRIVATE KEY" })?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|versions| versions.with_no_client_auth().with_single_cert(certs, secret));
    match config {
        Ok(config) => Ok(TlsAcceptor::from(Arc::new(config))),
        Err(Error::InconsistentKeys(_)) => Err(TlsError::Mismatch { cert: cert.clone(), key: key.clone() }),
        Err(cause) => Err(TlsError::Unusable { cert: cert.clone(), key: key.clone(), cause: cause.to_string() }),
    }
}

/// Why a client gets no TLS connection.
pub struct NoTls {
    /// What its author should know; none when it closed without a word, as a look at the port does.
    pub problem: Option<Problem>,
    /// The connection, when an alert in it is still to be read by the client.
    pub socket: Option<TcpStream>,
}

/// Makes the handshake within [`HANDSHAKE_TIMEOUT`].
///
/// # Errors
/// The client speaks something else, refuses, is too slow, or has gone.
pub async fn handshake(acceptor: &TlsAcceptor, socket: TcpStream) -> Result<TlsStream<TcpStream>, NoTls> {
    // Looked at without taking it, to show what came instead of TLS.
    let mut start = [0; PROBLEM_FRAME_BYTES_MAX];
    let mut seen = 0;
    let greeting = async {
        match socket.peek(&mut start).await {
            Ok(0) | Err(_) => return Err(NoTls { problem: None, socket: None }),
            Ok(bytes) => seen = bytes,
        }
        acceptor.accept(socket).into_fallible().await.map_err(|(error, socket)| {
            let problem =
                Some(Problem { label: "no TLS", text: refusal(&error, start[0]), bytes: start[..seen].into() });
            NoTls { problem, socket: Some(socket) }
        })
    };
    timeout(HANDSHAKE_TIMEOUT, greeting).await.unwrap_or_else(|_| {
        let text = format!("The client did not finish the TLS handshake in {} s.", HANDSHAKE_TIMEOUT.as_secs());
        Err(NoTls { problem: Some(Problem { label: "no TLS", text, bytes: Vec::new() }), socket: None })
    })
}

fn refusal(error: &io::Error, first_byte: u8) -> String {
    if first_byte != HANDSHAKE_RECORD {
        return "The client does not use TLS, which this broker asks for. Switch TLS on in the client.".to_owned();
    }
    match error.get_ref().and_then(|cause| cause.downcast_ref::<Error>()) {
        Some(Error::AlertReceived(AlertDescription::UnknownCA | AlertDescription::BadCertificate)) => {
            "The client does not trust this broker's certificate. Give it the authority that signed the certificate."
                .to_owned()
        }
        _ => format!("The TLS handshake failed: {error}."),
    }
}

#[cfg(test)]
#[path = "tls_tests.rs"]
mod tls_tests;
