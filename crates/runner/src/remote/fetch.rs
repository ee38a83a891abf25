//! One bounded request without credentials.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, Response, Url};
use rustls::crypto::{CryptoProvider, ring};
use st_model::problem::{ErrorCode, Problem};

use super::address::{PublicOnly, is_public, literal};
use super::answer::{by_hand, patch, refusal, too_large};
use super::link::RequestLink;

/// Most redirects that are followed.
const REDIRECTS: usize = 5;

/// Bytes of an error's body that are read.
const ERROR_BYTES: usize = 4096;

/// How long a fetch may take.
#[derive(Clone, Copy, Debug)]
pub struct FetchLimits {
    /// Until a connection stands.
    pub connect: Duration,
    /// Without a byte.
    pub idle: Duration,
    /// In all, so that a host that sends a byte now and then does not hold a task for ever.
    pub total: Duration,
}

impl Default for FetchLimits {
    /// Connect 10 s, idle 30 s, 5 min in all.
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), idle: Duration::from_secs(30), total: Duration::from_secs(300) }
    }
}

/// Fetches the patch: no credentials, at most `limit` bytes, connect 10 s, idle 30 s, at most
/// five redirects, and only a body that looks like a patch.
///
/// # Errors
/// A [`Problem`] with the host's answer in at most 200 escaped characters.
pub async fn fetch_patch(link: &RequestLink, limit: u64) -> Result<Vec<u8>, Problem> {
    fetch_patch_within(link, limit, &FetchLimits::default()).await
}

/// [`fetch_patch`] with other limits on time.
///
/// # Errors
/// The same.
pub async fn fetch_patch_within(link: &RequestLink, limit: u64, limits: &FetchLimits) -> Result<Vec<u8>, Problem> {
    let url = Url::parse(&link.patch_url).map_err(|error| {
        Problem::no_change(
            ErrorCode::UnsupportedInput,
            format!("`{}` is no address: {error}", link.patch_url),
            "Give the address of a pull or merge request.",
        )
    })?;
    let client = client(&url, limits).map_err(|error| {
        Problem::no_change(
            ErrorCode::Unreachable,
            format!("no connection can be made from here: {}", chain(&error)),
            "Install the system's root certificates (Debian: `apt install ca-certificates`), then run the review again.",
        )
        .or(by_hand(link))
    })?;
    let mut response = client.get(url).send().await.map_err(|error| explain(link, error, limits))?;
    let status = response.status();
    if !status.is_success() {
        let body = start_of(&mut response).await;
        return Err(refusal(link, status, &body));
    }
    if response.content_length().is_some_and(|length| length > limit) {
        return Err(too_large(link, limit));
    }
    let (encoding, content_type) = (header(&response, CONTENT_ENCODING), header(&response, CONTENT_TYPE));
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| explain(link, error, limits))? {
        if chunk.len() > most.saturating_sub(body.len()) {
            return Err(too_large(link, limit));
        }
        body.extend_from_slice(&chunk);
    }
    patch(link, encoding.as_deref(), content_type.as_deref(), body, limit)
}

fn client(url: &Url, limits: &FetchLimits) -> Result<Client, reqwest::Error> {
    if CryptoProvider::get_default().is_none() {
        // Another thread may have been faster; then its choice, the same one, holds.
        let _lost_the_race = ring::default_provider().install_default();
    }
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, reqwest::header::HeaderValue::from_static("text/x-diff, text/x-patch, text/plain, */*;q=0.1"));
    headers.insert(ACCEPT_ENCODING, reqwest::header::HeaderValue::from_static("identity"));
    let host = url.host_str().unwrap_or_default().to_owned();
    let builder = Client::builder()
        .user_agent(concat!("sidetrack/", env!("CARGO_PKG_VERSION")))
        .default_headers(headers)
        .referer(false)
        .connect_timeout(limits.connect)
        .read_timeout(limits.idle)
        .timeout(limits.total)
        .redirect(Policy::custom({
            let from = url.clone();
            move |attempt| redirect(&from, attempt)
        }));
    // A forge of one's own may be anywhere; the known ones are on the public internet.
    let own = !matches!(host.as_str(), "github.com" | "gitlab.com");
    let inside = literal(url).is_some_and(|address| !is_public(address)) || host == "localhost";
    if inside {
        return builder.no_proxy().dns_resolver(Arc::new(PublicOnly { trusted: Some(host) })).build();
    }
    if has_proxy() {
        // The proxy resolves names, and is itself often inside the network.
        return builder.build();
    }
    builder.dns_resolver(Arc::new(PublicOnly { trusted: own.then_some(host) })).build()
}

