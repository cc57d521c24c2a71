//! Which file a descriptor is: a cell may put another file in the place of one.

use std::os::fd::AsFd;

/// Returns the device and the inode of an open file.
pub(super) fn identity(file: impl AsFd) -> rustix::io::Result<(u64, u64)> {
    let stat = rustix::fs::fstat(file)?;
    // On some systems the number of a device has a sign, and fewer bits.
    #[allow(clippy::unnecessary_cast)]
    Ok((stat.st_dev as u64, stat.st_ino as u64))
}
