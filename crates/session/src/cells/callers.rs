//! Who calls a function that this program defines in place of libc's.

use std::ffi::{CStr, OsStr, c_int, c_void};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// How many callers are looked at.
const CALLERS: usize = 24;

/// The folder of compiled cells.
static CELLS: OnceLock<PathBuf> = OnceLock::new();

/// Notes where compiled cells are.
pub(super) fn set_folder_of(cell: &Path) {
    if let Some(folder) = cell.parent() {
        CELLS.get_or_init(|| folder.to_owned());
    }
}

/// Returns whether the code of a cell calls, perhaps through Rust's library.
pub(super) fn is_cell() -> bool {
    let creator = objects().find(|it| !it.is_rust());
    creator.is_some_and(|creator| creator.is_cell())
}

/// Returns whether Rust's library or the code of a cell calls. Another library may take an error for its own.
pub(super) fn is_rust() -> bool {
    let caller = objects().next();
    caller.is_some_and(|caller| caller.is_rust() || caller.is_cell())
}

/// A library that contains a caller.
struct Object {
    start: *const c_void,
    file: &'static Path,
}

/// Returns the libraries of the callers, the innermost first, without this program. Each is looked up when it is asked for:
/// `dladdr` searches all symbols of a library, which takes tens of microseconds in `taper`'s.
fn objects() -> impl Iterator<Item = Object> {
    let mut callers = [std::ptr::null_mut(); CALLERS];
    // SAFETY: there is room for this many addresses.
    let count = unsafe { libc::backtrace(callers.as_mut_ptr(), CALLERS as c_int) };
    let ours = Object::of(is_cell as *const c_void);
    let ours = ours.map(|ours| ours.start);
    let callers = callers
        .into_iter()
        .take(usize::try_from(count).unwrap_or(0));
    let objects = callers.filter_map(|address| Object::of(address));
    objects.skip_while(move |object| Some(object.start) == ours)
}

impl Object {
    /// Returns the one that contains an address.
    fn of(address: *const c_void) -> Option<Object> {
        let mut info = MaybeUninit::<libc::Dl_info>::uninit();
        // SAFETY: the call fills the structure if it returns another number than 0. The name is that of a library that is
        // never unloaded.
        unsafe {
            if libc::dladdr(address, info.as_mut_ptr()) == 0 {
                return None;
            }
            let info = info.assume_init();
            let file = CStr::from_ptr(info.dli_fname).to_bytes();
            Some(Object {
                start: info.dli_fbase,
                file: Path::new(OsStr::from_bytes(file)),
            })
        }
    }

    fn is_rust(&self) -> bool {
        let name = self.file.file_name().unwrap_or_default();
        name.as_bytes().starts_with(b"libstd-")
    }

    fn is_cell(&self) -> bool {
        self.file.parent() == CELLS.get().map(|folder| &**folder)
    }
}
