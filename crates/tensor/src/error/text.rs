//! The two lines of an error.

use super::{Problem, TaperError};
use std::fmt;

impl fmt::Display for TaperError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.problem, self.advice)
    }
}

impl std::error::Error for TaperError {}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument {
                operation,
                expected,
                found,
            }
            | Self::Device {
                operation,
                expected,
                found,
            }
            | Self::Parse {
                source: operation,
                expected,
                found,
            } => write!(f, "{operation}: expected {expected}, found {found}"),
            Self::Shape {
                operation,
                expected,
                found,
            } => write!(f, "{operation}: expected {expected}, found shape {found:?}"),
            Self::DType {
                operation,
                expected,
                found,
            } => write!(
                f,
                "{operation}: expected {expected}, found {}",
                found.as_str()
            ),
            Self::Index {
                operation,
                kind,
                index,
                len,
            } => write!(
                f,
                "{operation}: {kind} {index} is out of range: there are {len}, counted from 0"
            ),
            Self::Name { kind, name, .. } => write!(f, "there is no {kind} named {name:?}"),
            Self::State {
                operation, problem, ..
            } => write!(f, "{operation}: {problem}"),
            Self::Rank { rank, problem } => write!(f, "rank {rank}: {problem}"),
            Self::File {
                action,
                path,
                reason,
            } => write!(f, "cannot {action} {}: {reason}", path.display()),
            Self::Loss {
                loss,
                epoch,
                step,
                batch,
                cause,
            } => {
                write!(
                    f,
                    "the loss is {loss} at step {step}, in epoch {epoch}, batch {batch}"
                )?;
                match cause.is_empty() {
                    true => Ok(()),
                    false => write!(f, ": {cause}"),
                }
            }
            Self::Gradient {
                parameter,
                epoch,
                step,
                batch,
            } => write!(
                f,
                "the gradient of {parameter} is not finite at step {step}, in epoch {epoch}, batch {batch}"
            ),
            Self::OutOfMemory {
                requested,
                available,
            } => write_out_of_memory(*requested, *available, f),
            Self::Interrupted => f.write_str("interrupted: the user asked to stop"),
            Self::Gpu { problem } | Self::Other { problem } => f.write_str(problem),
        }
    }
}

fn write_out_of_memory(
    requested: Option<usize>,
    available: Option<(usize, usize)>,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let requested = requested.map(|bytes| format!("requested {}", readable(bytes)));
    let available = available
        .map(|(free, total)| format!("{} of {} are free", readable(free), readable(total)));
    let sizes: Vec<String> = requested.into_iter().chain(available).collect();
    match sizes[..] {
        [] => f.write_str("the GPU is out of memory"),
        _ => write!(f, "the GPU is out of memory: {}", sizes.join(", ")),
    }
}

fn readable(bytes: usize) -> String {
    const GIB: f64 = (1u64 << 30) as f64;
    const MIB: f64 = (1u64 << 20) as f64;
    match bytes as f64 {
        bytes if bytes >= 0.1 * GIB => format!("{:.1} GiB", bytes / GIB),
        bytes => format!("{:.1} MiB", bytes / MIB),
    }
}
