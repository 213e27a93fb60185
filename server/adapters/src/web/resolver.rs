//! Names to addresses, the public ones alone. What a name means is decided here, once a connection: it is these addresses that are connected to, so that a
//! name which changes its meaning between a check and the connection (DNS rebinding) gains nothing.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use copydesk_engine::ports::BoxFuture;
use copydesk_engine::web::is_public;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// What a name stands for now, with this port.
type LookUp = dyn Fn(String, u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync;

#[derive(Clone)]
pub(super) struct PublicNames {
    look_up: Arc<LookUp>,
}

impl Default for PublicNames {
    /// By the system.
    fn default() -> Self {
        let look_up = |name: String, port| -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
            Box::pin(async move { Ok(tokio::net::lookup_host((name, port)).await?.collect()) })
        };
        Self { look_up: Arc::new(look_up) }
    }
}

impl PublicNames {
    /// One address of the name that is not public.
    pub(super) async fn inside(&self, name: &str, port: u16) -> Option<IpAddr> {
        let found = (self.look_up)(name.to_owned(), port).await;
        found.into_iter().flatten().map(|found| found.ip()).find(|ip| !is_public(*ip))
    }
}

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
        let found = (self.look_up)(name.as_str().to_owned(), 0);
        Box::pin(async move {
            let found = found.await.map_err(|error| Inside::Unknown(error.to_string()))?;
            let addresses = public(found)?;
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
impl PublicNames {
    pub(super) fn by(look_up: impl Fn(&str) -> Vec<IpAddr> + Send + Sync + 'static) -> Self {
        let look_up = move |name: String, port| -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
            let found = look_up(&name).into_iter().map(|ip| SocketAddr::new(ip, port)).collect();
            Box::pin(async move { Ok(found) })
        };
        Self { look_up: Arc::new(look_up) }
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
        let refused = PublicNames::default().resolve("localhost".parse().unwrap()).await.map(|_| ()).unwrap_err();
        let refused = refused.downcast_ref::<Inside>().cloned();
        assert!(matches!(refused, Some(Inside::Address(ip)) if ip.is_loopback()), "{refused:?}");
    }
}
