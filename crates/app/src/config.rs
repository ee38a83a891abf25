//! Settings: known keys, their defaults, and where a value comes from.
//!
//! What the user sets is kept in the store. An environment variable of the engine outranks it,
//! and a default stands behind both.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::Problem;
use crate::problems::usage;

/// What a value must look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// `true` or `false`.
    Switch,
    /// `auto`, or a number from 1 to 64.
    Slots,
    /// A runner's name.
    Runner,
    /// A length of time from 10 s to 24 h, such as `10m`.
    Timeout,
    /// `github`, `gitlab`, or either with a base address: `gitlab=http://127.0.0.1:8080`.
    Forge,
}

/// A known key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name; `forge.HOST` stands for one key a host.
    pub name: &'static str,
    /// What a value must look like.
    pub kind: ValueKind,
    /// The value when nobody sets one.
    pub default: &'static str,
    /// The environment variable that outranks the setting, if there is one.
    pub env: Option<&'static str>,
    /// What it does, in one sentence.
    pub about: &'static str,
}

/// Every known key.
pub const KEYS: &[Key] = &[
    Key {
        name: "notifications.enabled",
        kind: ValueKind::Switch,
        default: "true",
        env: Some("SIDETRACK_NOTIFICATIONS_ENABLED"),
        about: "Whether the desktop is notified at all.",
    },
    Key {
        name: "notifications.done",
        kind: ValueKind::Switch,
        default: "true",
        env: Some("SIDETRACK_NOTIFICATIONS_DONE"),
        about: "Whether a task that is done is worth a notification; failures always are.",
    },
    Key {
        name: "slots",
        kind: ValueKind::Slots,
        default: "auto",
        env: Some("SIDETRACK_SLOTS"),
        about: "Tasks that run at once, from the engine's next start on; auto is half the cores.",
    },
    Key {
        name: "review.runner",
        kind: ValueKind::Runner,
        default: "rules",
        env: Some("SIDETRACK_REVIEW_RUNNER"),
        about: "Who reviews when a review names nobody.",
    },
    Key {
        name: "review.timeout",
        kind: ValueKind::Timeout,
        default: "10m",
        env: Some("SIDETRACK_REVIEW_TIMEOUT"),
        about: "Longest run of one attempt at a review.",
    },
    Key {
        name: "forge.HOST",
        kind: ValueKind::Forge,
        default: "",
        env: None,
        about: "What a host of one's own speaks: github, gitlab, or either with its base address (gitlab=http://127.0.0.1:8080).",
    },
];

/// Where the family of forge keys begins.
const FORGE: &str = "forge.";

/// Keys the engine keeps for itself beside the settings.
const INTERNAL: &[(&str, &str)] = &[("paused", "Use `sidetrack pause` and `sidetrack resume`.")];

/// The settings as they are now.
#[derive(Clone, Debug, Default)]
pub struct Config {
    set: BTreeMap<String, String>,
    env: BTreeMap<&'static str, String>,
}

impl Config {
    /// Reads what the store holds and the environment outranks. A value that is not valid, in
    /// either, counts as not set.
    #[must_use]
    pub fn new(stored: Vec<(String, String)>, env: &dyn Fn(&str) -> Option<String>) -> Self {
        let set = stored.into_iter().filter(|(key, value)| Self::check(key, Some(value)).is_ok()).collect();
        let outranked = KEYS.iter().filter_map(|key| {
            let value = env(key.env?)?;
            match validate(key.kind, key.name, &value) {
                Ok(()) => Some((key.name, value)),
                Err(problem) => {
                    tracing::warn!(key = key.name, %problem, "a setting from the environment is not valid and not used");
                    None
                }
            }
        });
        Self { set, env: outranked.collect() }
    }

    /// Checks a key and, unless it is to be removed, its value; returns the key as it is kept.
    ///
    /// # Errors
    /// When the key is unknown or the value does not fit it, with what would.
    pub fn check(key: &str, value: Option<&str>) -> Result<String, Problem> {
        if let Some((_, fix)) = INTERNAL.iter().find(|(internal, _)| *internal == key) {
            return Err(usage(format!("`{key}` is no setting"), *fix));
        }
        let (kind, name) = match key.strip_prefix(FORGE) {
            Some(host) => (ValueKind::Forge, format!("{FORGE}{}", check_host(host)?)),
            None => {
                let known = KEYS.iter().find(|known| known.name == key);
                let names = || KEYS.iter().map(|known| known.name).collect::<Vec<_>>().join(", ");
                let known = known.ok_or_else(|| usage(format!("There is no setting `{key}`"), format!("Known settings: {}.", names())))?;
                (known.kind, known.name.to_owned())
            }
        };
        if let Some(value) = value {
            validate(kind, &name, value)?;
        }
        Ok(name)
    }

