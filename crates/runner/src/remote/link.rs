//! Understanding the address of a pull or merge request.

use reqwest::Url;
use st_model::problem::{ErrorCode, Problem};

/// A pull or merge request's address, understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestLink {
    /// Where its patch is.
    pub patch_url: String,
    /// How to call it: `acme/api #482`.
    pub label: String,
}

/// What a host speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Forge {
    GitHub,
    GitLab,
}

/// Hosts that need no setting.
const KNOWN: [(&str, &str, Forge); 3] = [
    ("github.com", "https://github.com", Forge::GitHub),
    ("www.github.com", "https://github.com", Forge::GitHub),
    ("gitlab.com", "https://gitlab.com", Forge::GitLab),
];

/// Longest address that is looked at, in bytes.
const ADDRESS_BYTES: usize = 2048;

/// Understands a GitHub or GitLab address. `forges` names further hosts: by host (with its port,
/// if it has one), and what it speaks: `github`, `gitlab`, either with the address to fetch from
/// (`gitlab=http://127.0.0.1:8080`), or only that address, when the path tells which it is.
///
/// Everything is fetched over https, unless a forge's own address says http.
///
/// # Errors
/// When the address is of no such kind, with what would be.
pub fn parse_link(url: &str, forges: &[(String, String)]) -> Result<RequestLink, Problem> {
    if url.len() > ADDRESS_BYTES {
        return Err(no_link("The address is far too long"));
    }
    let parsed =
        Url::parse(url.trim()).map_err(|error| no_link(&format!("`{}` is no address: {error}", super::answer::escaped(url, 200))))?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(no_link(&format!("`{}:` addresses are not fetched", parsed.scheme())));
    }
    if !parsed.username().is_empty() || parsed.password().is_some() {
        // The address itself is not repeated: it holds a password.
        return Err(Problem::refused(
            ErrorCode::UnsupportedInput,
            "The address carries a user name or password, and requests are fetched without any",
            "Leave out the part before `@`; for a private repository, download the patch in the browser and drop the file.",
        ));
    }
    let host = host_of(&parsed);
    let (base, forge) = base_of(&host, &parsed, forges)?;
    let path = parsed.path();
    let path = match base.path().trim_end_matches('/') {
        "" => path,
        prefix => path.strip_prefix(prefix).unwrap_or(path),
    };
    let segments: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let found = match forge {
        Some(Forge::GitHub) => github(&segments),
        Some(Forge::GitLab) => gitlab(&segments),
        None => gitlab(&segments).or_else(|| github(&segments)),
    };
    let Some((path, label)) = found else {
        return Err(no_link(&format!("`{}` is no pull or merge request", super::answer::escaped(parsed.as_str(), 200))));
    };
    Ok(RequestLink { patch_url: format!("{}{path}", base.as_str().trim_end_matches('/')), label })
}

/// Where the requests of a host are fetched from, and what it speaks.
fn base_of(host: &str, url: &Url, forges: &[(String, String)]) -> Result<(Url, Option<Forge>), Problem> {
    let broken = |value: &str| {
        Problem::refused(
            ErrorCode::Usage,
            format!("The setting `forge.{host}` is `{value}`, which names neither github nor gitlab nor an address"),
            format!("Set it anew: `sidetrack config set forge.{host} gitlab`, or with an address: `gitlab=https://git.example.org`."),
        )
    };
    if let Some((_, value)) = forges.iter().find(|(name, _)| name.eq_ignore_ascii_case(host)) {
        let (speaks, address) = match value.split_once('=') {
            Some((speaks, address)) => (Some(speaks), Some(address)),
            None if value.contains("://") => (None, Some(value.as_str())),
            None => (Some(value.as_str()), None),
        };
        let forge = match speaks.map(str::trim) {
            Some("github") => Some(Forge::GitHub),
            Some("gitlab") => Some(Forge::GitLab),
            Some(_) => return Err(broken(value)),
            None => None,
        };
        let address = address.map_or_else(|| format!("https://{host}"), str::to_owned);
        let base = Url::parse(address.trim())
            .ok()
            .filter(|base| matches!(base.scheme(), "http" | "https") && base.username().is_empty() && base.password().is_none());
        return Ok((base.ok_or_else(|| broken(value))?, forge));
    }
    if let Some((_, address, forge)) = KNOWN.into_iter().find(|(name, ..)| *name == host) {
        return Ok((Url::parse(address).map_err(|_| broken(address))?, Some(forge)));
    }
    Err(Problem::refused(
        ErrorCode::UnsupportedInput,
        format!("`{host}` is not known as a host of pull or merge requests"),
        format!(
            "If it runs GitHub or GitLab, say so once: `sidetrack config set forge.{host} {}`.",
            if url.path().contains("merge_requests") { "gitlab" } else { "github" }
        ),
    )
    .or("Or download the `.diff` in the browser and drop the file."))
}

/// The host, with its port unless it is the scheme's own.
fn host_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// `/OWNER/REPO/pull/N`, whatever tab is open.
fn github(segments: &[&str]) -> Option<(String, String)> {
    let [owner, repo, "pull", number, ..] = segments else { return None };
    let number = request_number(number)?;
    [owner, repo]
        .iter()
        .all(|name| is_name(name))
        .then(|| (format!("/{owner}/{repo}/pull/{number}.diff"), format!("{owner}/{repo} #{number}")))
}

