//! The one HTTP client: made at the first request, shared by all. No other file makes one.
//!
//! Reading the system's certificates takes 20 ms and fails on a machine without any, so it waits for the first address that needs them.

use std::error::Error as _;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::dns::Resolve;
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use rustls_platform_verifier::Verifier;

/// To the end of the TLS handshake.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Follows no redirect: what it sends carries keys. Proxies are those of the environment; what is sent to this machine goes by none, since a proxy
/// elsewhere has another idea of `localhost`.
#[derive(Debug, Clone, Default)]
pub struct Http {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    client: OnceLock<Client>,
    /// To this machine.
    local: OnceLock<Client>,
    /// To addresses that its resolver lets through.
    guarded: OnceLock<Client>,
    roots: OnceLock<Arc<NativeRoots>>,
}

impl Http {
    /// The client, ready for `url`. The error is a text for the user.
    pub(crate) async fn client(&self, url: &Url) -> Result<Client, String> {
        let (made, proxies) = if is_loopback(url) {
            (&self.shared.local, Proxies::None)
        } else {
            (&self.shared.client, Proxies::OfEnvironment)
        };
        self.made(url, made, proxies).await
    }

    /// One that connects to what `resolver` lets through, by no proxy. It does not ask the resolver for a host that is a number. The first resolver stays.
    pub(crate) async fn guarded(&self, url: &Url, resolver: impl Resolve + 'static) -> Result<Client, String> {
        self.made(url, &self.shared.guarded, Proxies::NoneResolvedBy(Arc::new(resolver))).await
    }

    async fn made(&self, url: &Url, made: &OnceLock<Client>, proxies: Proxies) -> Result<Client, String> {
        let roots = self.shared.roots.get_or_init(|| Arc::new(NativeRoots::new()));
        if url.scheme() == "https" && roots.verifier.get().is_none() {
            let roots = Arc::clone(roots);
            // A failure shows again, with its cause, in the handshake.
            let _ = tokio::task::spawn_blocking(move || roots.load().is_ok()).await;
        }
        if let Some(client) = made.get() {
            return Ok(client.clone());
        }
        let client =
            build(Arc::clone(roots), proxies).map_err(|cause| format!("The HTTP client cannot be made: {cause}."))?;
        Ok(made.get_or_init(|| client).clone())
    }

    /// Whether this machine has certificates to judge servers by; the error is a text for the user. Blocks for some 20 ms.
    pub fn check_certificates() -> Result<(), String> {
        NativeRoots::new().load().map(|_| ()).map_err(|error| error.to_string())
    }
}

enum Proxies {
    OfEnvironment,
    None,
    NoneResolvedBy(Arc<dyn Resolve>),
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || host.ends_with(".localhost") || address.is_ok_and(|address| address.is_loopback())
}

fn build(roots: Arc<NativeRoots>, proxies: Proxies) -> Result<Client, String> {
    let mut tls = ClientConfig::builder_with_provider(Arc::clone(&roots.provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let builder = match proxies {
        Proxies::OfEnvironment => Client::builder(),
        Proxies::None => Client::builder().no_proxy(),
        Proxies::NoneResolvedBy(resolver) => Client::builder().no_proxy().dns_resolver(resolver),
    };
    builder
        .tls_backend_preconfigured(tls)
        .user_agent(concat!("copydesk/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(Policy::none())
        .build()
        .map_err(|error| root_cause(&error))
}

/// The system's certificates, read when the first one is judged.
#[derive(Debug)]
struct NativeRoots {
    provider: Arc<CryptoProvider>,
    /// A failure is not kept: certificates may be installed while the daemon runs.
    verifier: OnceLock<Verifier>,
}

impl NativeRoots {
    fn new() -> Self {
        Self { provider: Arc::new(rustls::crypto::ring::default_provider()), verifier: OnceLock::new() }
    }

    fn load(&self) -> Result<&Verifier, rustls::Error> {
        match self.verifier.get() {
            Some(verifier) => Ok(verifier),
            None => {
                let verifier = Verifier::new(Arc::clone(&self.provider))?;
                Ok(self.verifier.get_or_init(|| verifier))
            }
        }
    }
}

impl ServerCertVerifier for NativeRoots {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.load()?.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// What stood between us and an answer; the texts are the innermost causes.
#[derive(Debug)]
pub(crate) enum Obstacle {
    /// The machine is there, and nothing listens.
    Refused,
    /// Nobody whom this machine trusts vouches for the server.
    Certificate(String),
    /// No TLS came about.
    Tls(String),
    Other(String),
}

impl Obstacle {
    /// reqwest's own text hides the cause and shows the address with its query.
    pub(crate) fn of(error: &reqwest::Error) -> Self {
        let causes = || std::iter::successors(error.source(), |cause| beneath(*cause));
        let refused = |io: &std::io::Error| io.kind() == std::io::ErrorKind::ConnectionRefused;
        if causes().filter_map(|cause| cause.downcast_ref()).any(refused) {
            return Self::Refused;
        }
        match causes().find_map(|cause| cause.downcast_ref()) {
            Some(tls @ (rustls::Error::InvalidCertificate(_) | rustls::Error::General(_))) => {
                Self::Certificate(tls.to_string())
            }
            Some(tls) => Self::Tls(tls.to_string()),
            None => Self::Other(root_cause(error)),
        }
    }
}

/// `source` of an IO error skips the error that it wraps.
pub(crate) fn beneath<'a>(
    cause: &'a (dyn std::error::Error + 'static),
) -> Option<&'a (dyn std::error::Error + 'static)> {
    match cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
        Some(wrapped) => Some(wrapped),
        None => cause.source(),
    }
}

fn root_cause(error: &reqwest::Error) -> String {
    match std::iter::successors(error.source(), |cause| beneath(*cause)).last() {
        Some(root) => root.to_string(),
        // The text of the error itself would show the address.
        None if error.is_timeout() => "it took too long to connect".to_owned(),
        None => "the request could not be sent".to_owned(),
    }
}
