//! Status codes, the message of the last error, and the one way into the library.

use core::cell::RefCell;
use core::ffi::{CStr, c_char};
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pliant::{BuildError, Error, MeshError, SnapshotError, StepError, UnknownName};

/// What became of a call. Whatever is not `OK` has changed nothing, and `pliant_last_error` says more.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PliantStatus {
    /// It worked.
    Ok = 0,
    /// A pointer that is needed is null.
    NullPointer = 1,
    /// A string is no UTF-8.
    BadText = 2,
    /// A list or buffer has the wrong length or place.
    BadLength = 3,
    /// There is no method, backend, material, role or bending of this name.
    UnknownName = 4,
    /// No such body, collider or pin: it was removed, or belongs to another world.
    NotFound = 5,
    /// A mesh is not usable.
    BadMesh = 6,
    /// A number or option is outside its range.
    BadValue = 7,
    /// The method cannot carry this.
    Unsupported = 8,
    /// The time step, or a number that the step needs, is not usable.
    BadStep = 9,
    /// The step diverged; the state is as it was before.
    Diverged = 10,
    /// Bytes are no snapshot of this world.
    BadSnapshot = 11,
    /// Another thread is inside this world.
    Busy = 12,
    /// The library failed inside this call: a bug, please report it. The world can only be destroyed.
    Panic = 13,
    /// The library failed inside an earlier call on this world: it can only be destroyed.
    Poisoned = 14,
    /// Something else went wrong.
    Other = 15,
}

/// A status that is not `OK`, and what to tell the user.
#[derive(Debug)]
pub(crate) struct Failure {
    pub status: PliantStatus,
    pub message: String,
}

impl Failure {
    pub fn new(status: PliantStatus, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }
    pub fn null(what: &str) -> Self {
        Self::new(PliantStatus::NullPointer, format!("{what} is a null pointer"))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let status = match &error {
            Error::Build(BuildError::NotFound { .. } | BuildError::NoSuchRow { .. } | BuildError::NotPinned { .. }) => {
                PliantStatus::NotFound
            }
            Error::Build(BuildError::Unsupported { .. } | BuildError::CurvedRest { .. }) => PliantStatus::Unsupported,
            Error::Build(BuildError::Length { .. }) => PliantStatus::BadLength,
            Error::Build(BuildError::Mesh(_)) | Error::Mesh(_) => PliantStatus::BadMesh,
            Error::Build(_) => PliantStatus::BadValue,
            Error::Step(StepError::Diverged { .. } | StepError::BodyDiverged { .. }) => PliantStatus::Diverged,
            Error::Step(StepError::Unsupported { .. }) => PliantStatus::Unsupported,
            Error::Step(_) => PliantStatus::BadStep,
            Error::Snapshot(_) => PliantStatus::BadSnapshot,
            Error::UnknownName(_) => PliantStatus::UnknownName,
            _ => PliantStatus::Other,
        };
        Self::new(status, error.to_string())
    }
}

impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Self {
        Error::from(error).into()
    }
}
impl From<MeshError> for Failure {
    fn from(error: MeshError) -> Self {
        Error::from(error).into()
    }
}
impl From<StepError> for Failure {
    fn from(error: StepError) -> Self {
        Error::from(error).into()
    }
}
impl From<SnapshotError> for Failure {
    fn from(error: SnapshotError) -> Self {
        Error::from(error).into()
    }
}
impl From<UnknownName> for Failure {
    fn from(error: UnknownName) -> Self {
        Error::from(error).into()
    }
}

thread_local! {
    /// What went wrong in the last call of this thread that failed.
    static MESSAGE: RefCell<CString> = RefCell::default();
}

/// Runs a call: errors and panics become a status, and their message is kept for this thread.
pub(crate) fn enter(call: impl FnOnce() -> Result<(), Failure>) -> PliantStatus {
    // What a panic may have left half done is behind the lock of a world, which is poisoned then.
    let failure = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => return PliantStatus::Ok,
        Ok(Err(failure)) => failure,
        Err(panic) => {
            let said = panic.downcast_ref::<&str>().copied();
            let said = said.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
            Failure::new(PliantStatus::Panic, format!("pliant panicked, which is a bug: {said}"))
        }
    };
    let message = CString::new(failure.message.replace('\0', " ")).unwrap_or_default();
    // While a thread ends there may be no place for a message any more.
    let _ = MESSAGE.try_with(|kept| kept.replace(message));
    failure.status
}

/// What went wrong in the last call of this thread that failed; empty when none has.
///
/// The text belongs to the library and is valid until the next call of this thread that fails.
#[unsafe(no_mangle)]
pub extern "C" fn pliant_last_error() -> *const c_char {
    MESSAGE.try_with(|kept| kept.borrow().as_ptr()).unwrap_or(EMPTY.as_ptr())
}

static EMPTY: &CStr = c"";

/// The version of the library, such as "0.1.0": compare it with that of the header you compiled against.
///
/// The text belongs to the library and is always valid.
#[unsafe(no_mangle)]
pub extern "C" fn pliant_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_status_with_its_message() {
        assert_eq!(enter(|| panic!("boom {}", 7)), PliantStatus::Panic);
        // SAFETY: the message of this thread ends with a zero and lives until the next failure.
        let message = unsafe { CStr::from_ptr(pliant_last_error()) };
        assert!(message.to_string_lossy().ends_with("boom 7"), "{message:?}");
        assert_eq!(enter(|| Ok(())), PliantStatus::Ok);
    }
}
