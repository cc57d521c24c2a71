//! The limit on the memory that cells can use.

use anyhow::{Context, Result};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The variable with the limit: a positive integer with the unit `M` or `G`.
pub(crate) const VARIABLE: &str = "TAPER_MEMORY";

/// Returns the limit in bytes, if the variable is set.
pub(crate) fn limit() -> Result<Option<u64>> {
    let Ok(value) = std::env::var(VARIABLE) else {
        return Ok(None);
    };
    let bytes = bytes(&value).with_context(|| {
        format!(
            "TAPER_MEMORY is `{value}`: expected an integer with the unit `M` or `G`, such as `512M` or `2G`"
        )
    })?;
    Ok(Some(bytes))
}

/// Limits this process and those that it starts, if the variable is set.
pub(crate) fn apply() -> Result<()> {
    let Some(bytes) = limit()? else {
        return Ok(());
    };
    // A limit cannot be raised again. A lower limit of the system stays.
    let lowest = |limit: Option<u64>| Some(limit.map_or(bytes, |limit| limit.min(bytes)));
    let Rlimit { current, maximum } = getrlimit(Resource::Data);
    let limit = Rlimit {
        current: lowest(current),
        maximum: lowest(maximum),
    };
    setrlimit(Resource::Data, limit).context("cannot limit the memory of cells")
}

fn bytes(value: &str) -> Option<u64> {
    let value = value.trim();
    let shift = match value.chars().last()? {
        'M' => 20,
        'G' => 30,
        _ => return None,
    };
    let count: u64 = value[..value.len() - 1].trim_end().parse().ok()?;
    count.checked_mul(1 << shift).filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn a_limit_is_an_integer_with_its_unit() {
        assert_eq!(bytes("512M"), Some(512 << 20));
        assert_eq!(bytes(" 2 G "), Some(2 << 30));
        for wrong in ["", "2", "G", "-1G", "1.5G", "2T", "0M", "99999999999999G"] {
            assert_eq!(bytes(wrong), None, "{wrong}");
        }
    }
}