/// `/GROUP/…/PROJECT/-/merge_requests/N`, whatever tab is open; old addresses lack the `-`.
fn gitlab(segments: &[&str]) -> Option<(String, String)> {
    let at = segments.iter().position(|part| *part == "merge_requests")?;
    let number = request_number(segments.get(at + 1)?)?;
    let project = segments[..at].strip_suffix(&["-"]).unwrap_or(&segments[..at]);
    let named = project.len() >= 2 && project.iter().all(|name| is_name(name));
    let project = project.join("/");
    named.then(|| (format!("/{project}/-/merge_requests/{number}.diff"), format!("{project} !{number}")))
}

fn request_number(text: &str) -> Option<u32> {
    let text = text.strip_suffix(".diff").or_else(|| text.strip_suffix(".patch")).unwrap_or(text);
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten().filter(|number| *number > 0)
}

fn is_name(text: &str) -> bool {
    !matches!(text, "." | ".." | "-") && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~'))
}

fn no_link(why: &str) -> Problem {
    Problem::refused(ErrorCode::UnsupportedInput, why, "Give the address of a pull request (https://github.com/OWNER/REPO/pull/1) or merge request (https://gitlab.com/GROUP/PROJECT/-/merge_requests/1).")
        .or("For anything else, download the `.diff` and drop the file, or review a clone: `sidetrack review REPO@BASE..HEAD`.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, expected: (&str, &str)) {
        let forges = [
            ("git.example.org", "gitlab"),
            ("code.example.org:8443", "github"),
            ("127.0.0.1:9", "gitlab=http://127.0.0.1:9"),
            ("forge.example.org", "https://forge.example.org/lab"),
        ]
        .map(|(host, value)| (host.to_owned(), value.to_owned()));
        let link = parse_link(url, &forges).unwrap();
        assert_eq!((link.patch_url.as_str(), link.label.as_str()), expected, "{url}");
    }

    fn refused(url: &str, words: &str) {
        let forges = [("odd.example.org".to_owned(), "svn".to_owned())];
        let problem = parse_link(url, &forges).unwrap_err();
        assert!(problem.message.contains(words), "{url}: {problem:?}");
        assert!(!problem.fix.is_empty());
    }

    #[test]
    fn any_tab_of_a_request_is_the_request() {
        let expected = ("https://github.com/acme/api/pull/482.diff", "acme/api #482");
        for tail in ["", "/", "/files", "/commits/0a1b2c", "/files?w=1#diff-x", ".diff", ".patch", "#issuecomment-1"] {
            check(&format!("https://github.com/acme/api/pull/482{tail}"), expected);
        }
        check("http://www.github.com/acme/api/pull/482", expected);
        check("https://GitHub.com//acme/api/pull/482", expected);
        let expected = ("https://gitlab.com/a/b/c.d/-/merge_requests/7.diff", "a/b/c.d !7");
        for tail in ["/-/merge_requests/7", "/merge_requests/7", "/-/merge_requests/7/diffs?view=inline", "/-/merge_requests/7.patch"] {
            check(&format!("https://gitlab.com/a/b/c.d{tail}"), expected);
        }
    }

    #[test]
    fn hosts_of_ones_own_are_those_that_were_set() {
        check("https://git.example.org/a/b/-/merge_requests/1", ("https://git.example.org/a/b/-/merge_requests/1.diff", "a/b !1"));
        check("http://git.example.org/a/b/-/merge_requests/1", ("https://git.example.org/a/b/-/merge_requests/1.diff", "a/b !1"));
        check("https://code.example.org:8443/a/b/pull/1", ("https://code.example.org:8443/a/b/pull/1.diff", "a/b #1"));
        check("http://127.0.0.1:9/a/b/-/merge_requests/1", ("http://127.0.0.1:9/a/b/-/merge_requests/1.diff", "a/b !1"));
        check(
            "https://forge.example.org/lab/a/b/merge_requests/1",
            ("https://forge.example.org/lab/a/b/-/merge_requests/1.diff", "a/b !1"),
        );
        check("https://forge.example.org/a/b/pull/1", ("https://forge.example.org/lab/a/b/pull/1.diff", "a/b #1"));
    }

    #[test]
    fn what_is_no_request_is_refused_with_what_would_be() {
        refused("https://github.com/acme/api", "no pull or merge request");
        refused("https://github.com/acme/api/issues/4", "no pull or merge request");
        refused("https://github.com/acme/api/pull/4x", "no pull or merge request");
        refused("https://github.com/acme/api/pull/0", "no pull or merge request");
        refused("https://github.com/../api/pull/4", "no pull or merge request");
        refused("https://github.com/a%2f..%2fb/api/pull/4", "no pull or merge request");
        refused("https://gitlab.com/a/-/merge_requests/4", "no pull or merge request");
        refused("https://github.com.evil.example/acme/api/pull/4", "not known");
        refused("https://127.0.0.1/acme/api/pull/4", "not known");
        refused("https://169.254.169.254/acme/api/pull/4", "not known");
        refused("https://github.com:444/acme/api/pull/4", "not known");
        refused("https://odd.example.org/acme/api/pull/4", "svn");
        refused("ftp://github.com/acme/api/pull/4", "ftp");
        refused("file:///etc/passwd", "file");
        refused("not an address", "no address");
        refused(&format!("https://github.com/{}/b/pull/1", "a".repeat(5000)), "too long");
    }

    #[test]
    fn a_password_in_an_address_is_refused_and_not_repeated() {
        let problem = parse_link("https://me:hunter2@github.com/acme/api/pull/4", &[]).unwrap_err();
        assert_eq!(problem.code, ErrorCode::UnsupportedInput);
        assert!(!format!("{problem:?}").contains("hunter2"));
        assert!(parse_link("https://token@github.com/acme/api/pull/4", &[]).is_err());
    }
}
