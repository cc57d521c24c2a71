//! The formulas of the functions that take integers as well, or are not public.

use super::map::function;
use crate::tensor::Candle;
use candle_core::Result;

function! {
    Abs { Input CHEAP; x => x.abs(); g, x => g * x.sign(); candle x => x.abs() }
    Sqr { Input CHEAP; x => x * x; g, x => g * (x * 2.0); candle x => x.sqr() }
    // The root of a sum of squares, whose gradient PyTorch defines as 0 at 0.
    Norm {
        Output CHEAP;
        x => x.sqrt();
        g, y => {
            let zero = y.eq(0.0);
            g * Q::select(zero, y, Q::from(0.5) / Q::select(zero, 1.0, y))
        }
    }
    Sin { Input; x => x.sin(); g, x => g * x.cos(); candle x => x.sin() }
    Cos { Input; x => x.cos(); g, x => g * -x.sin(); candle x => x.cos() }
    // For values so large that only the standard library's functions are exact.
    FarSin { Input; x => x.sin_of_large(); g, x => g * x.cos_of_large(); candle x => x.sin() }
    FarCos { Input; x => x.cos_of_large(); g, x => g * -x.sin_of_large(); candle x => x.cos() }
    Sign { Nothing CHEAP; x => x.sign(); g, _none => g * 0.0; candle x => x.sign() }
    Floor { Nothing CHEAP; x => x.floor(); g, _none => g * 0.0; candle x => x.floor() }
    Ceil { Nothing CHEAP; x => x.ceil(); g, _none => g * 0.0; candle x => x.ceil() }
    Round { Nothing CHEAP; x => x.round(); g, _none => g * 0.0; candle x => round_with_candle(x) }
    Clamp(low: f64, high: f64) {
        Input CHEAP;
        x => {
            let x = Q::select(x.lt(low), low, x);
            Q::select(x.gt(high), high, x)
        };
        g, x => Q::select(x.gt(low) & x.lt(high), g, 0.0)
    }
}

/// Rounds halves to the even integer; Candle's `round` goes away from 0.
pub(super) fn round_with_candle(x: &Candle) -> Result<Candle> {
    let half = (x - x.floor()?)?.eq(0.5)?;
    half.where_cond(&((x * 0.5)?.round()? * 2.0)?, &x.round()?)
}
