//! One call of a webhook: a POST over HTTP/1.1 to an address that was looked at before, with a time limit for all of it.
//!
//! Redirects are not followed and proxies not asked: the address that was allowed is the one that is called.

use crate::limits::WEBHOOK_TIMEOUT;
use crate::webhook::{Once, once};
use crate::webhook_body::Signed;
use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use onceover_wire::reach;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use url::{Host, Url};

/// What all calls share.
pub(crate) struct Caller {
    strict: bool,
    tls: Once<Arc<ClientConfig>>,
}

impl Caller {
    pub(crate) fn new(strict: bool) -> Caller {
        Caller { strict, tls: Once::default() }
    }

    /// Calls once. Any status but 2xx is an error.
    pub(crate) async fn call(&self, url: &str, signed: &Signed) -> Result<(), String> {
        match tokio::time::timeout(WEBHOOK_TIMEOUT, self.post(url, signed)).await {
            Ok(Ok(200..=299)) => Ok(()),
            Ok(Ok(status)) => Err(format!("the receiver answered {status}")),
            Ok(Err(error)) => Err(error),
            Err(_elapsed) => Err(format!("no answer in {} s", WEBHOOK_TIMEOUT.as_secs())),
        }
    }

    async fn post(&self, url: &str, signed: &Signed) -> Result<u16, String> {
        let url = Url::parse(url).map_err(|error| error.to_string())?;
        let socket = self.connect(&url).await?;
        // Small requests wait for the acknowledgement of the one before otherwise; an error means that it is gone.
        let _ = socket.set_nodelay(true);
        if url.scheme() == "https" {
            let name = match url.host() {
                Some(Host::Domain(name)) => ServerName::try_from(name.to_owned()).map_err(|error| error.to_string())?,
                Some(Host::Ipv4(ip)) => ServerName::from(std::net::IpAddr::V4(ip)),
                Some(Host::Ipv6(ip)) => ServerName::from(std::net::IpAddr::V6(ip)),
                None => return Err("the URL has no host".to_owned()),
            };
            let connector = TlsConnector::from(once(&self.tls, client_config)?);
            let socket = connector.connect(name, socket).await.map_err(|error| error.to_string())?;
            exchange(socket, &url, signed).await
        } else {
            exchange(socket, &url, signed).await
        }
    }

    /// The first address that takes the connection; each must be one that may be called.
    async fn connect(&self, url: &Url) -> Result<TcpStream, String> {
        let port = url.port_or_known_default().ok_or("the URL has no port")?;
        let addresses: Vec<SocketAddr> = match url.host().ok_or("the URL has no host")? {
            Host::Ipv4(ip) => vec![(ip, port).into()],
            Host::Ipv6(ip) => vec![(ip, port).into()],
            Host::Domain(name) => {
                let found = tokio::net::lookup_host((name, port)).await;
                found.map_err(|error| format!("the receiver's name was not found: {error}"))?.collect()
            }
        };
        let forbidden = addresses.iter().map(|address| reach::of_ip(address.ip()));
        if let Some(reach) = forbidden.into_iter().find(|reach| !reach.is_allowed(self.strict)) {
            return Err(format!("Webhook URL cannot point to {reach}"));
        }
        let mut error = "the receiver's name has no address".to_owned();
        for address in addresses {
            match TcpStream::connect(address).await {
                Ok(socket) => return Ok(socket),
                Err(refused) => error = format!("the receiver is not there: {refused}"),
            }
        }
        Err(error)
    }
}

async fn exchange(
    socket: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    url: &Url,
    signed: &Signed,
) -> Result<u16, String> {
    let failed = |error: hyper::Error| format!("the receiver does not speak HTTP: {error}");
    // Some receivers look for names as they are documented, although HTTP does not care.
    let mut client = http1::Builder::new();
    client.title_case_headers(true);
    let (mut sender, connection) = client.handshake(TokioIo::new(socket)).await.map_err(failed)?;
    // It ends when the answer is there and both halves are dropped; what goes wrong in it the request tells.
    let driven = AbortOnDrop(tokio::spawn(async move { drop(connection.await) }));
    let answer = sender.send_request(request(url, signed)?).await.map_err(failed)?;
    drop(driven);
    Ok(answer.status().as_u16())
}

fn request(url: &Url, signed: &Signed) -> Result<Request<Full<Bytes>>, String> {
    let path = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let host = url.host_str().unwrap_or_default();
    let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    let mut request = Request::post(path)
        .header("Host", host)
        .header("User-Agent", concat!("onceover/", env!("CARGO_PKG_VERSION")))
        .header("Content-Type", "application/json")
        .header("Connection", "close")
        .header("X-Webhook-Event", signed.event)
        .header("X-Webhook-Timestamp", signed.timestamp);
    if let Some(signature) = &signed.signature {
        request = request.header("X-Webhook-Signature", signature);
    }
    request.body(Full::new(signed.body.clone())).map_err(|error| error.to_string())
}

/// Trusts whom the system trusts.
fn client_config() -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        return Err("this system has no certificates to trust".to_owned());
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}

/// A receiver that goes on sending is not listened to.
struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