    /// Every setting with its value and where that comes from: `default`, `you` or `env`.
    #[must_use]
    pub fn list(&self) -> Vec<(String, String, String)> {
        let known = KEYS.iter().filter(|key| key.kind != ValueKind::Forge).map(|key| {
            let (value, from) = self.look_up(key);
            (key.name.to_owned(), value.to_owned(), from.to_owned())
        });
        let forges = self.forges().into_iter().map(|(host, kind)| (format!("{FORGE}{host}"), kind, "you".to_owned()));
        known.chain(forges).collect()
    }

    fn look_up(&self, key: &Key) -> (&str, &'static str) {
        if let Some(value) = self.env.get(key.name) {
            (value, "env")
        } else if let Some(value) = self.set.get(key.name) {
            (value, "you")
        } else {
            (key.default, "default")
        }
    }

    fn value(&self, name: &str) -> &str {
        KEYS.iter().find(|key| key.name == name).map_or("", |key| self.look_up(key).0)
    }

    /// `notifications.enabled`
    #[must_use]
    pub fn notifications_enabled(&self) -> bool {
        self.value("notifications.enabled") == "true"
    }

    /// `notifications.done`
    #[must_use]
    pub fn notifications_done(&self) -> bool {
        self.value("notifications.done") == "true"
    }

    /// `slots`; `None` for auto.
    #[must_use]
    pub fn slots(&self) -> Option<usize> {
        self.value("slots").parse().ok()
    }

    /// `review.runner`
    #[must_use]
    pub fn review_runner(&self) -> String {
        self.value("review.runner").to_owned()
    }

    /// `review.timeout`
    #[must_use]
    pub fn review_timeout(&self) -> Duration {
        parse_duration(self.value("review.timeout")).unwrap_or(Duration::from_secs(600))
    }

    /// Hosts of one's own, by name, and what they speak.
    #[must_use]
    pub fn forges(&self) -> Vec<(String, String)> {
        self.set.iter().filter_map(|(key, value)| Some((key.strip_prefix(FORGE)?.to_owned(), value.clone()))).collect()
    }

    /// The settings that a task keeps with it, so that its row tells all: the forges.
    #[must_use]
    pub fn for_task(&self) -> BTreeMap<String, String> {
        self.set.iter().filter(|(key, _)| key.starts_with(FORGE)).map(|(key, value)| (key.clone(), value.clone())).collect()
    }
}

fn check_host(host: &str) -> Result<String, Problem> {
    let fits = |symbol: char| symbol.is_ascii_alphanumeric() || matches!(symbol, '.' | '-' | ':' | '[' | ']');
    if host.is_empty() || host.len() > 253 || !host.chars().all(fits) {
        return Err(usage(
            format!("`{host}` is no host name"),
            "Write the host without scheme: forge.git.example.org or forge.127.0.0.1:8080.",
        ));
    }
    Ok(host.to_ascii_lowercase())
}

fn validate(kind: ValueKind, key: &str, value: &str) -> Result<(), Problem> {
    let refuse = |fix: &str| Err(usage(format!("`{value}` does not fit the setting `{key}`"), fix));
    match kind {
        ValueKind::Switch if matches!(value, "true" | "false") => Ok(()),
        ValueKind::Switch => refuse("Say true or false."),
        ValueKind::Slots if value == "auto" || value.parse::<u8>().is_ok_and(|slots| (1..=64).contains(&slots)) => Ok(()),
        ValueKind::Slots => refuse("Say auto, or a number from 1 to 64."),
        ValueKind::Runner if value == "rules" => Ok(()),
        ValueKind::Runner => refuse("Say rules: other runners are not in this version."),
        ValueKind::Timeout => match parse_duration(value) {
            Some(length) if (Duration::from_secs(10)..=Duration::from_secs(86_400)).contains(&length) => Ok(()),
            Some(_) | None => refuse("Say a length of time from 10s to 24h, such as 10m or 1h30m."),
        },
        ValueKind::Forge => {
            let (name, base) = value.split_once('=').map_or((value, None), |(name, base)| (name, Some(base)));
            let base_fits = base.is_none_or(|base| {
                base.strip_prefix("https://")
                    .or_else(|| base.strip_prefix("http://"))
                    .is_some_and(|rest| !rest.is_empty() && !rest.contains(char::is_whitespace))
            });
            let bare_address = value.starts_with("http://") || value.starts_with("https://");
            if (matches!(name, "github" | "gitlab") && base_fits) || bare_address {
                Ok(())
            } else {
                refuse("Say github or gitlab, with a base address where one is needed: gitlab=http://127.0.0.1:8080.")
            }
        }
    }
}

