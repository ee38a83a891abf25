//! Fetching a pull request's patch from its address.

use st_model::problem::Problem;

/// A pull or merge request's address, understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestLink {
    /// Where its patch is.
    pub patch_url: String,
    /// How to call it: `acme/api #482`.
    pub label: String,
}

/// Understands a GitHub or GitLab address. `forges` names further hosts as `HOST=github|gitlab`
/// (with a port and a scheme where needed, for a host of one's own).
///
/// # Errors
/// When the address is of no such kind, with what would be.
pub fn parse_link(url: &str, forges: &[(String, String)]) -> Result<RequestLink, Problem> {
    todo!("{url} {forges:?}")
}

/// Fetches the patch: no credentials, at most `limit` bytes, connect 10 s, idle 30 s, at most
/// five redirects, and only a body that looks like a patch.
///
/// # Errors
/// A [`Problem`] with the host's answer in at most 200 escaped characters.
pub async fn fetch_patch(link: &RequestLink, limit: u64) -> Result<Vec<u8>, Problem> {
    todo!("{link:?} {limit}")
}
