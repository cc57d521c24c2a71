//! The setting for how long a spare waits.

use std::time::Duration;

/// The environment variable with the minutes that a spare waits; `0` disables spares.
const VARIABLE: &str = "TAPER_STANDBY";
const DEFAULT_MINUTES: f64 = 10.0;

/// Returns how long a spare waits for a kernel to start; `None` when spares are disabled.
pub(super) fn idle_timeout() -> Option<Duration> {
    let minutes = std::env::var(VARIABLE).ok();
    let minutes = minutes
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(DEFAULT_MINUTES);
    (minutes > 0.0).then(|| Duration::from_secs_f64(60.0 * minutes))
}
