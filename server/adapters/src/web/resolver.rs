//! Names to addresses, the public ones alone. What a name means is decided here, once a connection: it is these addresses that are connected to, so that a
//! name which changes its meaning between a check and the connection (DNS rebinding) gains nothing.

use std::net::{IpAddr, SocketAddr};

use copydesk_engine::web::is_public;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

#[derive(Debug, Clone, Copy)]
pub(super) struct PublicNames;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Inside {
    /// All that the name stands for; one of it.
    #[error("{0} is an address inside of a network")]
    Address(IpAddr),
    #[error("{0}")]
    Unknown(String),
}

impl Resolve for PublicNames {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await;
            let found = found.map_err(|error| Inside::Unknown(error.to_string()))?;
            let addresses = public(found.collect())?;
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

fn public(found: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, Inside> {
    let inside = found.first().map(SocketAddr::ip);
    let public: Vec<SocketAddr> = found.into_iter().filter(|address| is_public(address.ip())).collect();
    match inside {
        Some(inside) if public.is_empty() => Err(Inside::Address(inside)),
        Some(_) => Ok(public),
        None => Err(Inside::Unknown("the name has no address".to_owned())),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests {
    use super::*;

    #[test]
    fn r19_2_only_public_addresses_of_a_name_are_connected_to() {
        let of = |list: &[&str]| list.iter().map(|ip| SocketAddr::new(ip.parse().unwrap(), 0)).collect::<Vec<_>>();
        assert_eq!(public(of(&["1.1.1.1"])), Ok(of(&["1.1.1.1"])));
        assert_eq!(public(of(&["10.0.0.1", "1.1.1.1", "::1"])), Ok(of(&["1.1.1.1"])));
        let refused = |list: &[&str]| assert_eq!(public(of(list)), Err(Inside::Address(list[0].parse().unwrap())));
        refused(&["10.0.0.1"]);
        refused(&["::ffff:169.254.169.254", "127.0.0.1"]);
        assert!(matches!(public(Vec::new()), Err(Inside::Unknown(_))));
    }

    #[tokio::test]
    async fn r19_2_the_names_of_this_machine_are_refused() {
        let refused = PublicNames.resolve("localhost".parse().unwrap()).await.map(|_| ()).unwrap_err();
        let refused = refused.downcast_ref::<Inside>().cloned();
        assert!(matches!(refused, Some(Inside::Address(ip)) if ip.is_loopback()), "{refused:?}");
    }
}
