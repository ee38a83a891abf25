//! Identities. Every id is its own type, so that one can't be passed for another.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::from_str(text).map(Self)
            }
        }
    };
}

uuid_id! {
    /// A task's permanent identity (UUID v7).
    TaskId
}
uuid_id! {
    /// One execution of a task (UUID v7).
    AttemptId
}
uuid_id! {
    /// One run of an engine process. An attempt whose boot id is not the living engine's is dead.
    BootId
}

macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number! {
    /// The short number a person uses: `42`, shown as `#42`.
    TaskNumber
}
number! {
    /// Position of a durable event in commit order; a stream resumes after it.
    EventSeq
}
number! {
    /// Fencing token of a lease: rises with each claim of a task, so a late writer is refused.
    Fence
}

/// How a user names a task: a short number (`42`, `#42`) or the full UUID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskRef {
    /// By short number.
    Number(TaskNumber),
    /// By UUID.
    Id(TaskId),
}

/// The text is neither a task number nor a UUID.
#[derive(Debug, thiserror::Error)]
#[error("`{text}` is neither a task number nor a task id")]
pub struct ParseTaskRefError {
    text: String,
    #[source]
    source: ParseIntError,
}

impl FromStr for TaskRef {
    type Err = ParseTaskRefError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let trimmed = text.trim();
        if let Ok(id) = TaskId::from_str(trimmed) {
            return Ok(Self::Id(id));
        }
        trimmed
            .strip_prefix('#')
            .unwrap_or(trimmed)
            .parse()
            .map(|number| Self::Number(TaskNumber(number)))
            .map_err(|source| ParseTaskRefError { text: text.to_owned(), source })
    }
}

impl fmt::Display for TaskRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "#{number}"),
            Self::Id(id) => id.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_named_by_number_or_uuid() {
        let id = TaskId(Uuid::from_u128(7));
        assert_eq!("42".parse::<TaskRef>().unwrap(), TaskRef::Number(TaskNumber(42)));
        assert_eq!("#42".parse::<TaskRef>().unwrap(), TaskRef::Number(TaskNumber(42)));
        assert_eq!(id.to_string().parse::<TaskRef>().unwrap(), TaskRef::Id(id));
        assert!("forty".parse::<TaskRef>().is_err());
        assert!("-1".parse::<TaskRef>().is_err());
    }
}
