//! Serving one editor from the first byte to the end of the process. Which ports stand behind it is the wiring's.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use copydesk_adapters::langservers::LanguageServerPool;
use copydesk_adapters::os::shell::OsShell;
use copydesk_engine::engine::Engine;
use copydesk_protocol::rpc::{self, CancelDialect, Framing, Options, Peer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::task::AbortOnDropHandle;

use crate::acp;
use crate::lsp::{Face, Services};

/// From the end of the connection to the end of the daemon, whatever is pending. With the 600 ms in which the peer ends, less than 2 s (design §3).
const WIND_DOWN: Duration = Duration::from_millis(1_300);

/// How the client left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Farewell {
    /// After `shutdown`.
    Orderly,
    /// Without a word, or with `exit` alone.
    Abrupt,
}

/// Serves LSP until the connection ends or `told_to_end` resolves, then ends what runs for it.
pub async fn lsp(
    reader: Box<dyn AsyncRead + Send + Unpin>,
    writer: Box<dyn AsyncWrite + Send + Unpin>,
    services: Services,
    told_to_end: impl Future<Output = ()> + Send + 'static,
) -> Farewell {
    let face: Arc<OnceLock<Arc<Face>>> = Arc::default();
    let made = face.clone();
    let (engine, shell, servers) = (services.engine.clone(), services.shell.clone(), services.language_servers.clone());
    let options = Options { framing: Framing::ContentLength, cancel: CancelDialect::Lsp };
    let listening: Listening = Arc::default();
    let listens = listening.clone();
    let end = rpc::serve(reader, writer, options, move |peer| {
        end_when(told_to_end, peer.clone(), &listens);
        made.get_or_init(|| Face::new(peer, &services)).clone()
    })
    .await;
    tracing::info!(?end, "the connection has ended");
    wind_down(&engine, &shell, &servers).await;
    match face.get() {
        Some(face) if face.was_shut_down() => Farewell::Orderly,
        Some(_) | None => Farewell::Abrupt,
    }
}

/// Serves a client of ACP until the connection ends or `told_to_end` resolves, then ends what runs for it. ACP has no farewell: end of input is the orderly end.
pub async fn acp(
    reader: Box<dyn AsyncRead + Send + Unpin>,
    writer: Box<dyn AsyncWrite + Send + Unpin>,
    services: Services,
    told_to_end: impl Future<Output = ()> + Send + 'static,
) {
    let (engine, shell, servers) = (services.engine.clone(), services.shell.clone(), services.language_servers.clone());
    let options = Options { framing: Framing::Lines, cancel: CancelDialect::Acp };
    let listening: Listening = Arc::default();
    let listens = listening.clone();
    let end = rpc::serve(reader, writer, options, move |peer| {
        end_when(told_to_end, peer.clone(), &listens);
        acp::Face::new(peer, &services)
    })
    .await;
    tracing::info!(?end, "the connection has ended");
    wind_down(&engine, &shell, &servers).await;
}

/// The task that waits to be told to end; it ends with its owner.
type Listening = Arc<OnceLock<AbortOnDropHandle<()>>>;

fn end_when(told_to_end: impl Future<Output = ()> + Send + 'static, peer: Peer, listening: &Listening) {
    let listens = tokio::spawn(async move {
        told_to_end.await;
        peer.end();
    });
    // Called once a connection: the cell is empty.
    let _ = listening.set(AbortOnDropHandle::new(listens));
}

pub(crate) async fn wind_down(engine: &Engine, shell: &OsShell, servers: &LanguageServerPool) {
    let ended = async {
        // Beside each other: they give processes a second from TERM to KILL.
        tokio::join!(engine.shutdown(), shell.kill_survivors(), servers.shutdown());
    };
    if tokio::time::timeout(WIND_DOWN, ended).await.is_err() {
        tracing::warn!("running turns did not end in time and are abandoned");
    }
    // What was left behind by commands that ended meanwhile.
    shell.kill_survivors_at_once();
}
