//! Why a search could not be set up.

use crate::budget::Stop;
use crate::error::{Error, Result};

/// The call was wrong, or a limit was reached before the search began.
pub(super) enum SetupError {
    Call(Error),
    Stop(Stop),
}

impl SetupError {
    /// The limit that was reached, which is an outcome; an error of the call is returned as such.
    pub fn stop(self) -> Result<Stop> {
        match self {
            SetupError::Call(error) => Err(error),
            SetupError::Stop(stop) => Ok(stop),
        }
    }
}

impl From<Error> for SetupError {
    fn from(error: Error) -> Self {
        SetupError::Call(error)
    }
}

impl From<Stop> for SetupError {
    fn from(stop: Stop) -> Self {
        SetupError::Stop(stop)
    }
}
