//! Telling a patch from what hosts send instead of one.

use std::fmt::Write as _;
use std::io::Read as _;

use flate2::read::GzDecoder;
use reqwest::StatusCode;
use st_model::problem::{ErrorCode, Problem};

use super::link::RequestLink;

/// Characters of an answer that are shown.
const SHOWN: usize = 200;

/// Bytes at the beginning of an answer in which a patch has to begin.
const HEAD: usize = 64 << 10;

/// What to do when a request can't be fetched.
pub(super) fn by_hand(link: &RequestLink) -> String {
    format!("Or do it by hand: open {} in the browser, save it, and drop the file.", link.patch_url)
}

/// An answer that is not "here it is". What the host will say again (it is not there, or not for
/// whoever has not signed in) is an error of the input; what may pass is a bad response, which is
/// asked for again.
pub(super) fn refusal(link: &RequestLink, status: StatusCode, body: &[u8]) -> Problem {
    let label = &link.label;
    let said = said(body);
    let problem = match status {
        StatusCode::NOT_FOUND | StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::GONE => Problem::no_change(
            ErrorCode::NotFound,
            format!("{label} was not found ({status}){said}"),
            "Check the address; a private repository answers the same, since patches are fetched without signing in.",
        ),
        StatusCode::TOO_MANY_REQUESTS => Problem::no_change(
            ErrorCode::BadResponse,
            format!("the host of {label} asks to slow down ({status}){said}"),
            "Wait a few minutes, then run the review again.",
        ),
        StatusCode::NOT_ACCEPTABLE | StatusCode::PAYLOAD_TOO_LARGE | StatusCode::UNPROCESSABLE_ENTITY => Problem::no_change(
            ErrorCode::TooLarge,
            format!("the host does not hand out {label} as one patch ({status}){said}"),
            "Clone the repository, fetch the request's branch, and review that: `sidetrack review REPO@BASE..HEAD`.",
        ),
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY => busy(label, status, &said),
        status if status.is_client_error() => Problem::no_change(
            ErrorCode::Unreadable,
            format!("the host does not hand out {label} ({status}){said}"),
            "Check that the address opens in a browser that is not signed in.",
        ),
        other => busy(label, other, &said),
    };
    problem.or(by_hand(link))
}

fn busy(label: &str, status: StatusCode, said: &str) -> Problem {
    Problem::no_change(
        ErrorCode::BadResponse,
        format!("the host of {label} answered {status}{said}"),
        "Try again later: the fault is on the host's side.",
    )
}

/// Unpacks and checks an answer that says it is the patch.
pub(super) fn patch(
    link: &RequestLink,
    encoding: Option<&str>,
    content_type: Option<&str>,
    body: Vec<u8>,
    limit: u64,
) -> Result<Vec<u8>, Problem> {
    let body = decoded(link, encoding, body, limit)?;
    if body.iter().all(u8::is_ascii_whitespace) {
        return Err(Problem::no_change(
            ErrorCode::NothingToReview,
            format!("{} changes nothing: its patch is empty", link.label),
            "Look at the request in the browser; it may be merged or emptied.",
        ));
    }
    let kind = content_type.unwrap_or_default().to_ascii_lowercase();
    let is_page = ["text/html", "application/xhtml", "application/json"].iter().any(|page| kind.starts_with(page));
    if is_page || !looks_like_patch(&body) {
        let what = if kind.is_empty() { String::new() } else { format!(" ({})", escaped(&kind, 60)) };
        return Err(Problem::no_change(
            ErrorCode::BadResponse,
            format!("the host answered something that is no patch of {}{what}{}", link.label, said(&body)),
            "Open the address in the browser: a private repository shows a sign-in page instead.",
        )
        .or(by_hand(link)));
    }
    Ok(body)
}

