//! Requests that are answered without the evaluator, on the shell or on the control channel.

use super::request::Request;
use super::shared::{Shared, lock};
use jupyter_protocol::{
    CodeMirrorMode, CommClose, CommInfoReply, HelpLink, InterruptReply, IsCompleteReply,
    JupyterMessageContent, KernelInfoReply, LanguageInfo, ReplyStatus, ShutdownReply,
};
use taper_host::toolchain;

/// Answers what it knows; anything else gets the request's own answer, an error.
pub(super) fn answer(request: Request, shared: &Shared) {
    match request.content() {
        JupyterMessageContent::KernelInfoRequest(_) => request.reply(kernel_info()),
        JupyterMessageContent::HistoryRequest(asked) => {
            let history = lock(&shared.history).answer(asked);
            request.reply(history);
        }
        JupyterMessageContent::IsCompleteRequest(_) => request.reply(IsCompleteReply::unknown()),
        JupyterMessageContent::CommInfoRequest(_) => request.reply(CommInfoReply::default()),
        JupyterMessageContent::CommOpen(open) => {
            // No target is known here; the protocol wants a comm closed that nobody takes.
            let comm_id = open.comm_id.clone();
            request.publish(CommClose {
                comm_id,
                ..Default::default()
            });
        }
        JupyterMessageContent::InterruptRequest(_) => {
            shared.interrupt();
            request.reply(InterruptReply::new());
        }
        JupyterMessageContent::ShutdownRequest(asked) => {
            let restart = asked.restart;
            request.reply(ShutdownReply {
                restart,
                ..Default::default()
            });
            shared.stop();
        }
        _ => {}
    }
}

/// Who we are. The version of Rust is that of the compiler, which the evaluator asks for as well;
/// without one, cells say what is wrong, and the version is the one the project is made for.
pub(super) fn kernel_info() -> KernelInfoReply {
    let version = env!("CARGO_PKG_VERSION");
    let rust = toolchain::release().unwrap_or(env!("CARGO_PKG_RUST_VERSION"));
    let links = [
        // Set in the manifest once the project has a page.
        ("Taper", env!("CARGO_PKG_HOMEPAGE")),
        ("Rust", "https://doc.rust-lang.org/std/"),
        ("Candle", "https://docs.rs/candle-core"),
    ];
    let help = links.iter().filter(|(_, url)| !url.is_empty());
    KernelInfoReply {
        status: ReplyStatus::Ok,
        protocol_version: "5.3".to_owned(),
        implementation: "taper".to_owned(),
        implementation_version: version.to_owned(),
        language_info: LanguageInfo {
            name: "rust".to_owned(),
            version: rust.to_owned(),
            mimetype: Some("text/x-rust".to_owned()),
            file_extension: Some(".rs".to_owned()),
            pygments_lexer: Some("rust".to_owned()),
            codemirror_mode: Some(CodeMirrorMode::Simple("rust".to_owned())),
            nbconvert_exporter: None,
        },
        banner: format!("Taper {version}: deep learning in Rust {rust}, cell by cell"),
        help_links: help
            .map(|(text, url)| HelpLink {
                text: (*text).to_owned(),
                url: (*url).to_owned(),
            })
            .collect(),
        debugger: false,
        error: None,
    }
}
