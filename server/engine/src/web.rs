//! The web as tools reach it: addresses in one spelling, where they may lead, and what their bytes are. Opens no connection; the port `Http` does.

mod address;
mod content;
mod granted;
mod inside;
pub(crate) mod pattern;

pub use address::{AddressError, WebAddress};
pub use content::{Content, content};
pub use granted::{GrantedWeb, WebGrant};
pub use inside::{HostPattern, is_public};

/// What the user's own configuration says of the web. A project has no word in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WebSettings {
    /// Hosts that may lie in the user's own network.
    pub private_hosts: Vec<HostPattern>,
    /// Which `websearch` asks.
    pub search: Option<SearchService>,
    /// Whether the user has named one, which switches the tool on.
    pub is_chosen: bool,
    /// Which `codesearch` asks.
    pub code_search: Option<SearchService>,
}

/// A service that is asked for what stands in the web.
#[derive(Clone, PartialEq, Eq)]
pub struct SearchService {
    pub kind: SearchKind,
    /// Of its MCP endpoint; of SearXNG the instance's.
    pub address: WebAddress,
    pub key: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchKind {
    Exa,
    Parallel,
    Searxng,
}

impl SearchKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Exa => "Exa",
            Self::Parallel => "Parallel",
            Self::Searxng => "SearXNG",
        }
    }
}

/// Leaves out the key.
impl std::fmt::Debug for SearchService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { kind, address, key } = self;
        f.debug_struct("SearchService")
            .field("kind", kind)
            .field("address", address)
            .field("key", &key.as_ref().map(|_| "…"))
            .finish()
    }
}
