//! A connection of a run: connects to the broker's own port as a client does, with token and TLS where it asks for them, and
//! sends one add after the other, each after the answer to the one before.

use crate::run::{Run, RunAnswer};
use crate::server::Door;
use bytes::BytesMut;
use onceover_wire::frame::{FrameDecoder, NextFrame, write_frame};
use onceover_wire::msgpack::write::MapWriter;
use onceover_wire::msgpack::{Raw, Value};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};

/// Sends adds of the run until none is left.
///
/// # Errors
/// The connection cannot be made, or ends before its answer.
pub(crate) async fn exchange(door: &Door, addr: SocketAddr, run: &Run, command: &[u8]) -> io::Result<()> {
    let target = SocketAddr::new(reachable(addr.ip()), addr.port());
    let socket = if target.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // Bound first, so that the door knows the connection when it comes in.
    socket.bind(SocketAddr::new(target.ip(), 0))?;
    let local = socket.local_addr()?;
    door.runs.is_ours(local, run.mark);
    let sent = match socket.connect(target).await {
        Ok(stream) => converse(door, stream, target.ip(), run, command).await,
        Err(error) => Err(error),
    };
    door.runs.is_gone(local);
    sent
}

/// A broker that listens on every address of the machine is reached by loopback.
fn reachable(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    }
}

async fn converse(door: &Door, stream: TcpStream, ip: IpAddr, run: &Run, command: &[u8]) -> io::Result<()> {
    stream.set_nodelay(true)?;
    if door.rules.tls.is_none() {
        return send_all(stream, door, run, command).await;
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Ourselves(ring::default_provider())))
        .with_no_client_auth();
    let stream = TlsConnector::from(Arc::new(config)).connect(ServerName::from(ip), stream).await?;
    send_all(stream, door, run, command).await
}

async fn send_all(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    door: &Door,
    run: &Run,
    command: &[u8],
) -> io::Result<()> {
    let mut decoder = FrameDecoder::new();
    if let Some(token) = door.rules.access.tokens().first() {
        let mut frame = BytesMut::new();
        write_frame(&mut frame, |out| {
            let mut map = MapWriter::begin(out);
            map.str("cmd", "Auth");
            map.str("token", token);
        });
        if let RunAnswer::Rejected(why) = ask(&mut stream, &mut decoder, &frame).await? {
            return Err(io::Error::other(why));
        }
    }
    let mut frame = BytesMut::new();
    write_frame(&mut frame, |out| out.extend_from_slice(command));
    while run.turn().await {
        run.answered(ask(&mut stream, &mut decoder, &frame).await?);
    }
    Ok(())
}

async fn ask(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    decoder: &mut FrameDecoder,
    frame: &[u8],
) -> io::Result<RunAnswer> {
    stream.write_all(frame).await?;
    stream.flush().await?;
    loop {
        match decoder.next_frame() {
            NextFrame::Payload(payload) => return Ok(answer(payload)),
            NextFrame::Oversize { .. } => return Err(io::Error::other("an answer is too large")),
            NextFrame::Incomplete => {}
        }
        if stream.read_buf(decoder.buffer()).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

fn answer(payload: &[u8]) -> RunAnswer {
    let Ok(Value::Map(map)) = Raw::parse(payload).map(Raw::value) else {
        return RunAnswer::Rejected("The answer is no map.".to_owned());
    };
    let member = |name: &str| map.get(name).map(Raw::value);
    if member("ok") != Some(Value::Bool(true)) {
        let text = match member("error") {
            Some(Value::Str(text)) => String::from_utf8_lossy(text).into_owned(),
            _ => "The answer says no more.".to_owned(),
        };
        return RunAnswer::Rejected(text);
    }
    match (member("duplicate"), member("replaced")) {
        (Some(_), _) => RunAnswer::Returned,
        (None, Some(_)) => RunAnswer::Replaced,
        (None, None) => RunAnswer::Created,
    }
}

/// Whoever answers at the port that this process has bound is this process, whatever name its certificate was made for.
#[derive(Debug)]
struct Ourselves(CryptoProvider);

impl ServerCertVerifier for Ourselves {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
