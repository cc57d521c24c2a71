//! The setting for how long a spare waits.

use std::time::Duration;

/// The environment variable with the minutes that a spare waits; `0` disables spares.
const VARIABLE: &str = "TAPER_STANDBY";
const DEFAULT_MINUTES: f64 = 10.0;
/// A year. The system's clock cannot add much longer times.
const MAX_MINUTES: f64 = 365.0 * 24.0 * 60.0;

/// Returns how long a spare waits for a kernel to start; `None` when spares are disabled.
pub(super) fn idle_timeout() -> Option<Duration> {
    timeout_of(std::env::var(VARIABLE).ok().as_deref())
}

fn timeout_of(setting: Option<&str>) -> Option<Duration> {
    let minutes = setting.and_then(|text| text.trim().parse().ok());
    let minutes: f64 = minutes.unwrap_or(DEFAULT_MINUTES);
    (minutes > 0.0).then(|| Duration::from_secs_f64(60.0 * minutes.min(MAX_MINUTES)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn a_spare_waits_as_long_as_the_setting_says() {
        assert_eq!(timeout_of(None), Some(Duration::from_secs(600)));
        assert_eq!(timeout_of(Some(" 0.5\n")), Some(Duration::from_secs(30)));
        assert_eq!(timeout_of(Some("0")), None);
        for long in ["inf", "1e300", "1e17"] {
            let timeout = timeout_of(Some(long)).expect("spares are enabled");
            assert!(Instant::now().checked_add(timeout).is_some(), "{long}");
        }
    }
}