/// More came than a patch may be.
pub(super) fn too_large(link: &RequestLink, limit: u64) -> Problem {
    Problem::no_change(
        ErrorCode::TooLarge,
        format!("the patch of {} is larger than {} MiB, the most a patch may be", link.label, limit >> 20),
        "Clone the repository, fetch the request's branch, and review that: `sidetrack review REPO@BASE..HEAD` skips large files one by one.",
    )
}

fn decoded(link: &RequestLink, encoding: Option<&str>, body: Vec<u8>, limit: u64) -> Result<Vec<u8>, Problem> {
    let bad = |why: String| {
        Problem::no_change(
            ErrorCode::BadResponse,
            format!("the answer for {} {why}", link.label),
            "Try again later: the fault is on the host's side.",
        )
        .or(by_hand(link))
    };
    match encoding.map(|name| name.trim().to_ascii_lowercase()).as_deref() {
        None | Some("" | "identity") => Ok(body),
        Some("gzip" | "x-gzip") => {
            let mut unpacked = Vec::new();
            let read = GzDecoder::new(body.as_slice()).take(limit.saturating_add(1)).read_to_end(&mut unpacked);
            read.map_err(|error| bad(format!("says it is gzip and does not unpack: {error}")))?;
            if u64::try_from(unpacked.len()).unwrap_or(u64::MAX) > limit { Err(too_large(link, limit)) } else { Ok(unpacked) }
        }
        Some(other) => Err(bad(format!("is packed as `{}`, which was not asked for", escaped(other, 40)))),
    }
}

/// Whether a line near the beginning begins a patch: git's header, a plain one, or a mail.
fn looks_like_patch(body: &[u8]) -> bool {
    let head = &body[..body.len().min(HEAD)];
    let mut lines = head.split(|&byte| byte == b'\n').peekable();
    while let Some(line) = lines.next() {
        let plain = line.starts_with(b"--- ") && lines.peek().is_some_and(|next| next.starts_with(b"+++ "));
        if plain || line.starts_with(b"diff --git ") || line.starts_with(b"Index: ") {
            return true;
        }
    }
    false
}

fn said(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(SHOWN * 4)]);
    let text = text.trim();
    if text.is_empty() { String::new() } else { format!("; it said: {}", escaped(text, SHOWN)) }
}

/// The first `most` characters, with all that could move a cursor or turn text around spelt out.
pub(super) fn escaped(text: &str, most: usize) -> String {
    let mut shown = String::new();
    for symbol in text.chars().take(most) {
        match symbol {
            '\n' => shown.push_str("\\n"),
            '\t' => shown.push_str("\\t"),
            '\r' => shown.push_str("\\r"),
            symbol
                if symbol.is_control()
                    || matches!(symbol, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}') =>
            {
                // Writing to a string can't fail.
                let _: std::fmt::Result = write!(shown, "{}", symbol.escape_unicode());
            }
            symbol => shown.push(symbol),
        }
    }
    if text.chars().nth(most).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_move_a_cursor_is_spelt_out() {
        assert_eq!(escaped("a\x1b[2Jb\n\u{202e}c|`", 200), "a\\u{1b}[2Jb\\n\\u{202e}c|`");
        assert_eq!(escaped("abcdef", 3), "abc…");
    }

    #[test]
    fn a_patch_is_known_by_its_lines() {
        for patch in [
            "diff --git a/x b/x\n",
            "From 0a1b\nSubject: x\n\n---\n x | 2 +-\n\ndiff --git a/x b/x\n",
            "--- a/x\n+++ b/x\n@@ -1 +1 @@\n",
            "Index: x\n====\n",
        ] {
            assert!(looks_like_patch(patch.as_bytes()), "{patch}");
        }
        for other in [
            "<html>diff --git</html>",
            "| a | b |\n|---|---|\n| 1 | 2 |\n",
            "{\"message\": \"diff --git a b\"}",
            "--- \nnothing\n",
            "words",
        ] {
            assert!(!looks_like_patch(other.as_bytes()), "{other}");
        }
    }
}