/// Whether the environment names a proxy for https.
fn has_proxy() -> bool {
    ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// Why a redirect is not followed.
#[derive(Debug, thiserror::Error)]
enum Stray {
    #[error("it redirects more than {REDIRECTS} times")]
    TooMany,
    #[error("it redirects to an address that is not encrypted")]
    Downgrade,
    #[error("it redirects to a `{0}:` address")]
    Scheme(String),
    #[error("it redirects to `{0}`, inside this machine or network")]
    Inside(String),
    #[error("it redirects to an address with a user name or password in it")]
    Credentials,
}

fn redirect(from: &Url, attempt: Attempt<'_>) -> reqwest::redirect::Action {
    match stray(from, attempt.previous().len(), attempt.url()) {
        Some(stray) => attempt.error(stray),
        None => attempt.follow(),
    }
}

fn stray(from: &Url, redirects: usize, to: &Url) -> Option<Stray> {
    let elsewhere = to.host_str() != from.host_str();
    let inside = literal(to).is_some_and(|address| !is_public(address)) || to.host_str() == Some("localhost");
    if redirects > REDIRECTS {
        Some(Stray::TooMany)
    } else if !matches!(to.scheme(), "http" | "https") {
        Some(Stray::Scheme(to.scheme().to_owned()))
    } else if to.scheme() == "http" && (from.scheme() == "https" || elsewhere) {
        Some(Stray::Downgrade)
    } else if elsewhere && inside {
        Some(Stray::Inside(to.host_str().unwrap_or_default().to_owned()))
    } else if !to.username().is_empty() || to.password().is_some() {
        Some(Stray::Credentials)
    } else {
        None
    }
}

fn header(response: &Response, name: reqwest::header::HeaderName) -> Option<String> {
    response.headers().get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}

/// As much of an error's body as is shown; what breaks off is shown as far as it came.
async fn start_of(response: &mut Response) -> Vec<u8> {
    let mut body = Vec::new();
    while body.len() < ERROR_BYTES {
        match response.chunk().await {
            Ok(Some(chunk)) => body.extend_from_slice(&chunk[..chunk.len().min(ERROR_BYTES - body.len())]),
            Ok(None) | Err(_) => break,
        }
    }
    body
}

/// A failed request in a user's words. The address is left out of the cause: the label says it.
fn explain(link: &RequestLink, error: reqwest::Error, limits: &FetchLimits) -> Problem {
    let error = error.without_url();
    let host = Url::parse(&link.patch_url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
    let cause = chain(&error);
    if error.is_redirect() {
        return Problem::no_change(
            ErrorCode::BadResponse,
            format!("`{host}` does not hand out {}: {cause}", link.label),
            "Open the address in the browser: a private repository leads to a sign-in page.",
        )
        .or(by_hand(link));
    }
    let message = if error.is_connect() {
        format!("`{host}` can't be reached: {cause}")
    } else if error.is_timeout() {
        format!(
            "`{host}` stopped answering (no byte for {} s, or not done after {} s)",
            limits.idle.as_secs_f32(),
            limits.total.as_secs_f32()
        )
    } else {
        format!("the connection to `{host}` broke off: {cause}")
    };
    Problem::no_change(ErrorCode::Unreachable, message, "Check the network, then run the review again.").or(by_hand(link))
}

fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests;
