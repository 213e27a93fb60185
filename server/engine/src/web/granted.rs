//! The web for one call: the one address that was judged, and the services that the user has set up. Nothing else can be reached through it.

use std::sync::Arc;

use super::{SearchService, WebAddress, WebSettings};
use crate::ports::{Http, HttpAnswer, HttpError, HttpLimits, HttpRequest, Reach, Readable};

#[derive(Clone)]
pub struct GrantedWeb {
    pub(crate) port: Arc<dyn Http>,
    /// From the configuration.
    pub(crate) settings: WebSettings,
    pub(crate) granted: WebGrant,
    /// Some services want to know.
    pub(crate) session: String,
}

/// What a call was judged for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum WebGrant {
    #[default]
    Nothing,
    Address(WebAddress),
    /// By the name of its permission.
    Service(&'static str),
}

impl GrantedWeb {
    /// The address of a fetch: where redirects have led to, once they were judged.
    pub fn address(&self) -> Option<&WebAddress> {
        match &self.granted {
            WebGrant::Address(address) => Some(address),
            WebGrant::Nothing | WebGrant::Service(_) => None,
        }
    }

    /// A number that is an address inside needs no connection to be refused. Names are looked up when they are connected to.
    pub fn refuse_inside(&self, address: &WebAddress) -> Result<(), HttpError> {
        match address.ip() {
            Some(ip) if !super::is_public(ip) && self.reach(address) == Reach::Public => {
                Err(HttpError::Inside { host: address.host().to_owned(), address: ip })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// The granted address, or nothing.
    pub async fn get(
        &self,
        headers: Vec<(&'static str, String)>,
        limits: HttpLimits,
    ) -> Option<Result<HttpAnswer, HttpError>> {
        let address = self.address()?.clone();
        if let Err(error) = self.refuse_inside(&address) {
            return Some(Err(error));
        }
        let reach = self.reach(&address);
        Some(self.port.exchange(HttpRequest { address, headers, body: None, reach, limits }).await)
    }

    /// The service that the call was granted, where the user has set it up.
    pub fn service(&self) -> Option<&SearchService> {
        match self.granted {
            WebGrant::Service("websearch") => self.settings.search.as_ref(),
            WebGrant::Service("codesearch") => self.settings.code_search.as_ref(),
            WebGrant::Service(_) | WebGrant::Nothing | WebGrant::Address(_) => None,
        }
    }

    /// Asks the service, at an address of it.
    pub async fn ask(
        &self,
        address: WebAddress,
        headers: Vec<(&'static str, String)>,
        body: Option<String>,
        limits: HttpLimits,
    ) -> Option<Result<HttpAnswer, HttpError>> {
        self.service().filter(|service| service.address.origin() == address.origin())?;
        let request = HttpRequest { address, headers, body, reach: Reach::Anywhere, limits };
        Some(self.port.exchange(request).await)
    }

    pub async fn readable(&self, page: String, form: Readable) -> String {
        self.port.readable(page, form).await
    }

    pub fn session(&self) -> &str {
        &self.session
    }

    fn reach(&self, address: &WebAddress) -> Reach {
        let is_listed = self.settings.private_hosts.iter().any(|pattern| pattern.matches(address));
        if is_listed { Reach::Anywhere } else { Reach::Public }
    }
}
