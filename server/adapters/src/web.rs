//! The web for tools, over the one HTTP client: addresses inside of networks are refused where they are connected to (R19.2), bodies end at their cap.
//! Follows no redirect and asks nobody.

mod readable;
mod resolver;

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use copydesk_engine::ports::{BoxFuture, Http as HttpPort, HttpAnswer, HttpError, HttpRequest, Reach, Readable};
use copydesk_engine::web::{WebAddress, is_public};
use hyper_util::client::proxy::matcher::Matcher;
use reqwest::{Client, Response};
use tokio::time::timeout;

use crate::providers::Http;
use crate::providers::http::{Obstacle, beneath};
use resolver::{Inside, PublicNames};

/// Ends of names that stand for something inside of a network, or for nothing (RFC 6761, 6762, 8375 and ICANN's `internal`). A proxy might know them.
const NAMES_INSIDE: [&str; 10] =
    ["localhost", "local", "internal", "home.arpa", "lan", "home", "corp", "intranet", "private", "test"];

/// Cheap to make: nothing is opened before the first request.
#[derive(Clone, Default)]
pub struct Web {
    http: Http,
    proxies: Arc<OnceLock<Matcher>>,
    names: PublicNames,
    desk: readable::Desk,
}

impl Web {
    pub fn new(http: Http) -> Self {
        Self { http, ..Self::default() }
    }

    async fn send(&self, request: HttpRequest) -> Result<HttpAnswer, HttpError> {
        let host = request.address.host().to_owned();
        let client = self.client(&request).await?;
        let url = request.address.url().clone();
        let mut sent = match request.body {
            Some(body) => client.post(url).header("content-type", "application/json").body(body),
            None => client.get(url),
        };
        for (name, value) in &request.headers {
            sent = sent.header(*name, value);
        }
        let response = sent.send().await.map_err(|error| failure(&error, &host))?;
        read(response, &host, request.limits.bytes, request.limits.idle).await
    }

    async fn client(&self, request: &HttpRequest) -> Result<Client, HttpError> {
        let HttpRequest { address, reach, .. } = request;
        let url = address.url();
        let broken = |cause: String| HttpError::Broken { host: address.host().to_owned(), cause };
        if *reach == Reach::Anywhere {
            return self.http.client(url).await.map_err(broken);
        }
        if let Some(ip) = address.ip().filter(|ip| !is_public(*ip)) {
            return Err(inside(address, ip));
        }
        if self.is_proxied(address) {
            self.refuse_inside_behind_proxy(address).await?;
            return self.http.client(url).await.map_err(broken);
        }
        self.http.guarded(url, self.names.clone()).await.map_err(broken)
    }

    /// By reqwest's own rules and variables, so that it will do what is said here.
    fn is_proxied(&self, address: &WebAddress) -> bool {
        let proxies = self.proxies.get_or_init(Matcher::from_system);
        address.url().as_str().parse().is_ok_and(|uri| proxies.intercept(&uri).is_some())
    }

    /// A proxy looks names up by itself: what this machine knows to be inside is refused all the same, and so are names that mean something inside
    /// wherever they are looked up. What the proxy makes of any other name is the proxy's.
    async fn refuse_inside_behind_proxy(&self, address: &WebAddress) -> Result<(), HttpError> {
        if address.ip().is_some() {
            return Ok(());
        }
        let host = address.host().trim_end_matches('.');
        let ends = |name: &&&str| host.strip_suffix(**name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
        if !host.contains('.') || NAMES_INSIDE.iter().any(|name| ends(&name)) {
            let cause = "it is a name inside of a network, which only the user's list opens".to_owned();
            return Err(HttpError::NotFound { host: host.to_owned(), cause });
        }
        match self.names.inside(host, address.port()).await {
            Some(ip) => Err(inside(address, ip)),
            None => Ok(()),
        }
    }
}

impl HttpPort for Web {
    fn exchange(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpAnswer, HttpError>> {
        Box::pin(async move {
            let (host, limit) = (request.address.host().to_owned(), request.limits.total);
            timeout(limit, self.send(request)).await.unwrap_or(Err(HttpError::TooSlow { host, limit }))
        })
    }

    fn readable(&self, page: String, form: Readable) -> BoxFuture<'_, String> {
        Box::pin(readable::readable(page, form, self.desk.clone()))
    }
}

fn inside(address: &WebAddress, ip: IpAddr) -> HttpError {
    HttpError::Inside { host: address.host().to_owned(), address: ip }
}

async fn read(mut response: Response, host: &str, most: usize, idle: Duration) -> Result<HttpAnswer, HttpError> {
    let headers = response.headers().iter();
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    let mut answer = HttpAnswer {
        status: response.status().as_u16(),
        headers: headers.map(|(name, value)| (name.as_str().to_owned(), text(value.as_bytes()))).collect(),
        ..HttpAnswer::default()
    };
    loop {
        let piece = match timeout(idle, response.chunk()).await {
            Ok(piece) => piece.map_err(|error| failure(&error, host))?,
            Err(_) => return Err(HttpError::Silent { host: host.to_owned(), limit: idle }),
        };
        let Some(piece) = piece else { return Ok(answer) };
        let room = most - answer.body.len();
        answer.body.extend_from_slice(&piece[..piece.len().min(room)]);
        if piece.len() > room {
            // Dropped with the rest unread, which ends the connection.
            answer.is_cut = true;
            return Ok(answer);
        }
    }
}

fn failure(error: &reqwest::Error, host: &str) -> HttpError {
    let host = host.to_owned();
    let mut causes = std::iter::successors(std::error::Error::source(error), |cause| beneath(*cause));
    if let Some(inside) = causes.find_map(|cause| cause.downcast_ref::<Inside>()) {
        return match inside {
            Inside::Address(address) => HttpError::Inside { host, address: *address },
            Inside::Unknown(cause) => HttpError::NotFound { host, cause: cause.clone() },
        };
    }
    match Obstacle::of(error) {
        Obstacle::Refused => HttpError::Refused { host },
        Obstacle::Certificate(cause) => HttpError::Certificate { host, cause },
        Obstacle::Tls(cause) | Obstacle::Other(cause) => HttpError::Broken { host, cause },
    }
}

#[cfg(test)]
#[path = "web_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests;
