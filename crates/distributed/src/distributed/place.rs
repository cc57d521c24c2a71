//! The current step and the last checkpoint, for the message of a rank that fails.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

static EPOCH: AtomicUsize = AtomicUsize::new(0);
static STEP: AtomicUsize = AtomicUsize::new(0);
static SAVED: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Stores the current epoch and step, both counted from 1.
#[doc(hidden)]
pub fn at(epoch: usize, step: usize) {
    EPOCH.store(epoch, Ordering::Relaxed);
    STEP.store(step, Ordering::Relaxed);
}

/// Stores the path of the last checkpoint.
#[doc(hidden)]
pub fn saved(path: &Path) {
    *SAVED.lock().unwrap_or_else(PoisonError::into_inner) = Some(path.to_owned());
}

/// Returns ` in step 7 (epoch 2)`, and a line with the last checkpoint and how to resume.
#[cfg(any(test, feature = "mpi"))]
pub(crate) fn place() -> (String, String) {
    let text = match (STEP.load(Ordering::Relaxed), EPOCH.load(Ordering::Relaxed)) {
        (0, _) => String::new(),
        (step, epoch) => format!(" in step {step} (epoch {epoch})"),
    };
    // A handler that runs at exit must not wait for a thread that has the lock.
    let saved = SAVED.try_lock().ok().and_then(|saved| saved.clone());
    let advice = match saved {
        Some(path) => format!(
            "The last checkpoint is {}: start again with .resume_from(…)",
            path.display()
        ),
        None => {
            "There is no checkpoint; .callback(Checkpoint::new(\"run.safetensors\")) writes one"
                .into()
        }
    };
    (text, advice)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_place_names_step_and_checkpoint() {
        // Trainings of other tests change both.
        super::at(2, 7);
        super::saved("run.safetensors".as_ref());
        let (step, advice) = super::place();
        assert!(step.starts_with(" in step "), "{step}");
        assert!(advice.starts_with("The last checkpoint is "), "{advice}");
    }
}
