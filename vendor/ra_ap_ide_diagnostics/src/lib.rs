//! What `ra_ap_ide` takes from rust-analyzer's diagnostics, without the diagnostics. A kernel shows those of rustc: see
//! vendor/README.md.

use ide_db::assists::{Assist, AssistResolveStrategy};
use ide_db::{FileId, FileRange, RootDatabase, Severity};

/// Whether diagnostics are wanted.
#[derive(Clone, Debug)]
pub struct DiagnosticsConfig {
    pub enabled: bool,
}

/// What a diagnostic is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DiagnosticCode {
    SyntaxError,
}

/// A message about a place, with the actions that mend it.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    pub code: DiagnosticCode,
    pub message: String,
    pub range: FileRange,
    pub severity: Severity,
    pub fixes: Option<Vec<Assist>>,
}

/// The syntax errors of a file: none.
pub fn syntax_diagnostics(_: &RootDatabase, _: &DiagnosticsConfig, _: FileId) -> Vec<Diagnostic> {
    Vec::new()
}

/// The other diagnostics of a file: none.
pub fn semantic_diagnostics(
    _: &RootDatabase,
    _: &DiagnosticsConfig,
    _: &AssistResolveStrategy,
    _: FileId,
) -> Vec<Diagnostic> {
    Vec::new()
}

/// All diagnostics of a file: none.
pub fn full_diagnostics(
    _: &RootDatabase,
    _: &DiagnosticsConfig,
    _: &AssistResolveStrategy,
    _: FileId,
) -> Vec<Diagnostic> {
    Vec::new()
}
