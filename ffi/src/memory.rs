//! Lists and strings of the caller: the only place where raw pointers are followed.

use core::ffi::{CStr, c_char};

use crate::status::{Failure, PliantStatus};

/// `count` items at `start`; a null pointer stands for an empty list.
///
/// # Safety
/// A pointer that is not null points to `count` initialised items, which nobody changes while the list is in use.
pub(crate) unsafe fn list<'a, T: Plain>(what: &'static str, start: *const T, count: usize) -> Result<&'a [T], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    check(what, start, count)?;
    // SAFETY: not null, aligned and of a possible size (checked above); initialised and unchanged as the caller promises; any
    // bits are a value of a plain type.
    Ok(unsafe { core::slice::from_raw_parts(start, count) })
}

/// Room for `count` items at `start`, filled with zeros: what the caller left there may never have been written.
///
/// # Safety
/// A pointer that is not null points to room for `count` items, which nobody else reads or changes while the list is in use.
pub(crate) unsafe fn room<'a, T: Plain>(
    what: &'static str,
    start: *mut T,
    count: usize,
) -> Result<&'a mut [T], Failure> {
    if count == 0 {
        return Ok(&mut []);
    }
    check(what, start, count)?;
    // SAFETY: not null, aligned and of a possible size (checked above), and nobody else uses it, as the caller promises; zeros
    // are a value of a plain type, so that the items are initialised when the list is made.
    unsafe {
        start.write_bytes(0, count);
        Ok(core::slice::from_raw_parts_mut(start, count))
    }
}

/// A string that ends with a zero byte; `None` for a null pointer.
///
/// # Safety
/// A pointer that is not null points to bytes that end with a zero, which nobody changes while the string is in use.
pub(crate) unsafe fn text<'a>(what: &'static str, start: *const c_char) -> Result<Option<&'a str>, Failure> {
    if start.is_null() {
        return Ok(None);
    }
    // SAFETY: not null (checked above); ends with a zero and is unchanged as the caller promises.
    let text = unsafe { CStr::from_ptr(start) };
    match text.to_str() {
        Ok(text) => Ok(Some(text)),
        Err(error) => Err(Failure::new(PliantStatus::BadText, format!("{what} is no UTF-8: {error}"))),
    }
}

/// Types of which any bits are a value.
pub(crate) trait Plain: Copy {}
impl Plain for u8 {}
impl Plain for u32 {}
impl Plain for f32 {}
impl Plain for f64 {}

fn check<T>(what: &'static str, start: *const T, count: usize) -> Result<(), Failure> {
    if start.is_null() {
        return Err(Failure::null(what));
    }
    if !start.is_aligned() {
        return Err(Failure::new(
            PliantStatus::BadLength,
            format!("{what} does not start at a multiple of its item's size"),
        ));
    }
    if count > isize::MAX as usize / size_of::<T>() {
        return Err(Failure::new(PliantStatus::BadLength, format!("{what} cannot have {count} items")));
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]
mod tests {
    use super::*;

    #[test]
    fn lists_are_checked_before_they_are_followed() {
        let numbers = [1.0_f64, 2.0, 3.0];
        // SAFETY: the items are there, or the pointer is refused before it is followed.
        unsafe {
            assert_eq!(list("numbers", numbers.as_ptr(), 3).unwrap(), numbers);
            assert!(list::<f64>("numbers", core::ptr::null(), 0).unwrap().is_empty());
            assert_eq!(list::<f64>("numbers", core::ptr::null(), 1).unwrap_err().status, PliantStatus::NullPointer);
            let odd = numbers.as_ptr().wrapping_byte_add(1);
            assert_eq!(list("numbers", odd, 1).unwrap_err().status, PliantStatus::BadLength);
            assert_eq!(list("numbers", numbers.as_ptr(), usize::MAX).unwrap_err().status, PliantStatus::BadLength);
        }
    }

    #[test]
    fn strings_are_utf_8() {
        // SAFETY: both end with a zero.
        unsafe {
            assert_eq!(text("name", c"pbd".as_ptr()).unwrap(), Some("pbd"));
            assert_eq!(text("name", c"\xff".as_ptr()).unwrap_err().status, PliantStatus::BadText);
            assert_eq!(text("name", core::ptr::null()).unwrap(), None);
        }
    }
}
