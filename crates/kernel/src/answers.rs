//! Replies that need no evaluator, on the shell or the control channel.

use super::request::Request;
use super::shared::Shared;
use super::{stale, variables};
use jupyter_protocol::{
    CodeMirrorMode, CommClose, CommInfo, HelpLink, InterruptReply, JupyterMessageContent,
    KernelInfoReply, LanguageInfo, ReplyStatus, ShutdownReply, UnknownMessage,
};
use taper_host::mutex::lock;
use taper_host::toolchain;

/// The links in the help menu of JupyterLab.
const HELP_LINKS: [(&str, &str); 2] = [
    ("Rust", "https://doc.rust-lang.org/std/"),
    ("Candle", "https://docs.rs/candle-core"),
];

/// The version of the language: its edition. JupyterLab writes this version into notebooks, and notebooks must not
/// change with the compiler. Notebooks that Taper writes contain the same version.
const EDITION: &str = "2024";

/// Answers a request. A request of an unknown type replies with an error when it is dropped.
pub(super) fn answer(request: Request, shared: &Shared) {
    match request.content() {
        JupyterMessageContent::KernelInfoRequest(_) => request.reply(kernel_info()),
        JupyterMessageContent::HistoryRequest(asked) => {
            let history = lock(&shared.history).answer(asked);
            request.reply(history);
        }
        JupyterMessageContent::CommInfoRequest(_) => {
            let mut info = shared.widgets.info();
            let target_name = stale::TARGET.to_owned();
            let open = shared.stale.ids().into_iter();
            info.comms.extend(open.map(|id| {
                let target_name = target_name.clone();
                (id, CommInfo { target_name })
            }));
            request.reply(info);
        }
        JupyterMessageContent::CommMsg(message) => {
            if let Some(state) = shared.widgets.requested_state(message) {
                request.publish(state);
            }
        }
        JupyterMessageContent::CommClose(close) => {
            shared.widgets.close(&close.comm_id);
            shared.stale.close(&close.comm_id);
        }
        JupyterMessageContent::CommOpen(open) => {
            // The protocol requires that a comm with an unknown target is closed.
            let comm_id = open.comm_id.clone();
            request.publish(CommClose {
                comm_id,
                ..Default::default()
            });
        }
        JupyterMessageContent::DebugRequest(asked) => {
            if let Some(reply) = variables::answer(asked, shared) {
                request.reply(reply);
            }
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
        JupyterMessageContent::UnknownMessage(asked) if asked.msg_type == "usage_request" => {
            let usage = lock(&shared.usage).content();
            if let Some(content) = usage {
                let msg_type = "usage_reply".to_owned();
                request.reply(UnknownMessage { msg_type, content });
            }
        }
        _ => {}
    }
}

/// Describes the kernel. The version of Rust in the banner is the compiler's; without a compiler, cells report
/// what is wrong, and the version is the oldest supported one.
fn kernel_info() -> KernelInfoReply {
    let version = env!("CARGO_PKG_VERSION");
    let rust = toolchain::release().unwrap_or(env!("CARGO_PKG_RUST_VERSION"));
    KernelInfoReply {
        status: ReplyStatus::Ok,
        protocol_version: "5.3".to_owned(),
        implementation: "taper".to_owned(),
        implementation_version: version.to_owned(),
        language_info: LanguageInfo {
            name: "rust".to_owned(),
            version: EDITION.to_owned(),
            mimetype: Some("text/x-rust".to_owned()),
            file_extension: Some(".rs".to_owned()),
            pygments_lexer: Some("rust".to_owned()),
            codemirror_mode: Some(CodeMirrorMode::Simple("rust".to_owned())),
            nbconvert_exporter: None,
        },
        banner: format!("Taper {version}: deep learning in Rust {rust}, cell by cell"),
        help_links: HELP_LINKS.map(help_link).to_vec(),
        debugger: false,
        error: None,
    }
}

fn help_link((text, url): (&str, &str)) -> HelpLink {
    HelpLink {
        text: text.to_owned(),
        url: url.to_owned(),
    }
}