/// Reads a length of time: `90s`, `10m`, `1h30m`, `500ms`, `1d`. `None` when it is none, is zero
/// or longer than a year.
#[must_use]
pub fn parse_duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|symbol: char| !symbol.is_ascii_digit())?;
        let number: u64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest.find(|symbol: char| !symbol.is_ascii_alphabetic()).unwrap_or(rest.len());
        let millis = match &rest[..letters] {
            "ms" => 1,
            "s" => 1000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        total = total.checked_add(Duration::from_millis(number.checked_mul(millis)?))?;
        rest = &rest[letters..];
    }
    (total > Duration::ZERO && total <= Duration::from_secs(366 * 86_400)).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(stored: &[(&str, &str)], env: &'static [(&'static str, &'static str)]) -> Config {
        let stored = stored.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Config::new(stored, &|name| env.iter().find(|pair| pair.0 == name).map(|pair| pair.1.to_owned()))
    }

    #[test]
    fn the_environment_outranks_the_user_who_outranks_the_default() {
        let config = config(&[("slots", "3"), ("review.timeout", "1h30m")], &[("SIDETRACK_SLOTS", "5")]);
        assert_eq!(config.slots(), Some(5));
        assert_eq!(config.review_timeout(), Duration::from_secs(5400));
        assert!(config.notifications_enabled());
        let list = config.list();
        let row = |key: &str| list.iter().find(|row| row.0 == key).map(|row| (row.1.as_str(), row.2.as_str())).unwrap();
        assert_eq!(row("slots"), ("5", "env"));
        assert_eq!(row("review.timeout"), ("1h30m", "you"));
        assert_eq!(row("review.runner"), ("rules", "default"));
    }

    #[test]
    fn a_value_that_does_not_fit_is_refused_with_what_would() {
        for (key, value) in [
            ("slots", "0"),
            ("slots", "65"),
            ("slots", "many"),
            ("notifications.enabled", "yes"),
            ("review.timeout", "1s"),
            ("review.timeout", "10"),
            ("review.timeout", "2d"),
            ("review.runner", "magic"),
            ("forge.git.example.org", "svn"),
            ("forge.git.example.org", "gitlab=ftp://x"),
            ("forge.a b", "github"),
            ("forge.", "github"),
            ("colour", "red"),
            ("paused", "true"),
        ] {
            let problem = Config::check(key, Some(value)).unwrap_err();
            assert_eq!(problem.code, crate::ErrorCode::Usage, "{key}={value}");
            assert!(!problem.fix[0].is_empty());
        }
    }

    #[test]
    fn a_bad_value_in_store_or_environment_counts_as_not_set() {
        let config = config(&[("slots", "0"), ("paused", "true")], &[("SIDETRACK_REVIEW_TIMEOUT", "soon")]);
        assert_eq!(config.slots(), None);
        assert_eq!(config.review_timeout(), Duration::from_secs(600));
        assert!(config.list().iter().all(|row| row.0 != "paused"));
    }

    #[test]
    fn a_host_of_ones_own_is_a_setting_a_host() {
        let config = config(&[("forge.git.example.org", "gitlab"), ("forge.127.0.0.1:8080", "github=http://127.0.0.1:8080")], &[]);
        assert_eq!(config.forges().len(), 2);
        assert!(config.list().contains(&("forge.git.example.org".into(), "gitlab".into(), "you".into())));
        assert_eq!(Config::check("forge.GIT.example.org", Some("gitlab")).unwrap(), "forge.git.example.org");
        assert_eq!(config.for_task().len(), 2);
    }

    #[test]
    fn every_default_is_valid() {
        for key in KEYS.iter().filter(|key| key.kind != ValueKind::Forge) {
            Config::check(key.name, Some(key.default)).unwrap();
        }
    }

    #[test]
    fn lengths_of_time_are_read_with_their_units() {
        assert_eq!(parse_duration("1h30m"), Some(Duration::from_secs(5400)));
        assert_eq!(parse_duration("500ms"), Some(Duration::from_millis(500)));
        for bad in ["", "10", "m", "1x", "0s", "-1s", "99999999999999999999s", "9999d", "1h 30m", "é"] {
            assert_eq!(parse_duration(bad), None, "{bad}");
        }
    }
}
