//! The host's functions. Natively, where tests run, a host that remembers stands in for it.

use crate::raw;

/// Levels of log lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Level {
    /// For the author of the function.
    Debug = raw::LOG_DEBUG,
    /// Worth knowing.
    Info = raw::LOG_INFO,
    /// Something is off, the result stands.
    Warn = raw::LOG_WARN,
    /// Something is wrong, the result stands; use [`fail`] when it does not.
    Error = raw::LOG_ERROR,
}

/// Writes a line to the job's log.
pub fn log(level: Level, line: &str) {
    #[cfg(target_arch = "wasm32")]
    // SAFETY: the host reads the line and no more.
    unsafe {
        raw::imports::log(level as u32, line.as_ptr(), line.len() as u32)
    }
    #[cfg(not(target_arch = "wasm32"))]
    crate::native::log(level, line);
}

/// Refuses the record at hand with a message: nothing of this call's work on it is kept. A panic does the same.
pub fn fail(message: &str) -> ! {
    #[cfg(target_arch = "wasm32")]
    {
        // SAFETY: the host reads the message and no more.
        unsafe { raw::imports::fail(message.as_ptr(), message.len() as u32) };
        // For hosts that break the contract: to go on would be worse.
        std::process::abort()
    }
    // A panic does not return, either; tests of functions catch it, and take it for the fault that it is.
    #[cfg(not(target_arch = "wasm32"))]
    panic!("{message}");
}

#[cfg(target_arch = "wasm32")]
pub(crate) use wasm::*;

#[cfg(target_arch = "wasm32")]
mod wasm {
    use crate::raw::imports;

    pub(crate) fn state_get(op: u32, state: u32, key: &[u8], into: &mut [u8]) -> i32 {
        // SAFETY: the host reads and writes the slices and no more; so it is with all of these.
        unsafe { imports::state_get(op, state, key.as_ptr(), key.len() as u32, into.as_mut_ptr(), into.len() as u32) }
    }

    pub(crate) fn state_put(op: u32, state: u32, key: &[u8], value: &[u8]) {
        unsafe { imports::state_put(op, state, key.as_ptr(), key.len() as u32, value.as_ptr(), value.len() as u32) }
    }

    pub(crate) fn state_delete(op: u32, state: u32, key: &[u8]) {
        unsafe { imports::state_delete(op, state, key.as_ptr(), key.len() as u32) }
    }

    pub(crate) fn state_scan(op: u32, state: u32, after: &[u8], into: &mut [u8]) -> i32 {
        unsafe { imports::state_scan(op, state, after.as_ptr(), after.len() as u32, into.as_mut_ptr(), into.len() as u32) }
    }
}

#[cfg(not(target_arch = "wasm32"))]
pub(crate) use crate::native::{state_delete, state_get, state_put, state_scan};
