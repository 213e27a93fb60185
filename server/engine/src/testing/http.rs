//! `Http` from a list of answers by address. It renders no page: what it is given comes back with the form's name in front.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::lock;
use crate::ports::{BoxFuture, Http, HttpAnswer, HttpError, HttpRequest, Readable};

#[derive(Default)]
pub struct FakeHttp {
    answers: Mutex<BTreeMap<String, Result<HttpAnswer, HttpError>>>,
    asked: Mutex<Vec<HttpRequest>>,
}

impl FakeHttp {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    pub fn answer(&self, address: &str, status: u16, headers: &[(&str, &str)], body: impl Into<Vec<u8>>) {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let answer = HttpAnswer { status, headers, body: body.into(), is_cut: false };
        self.will(address, Ok(answer));
    }

    pub fn will(&self, address: &str, answer: Result<HttpAnswer, HttpError>) {
        lock(&self.answers).insert(address.to_owned(), answer);
    }

    pub fn asked(&self) -> Vec<HttpRequest> {
        lock(&self.asked).clone()
    }

    /// The addresses, in the order of the requests.
    pub fn addresses(&self) -> Vec<String> {
        lock(&self.asked).iter().map(|request| request.address.to_string()).collect()
    }
}

impl Http for FakeHttp {
    fn exchange(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpAnswer, HttpError>> {
        let address = request.address.to_string();
        let host = request.address.host().to_owned();
        lock(&self.asked).push(request);
        let answer = lock(&self.answers).get(&address).cloned();
        let unknown = HttpError::NotFound { host, cause: "the test knows no such address".to_owned() };
        Box::pin(async move { answer.unwrap_or(Err(unknown)) })
    }

    fn readable(&self, page: String, form: Readable) -> BoxFuture<'_, String> {
        Box::pin(async move { format!("{form:?}: {page}") })
    }
}
