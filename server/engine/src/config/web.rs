//! The settings of the web: from the user's files and variables alone.

use super::Problem;
use super::node::Node;
use super::raw::{RawConfig, RawSearchProvider};
use crate::ports::{Environment, Secrets};
use crate::web::{HostPattern, SearchKind, SearchService, WebAddress, WebSettings};

/// Variables that hold keys of search services.
pub(super) const KEY_VARIABLES: [&str; 2] = ["EXA_API_KEY", "PARALLEL_API_KEY"];

const EXA: &str = "https://mcp.exa.ai/mcp";
const PARALLEL: &str = "https://search.parallel.ai/mcp";

/// `tree` is what `user` was read from.
pub(super) fn web(
    user: &RawConfig,
    tree: &Node,
    environment: &dyn Environment,
    secrets: &dyn Secrets,
    problems: &mut Vec<Problem>,
) -> WebSettings {
    let is_on = |names: &[&str]| names.iter().any(|name| environment.is_on(name));
    let service = |kind: SearchKind, address: WebAddress| {
        let key = match kind {
            SearchKind::Exa => secrets.key("exa", &["EXA_API_KEY".to_owned()]),
            SearchKind::Parallel => secrets.key("parallel", &["PARALLEL_API_KEY".to_owned()]),
            SearchKind::Searxng => None,
        };
        SearchService { kind, address, key }
    };
    let mut problem = |path: &[&str], text: &str| {
        let place = &tree.at(path).unwrap_or(tree).place;
        problems.push(place.problem(path.join("."), text));
    };

    let mut private_hosts = Vec::new();
    for host in &user.web.private_hosts {
        match HostPattern::parse(host) {
            Some(pattern) => private_hosts.push(pattern),
            None => problem(
                &["web", "private_hosts"],
                "expected hosts such as `wiki.corp`, `*.corp`, `localhost:3000` or `10.0.0.7`; one that is none is left out",
            ),
        }
    }

    let written = &user.websearch;
    let url = written.url.as_deref().filter(|url| !url.trim().is_empty());
    let url = url.and_then(|url| {
        let address = WebAddress::parse(url);
        if let Err(error) = &address {
            problem(&["websearch", "url"], &format!("{error}; it is left out"));
        }
        address.ok()
    });
    let configured = written.provider.map(kind).or(url.as_ref().map(|_| SearchKind::Searxng));
    let named = ["COPYDESK_WEBSEARCH_PROVIDER", "OPENCODE_WEBSEARCH_PROVIDER"].into_iter().find_map(|name| {
        match environment.var(name)?.as_str() {
            "exa" => Some(SearchKind::Exa),
            "parallel" => Some(SearchKind::Parallel),
            _ => None,
        }
    });
    let by_flag = if is_on(&["COPYDESK_ENABLE_PARALLEL", "OPENCODE_ENABLE_PARALLEL", "OPENCODE_EXPERIMENTAL_PARALLEL"])
    {
        Some(SearchKind::Parallel)
    } else if is_on(&[
        "COPYDESK_ENABLE_EXA",
        "OPENCODE_ENABLE_EXA",
        "OPENCODE_EXPERIMENTAL_EXA",
        "OPENCODE_EXPERIMENTAL",
    ]) {
        Some(SearchKind::Exa)
    } else {
        None
    };
    let is_chosen = configured.or(by_flag).is_some();
    let chosen = named.or(configured).or(by_flag).unwrap_or(SearchKind::Exa);
    // An address belongs to the service that it was written for.
    let of = |kind: SearchKind| url.clone().filter(|_| configured == Some(kind)).or_else(|| usual(kind));
    let search = of(chosen).map(|address| service(chosen, address));
    if search.is_none() {
        problem(&["websearch"], "`searxng` needs the `url` of an instance; there are no searches without it");
    }
    let code_search = of(SearchKind::Exa).map(|address| service(SearchKind::Exa, address));
    WebSettings { private_hosts, is_chosen: is_chosen && search.is_some(), search, code_search }
}

fn kind(provider: RawSearchProvider) -> SearchKind {
    match provider {
        RawSearchProvider::Exa => SearchKind::Exa,
        RawSearchProvider::Parallel => SearchKind::Parallel,
        RawSearchProvider::Searxng => SearchKind::Searxng,
    }
}

fn usual(kind: SearchKind) -> Option<WebAddress> {
    match kind {
        SearchKind::Exa => WebAddress::parse(EXA).ok(),
        SearchKind::Parallel => WebAddress::parse(PARALLEL).ok(),
        SearchKind::Searxng => None,
    }
}
