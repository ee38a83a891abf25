//! What can end a command early.

use std::io;

use st_app::Problem;

/// What can end a command early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// Refused or failed, with words for the user.
    #[error(transparent)]
    Problem(#[from] Problem),
    /// Whoever read our output closed it.
    #[error("the output was closed")]
    Closed,
    /// Our output can't be written.
    #[error("the output can't be written")]
    Output(#[source] io::Error),
}

impl From<io::Error> for CliError {
    fn from(source: io::Error) -> Self {
        if source.kind() == io::ErrorKind::BrokenPipe { Self::Closed } else { Self::Output(source) }
    }
}
