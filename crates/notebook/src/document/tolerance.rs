//! The tolerance within which an output equals the stored one.

use super::error::Problem;
use serde_json::Value;

/// The largest accepted difference of a floating-point number, `|now - stored| <= atol + rtol * |stored|`, of an integer,
/// `|now - stored| <= counts * |stored|`, and whether measured times are compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tolerance {
    pub(crate) rtol: f64,
    pub(crate) atol: f64,
    pub(crate) counts: f64,
    pub(crate) ignores_times: bool,
}

impl Default for Tolerance {
    fn default() -> Self {
        Tolerance {
            rtol: 1e-5,
            atol: 1e-8,
            counts: 0.0,
            ignores_times: false,
        }
    }
}

/// Returns the problem of a key of the metadata `taper` with an invalid value.
fn bad(key: &str, value: &Value) -> Problem {
    Problem::new(
        format!("its metadata `taper` cannot be read: `{key}` is {value}"),
        "Write it as {\"taper\": {\"rtol\": 1e-3, \"atol\": 1e-6, \"counts\": 0.1, \"ignore\": \"times\"}}.",
    )
}

impl Tolerance {
    pub(crate) const EXACT: Tolerance = Tolerance {
        rtol: 0.0,
        atol: 0.0,
        counts: 0.0,
        ignores_times: false,
    };

    /// Reads the value of the metadata key `taper`; a tolerance that is missing there is taken from `outer`.
    pub(crate) fn read(taper: Option<&Value>, outer: Tolerance) -> Result<Tolerance, Problem> {
        let read = |key, outer: f64| match taper.and_then(|taper| taper.get(key)) {
            None => Ok(outer),
            Some(value) => value
                .as_f64()
                .filter(|number| *number >= 0.0)
                .ok_or_else(|| bad(key, value)),
        };
        if let Some(taper) = taper.filter(|taper| !taper.is_object()) {
            return Err(bad("taper", taper));
        }
        Ok(Tolerance {
            rtol: read("rtol", outer.rtol)?,
            atol: read("atol", outer.atol)?,
            counts: read("counts", outer.counts)?,
            ignores_times: match taper.and_then(|taper| taper.get("ignore")) {
                None => outer.ignores_times,
                Some(Value::String(what)) if what == "times" => true,
                Some(value) => return Err(bad("ignore", value)),
            },
        })
    }

    /// Returns whether two integers are close enough.
    pub(crate) fn allows_count(self, stored: i128, now: i128) -> bool {
        let difference = now.abs_diff(stored);
        difference == 0 || difference as f64 <= self.counts * stored.unsigned_abs() as f64
    }

    /// Returns whether `now` is close enough to `stored`. NaN equals NaN here, and an infinity equals
    /// only itself.
    pub(crate) fn allows(self, stored: f64, now: f64) -> bool {
        if stored == now || (stored.is_nan() && now.is_nan()) {
            return true;
        }
        let difference = (now - stored).abs();
        difference.is_finite() && difference <= self.atol + self.rtol * stored.abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_missing_tolerance_is_inherited_and_a_wrong_one_is_refused() {
        let outer = Tolerance {
            rtol: 1e-3,
            atol: 1e-6,
            counts: 0.0,
            ignores_times: false,
        };
        let read = |value: Value| Tolerance::read(Some(&value), outer).ok();
        assert_eq!(Tolerance::read(None, outer).ok(), Some(outer));
        assert_eq!(read(json!({})), Some(outer));
        assert_eq!(
            read(json!({"rtol": 0.5})),
            Some(Tolerance { rtol: 0.5, ..outer })
        );
        assert_eq!(
            read(json!({"atol": 1})),
            Some(Tolerance { atol: 1.0, ..outer })
        );
        assert_eq!(
            read(json!({"counts": 0.1})),
            Some(Tolerance {
                counts: 0.1,
                ..outer
            })
        );
        assert!(read(json!({"rtol": "1e-3"})).is_none());
        assert!(read(json!({"rtol": -1})).is_none());
        assert!(read(json!(3)).is_none());
        let times = read(json!({"ignore": "times"})).expect("it is read");
        assert!(times.ignores_times && times.rtol == 1e-3);
        assert!(read(json!({"ignore": "text"})).is_none());
    }
}
