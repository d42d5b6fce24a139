//! Who may use the window's door.
//!
//! Payloads can be secret and every page in a browser can send requests to this machine, so: the `Host` must be ours
//! (against names that point here), an `Origin` must be ours (against other pages), and every question and action needs
//! the session cookie or the token. The token is printed in a link's fragment, which browsers do not send; the page
//! trades it for the cookie, which is good until the program ends. Neither is ever logged.

use crate::page_token::secret;
use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, COOKIE, HOST, ORIGIN};
use onceover_broker::secret::same_secret;

/// The secrets of one run of the program.
pub struct Guard {
    port: u16,
    token: String,
    session: String,
}

impl Guard {
    /// For the door on `port`, with this token and a new session.
    ///
    /// # Errors
    /// The operating system gives no random bytes.
    pub fn new(port: u16, token: String) -> Result<Guard, getrandom::Error> {
        Ok(Guard { port, token, session: secret()? })
    }

    /// For the printed link.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Whether a request is meant for this door and does not come from another page.
    pub fn is_ours(&self, headers: &HeaderMap) -> bool {
        let origin_is_ours = headers.get_all(ORIGIN).iter().all(|origin| {
            origin
                .to_str()
                .ok()
                .and_then(|origin| origin.strip_prefix("http://"))
                .is_some_and(|host| self.is_our_host(host))
        });
        self.is_our_host_in(headers) && origin_is_ours
    }

    /// Whether a request is meant for this door, wherever it comes from.
    pub fn is_our_host_in(&self, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok());
        hosts.next().is_none() && host.is_some_and(|host| self.is_our_host(host))
    }

    /// Whether a request carries the session's cookie or the token.
    pub fn knows(&self, headers: &HeaderMap) -> bool {
        let bearer =
            headers.get_all(AUTHORIZATION).iter().filter_map(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let name = self.cookie_name();
        let session = cookies
            .flat_map(|value| value.split(';'))
            .filter_map(|cookie| cookie.trim().split_once('='))
            .filter(|(cookie, _)| *cookie == name)
            .map(|(_, value)| value);
        bearer.fold(false, |known, token| known | self.is_token(token))
            | session.fold(false, |known, value| known | same_secret(self.session.as_bytes(), value.as_bytes()))
    }

    /// Whether it is the printed token.
    pub fn is_token(&self, guess: &str) -> bool {
        same_secret(self.token.as_bytes(), guess.as_bytes())
    }

    /// `Set-Cookie` for a page that knew the token.
    pub fn cookie(&self) -> String {
        format!("{}={}; HttpOnly; SameSite=Strict; Path=/", self.cookie_name(), self.session)
    }

    /// Browsers keep cookies per host, not per port; the name keeps two brokers apart.
    fn cookie_name(&self) -> String {
        format!("onceover_{}", self.port)
    }

    fn is_our_host(&self, host: &str) -> bool {
        host.rsplit_once(':').is_some_and(|(name, port)| {
            (name == "127.0.0.1" || name.eq_ignore_ascii_case("localhost")) && port == self.port.to_string()
        })
    }
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod guard_tests;
