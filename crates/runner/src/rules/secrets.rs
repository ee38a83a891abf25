//! Secrets: a shape, an entropy, and, where the format has one, a checksum.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use regex::Regex;
use serde::Deserialize;

/// What a secret looks like.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretShape {
    /// A regular expression; the group `value` (else the whole match) is the secret.
    regex: String,
    /// Words (lower-case) one of which must stand in the line; saves running the expression.
    #[serde(default)]
    keywords: Vec<String>,
    /// Least Shannon entropy of the value, in bits a character.
    #[serde(default)]
    entropy: f64,
    /// What else must hold.
    #[serde(default)]
    validity: Validity,
    #[serde(skip)]
    compiled: OnceLock<Option<Regex>>,
}

/// What tells a real secret from a look-alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Validity {
    /// The shape is all there is.
    #[default]
    Shape,
    /// The last six of 36 characters are the base-62 CRC-32 of the others (GitHub and npm tokens).
    Crc32Base62,
    /// Header and payload are base64 of JSON objects and there is a signature.
    Jwt,
    /// A word someone could have typed is none: letters and digits mixed, no separators.
    Random,
    /// A password in an address: any text that is no placeholder.
    Password,
    /// A key's header: nothing but the key may follow on the line.
    Header,
}

impl SecretShape {
    /// The expression; `None` when it does not compile, which a test rules out.
    pub(crate) fn pattern(&self) -> Option<&Regex> {
        self.compiled.get_or_init(|| Regex::new(&self.regex).ok()).as_ref()
    }

    /// Where the secrets lie in a line.
    pub(crate) fn find(&self, line: &str) -> Vec<Range<usize>> {
        let lower;
        if !self.keywords.is_empty() {
            lower = line.to_ascii_lowercase();
            if !self.keywords.iter().any(|keyword| lower.contains(keyword.as_str())) {
                return Vec::new();
            }
        }
        let Some(pattern) = self.pattern() else { return Vec::new() };
        pattern
            .captures_iter(line)
            .filter_map(|found| {
                let value = found.name("value").or_else(|| found.get(0))?;
                self.accepts(value.as_str()).then(|| value.range())
            })
            .collect()
    }

    fn accepts(&self, value: &str) -> bool {
        if self.validity == Validity::Header {
            return value
                .trim_start_matches("\\n")
                .chars()
                .all(|character| character.is_ascii_alphanumeric() || "+/=\\ ".contains(character));
        }
        if is_placeholder(value) || entropy(value) < self.entropy {
            return false;
        }
        match self.validity {
            Validity::Header => false,
            Validity::Shape | Validity::Password => true,
            Validity::Crc32Base62 => has_crc32_base62(value),
            Validity::Jwt => is_jwt(value),
            Validity::Random => looks_random(value),
        }
    }
}

/// Shannon entropy in bits a character.
#[must_use]
pub fn entropy(text: &str) -> f64 {
    let mut counts: HashMap<char, f64> = HashMap::new();
    let mut total = 0.0;
    for character in text.chars() {
        *counts.entry(character).or_default() += 1.0;
        total += 1.0;
    }
    counts.values().map(|count| -(count / total) * (count / total).log2()).sum()
}

#[expect(clippy::expect_used, reason = "BUG if it fails: a constant, compiled in every test run")]
static PLACEHOLDER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?ix) example | sample | placeholder | change[-_]?me | your[-_] | [-_]here\b | dummy | fake | redacted | insert | replace | foobar |
          xxxx | \*\*\*\* | \.\.\. | 1234567 | abcdefg | 0000000 | deadbeef | todo | ^(test|secret|password|passwd|pass|admin|root|user|guest|null|none|true|false|undefined|env|string|token|key)\d*$ |
          ^\$ | \$\{ | \{\{ | ^< | ^% | %s | %\( | ^\{ | ^\[ | process\.env | os\.environ | getenv | secrets\. | ^@ | ^var\. | ^:",
    )
    .expect("BUG: constant pattern")
});

/// Whether a value is only there to be replaced.
#[must_use]
pub fn is_placeholder(value: &str) -> bool {
    let mut distinct: Vec<char> = value.chars().collect();
    distinct.sort_unstable();
    distinct.dedup();
    distinct.len() < 4 || PLACEHOLDER.is_match(value)
}

/// GitHub and npm: `PREFIX_` + 30 characters + their CRC-32 in base 62, six digits.
fn has_crc32_base62(token: &str) -> bool {
    let Some((_, rest)) = token.split_once('_') else { return false };
    if rest.len() != 36 || !rest.is_ascii() {
        return false;
    }
    let (body, sum) = rest.split_at(30);
    let mut number = crc32fast::hash(body.as_bytes());
    let mut digits = [b'0'; 6];
    for digit in digits.iter_mut().rev() {
        *digit = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[(number % 62) as usize];
        number /= 62;
    }
    digits == sum.as_bytes()
}

fn is_jwt(token: &str) -> bool {
    let parts: Vec<&str> = token.split('.').collect();
    let is_object = |part: &str| {
        URL_SAFE_NO_PAD.decode(part).is_ok_and(|bytes| serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(&bytes).is_ok())
    };
    matches!(parts.as_slice(), [header, payload, signature] if is_object(header) && is_object(payload) && signature.len() >= 16)
}

fn looks_random(value: &str) -> bool {
    let digits = value.chars().filter(char::is_ascii_digit).count();
    let letters = value.chars().filter(char::is_ascii_alphabetic).count();
    let others = value.chars().count() - digits - letters;
    let changes = value
        .as_bytes()
        .windows(2)
        .filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit() || pair[0].is_ascii_uppercase() != pair[1].is_ascii_uppercase())
        .count();
    digits >= 2 && letters >= 2 && others * 8 <= value.len() && changes * 4 >= value.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_with_a_wrong_checksum_is_no_token() {
        // Assembled, so that no scanner takes this file for a leak.
        let good = format!("ghp_{}{}", "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ", "0mLq17");
        assert!(has_crc32_base62(&good));
        assert!(!has_crc32_base62(&good.replace("0mLq17", "0mLq18")));
        assert!(!has_crc32_base62("ghp_short"));
    }

    #[test]
    fn placeholders_are_no_secrets() {
        for text in
            ["AKIAIOSFODNN7EXAMPLE", "your-api-key", "xxxxxxxxxxxx", "${SECRET}", "<token>", "changeme", "aaaaaaaaaa", "{{ token }}"]
        {
            assert!(is_placeholder(text), "{text}");
        }
        assert!(!is_placeholder("kJ8sPq2vLm9XzR4t"));
    }

    #[test]
    fn entropy_is_in_bits_a_character() {
        assert!((entropy("abcd") - 2.0).abs() < 1e-9);
        assert!(entropy("aaaa").abs() < 1e-9);
    }
}
