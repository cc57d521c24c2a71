//! The JupyterLab that runs on this machine, found by the files in which Jupyter describes its servers.

use serde_json::Value;
use std::env;
use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};

/// Returns the address at which a running JupyterLab opens a notebook, with the server's token; `None` if none of them
/// has the notebook below its folder.
pub(super) fn address(notebook: &Path) -> Option<String> {
    let files = fs::read_dir(folder()?).ok()?.flatten();
    let servers = files.filter_map(|file| {
        let name = file.file_name();
        let is_server = name.to_string_lossy().starts_with("jpserver-");
        let text = is_server.then(|| fs::read(file.path()).ok()).flatten()?;
        serde_json::from_slice::<Value>(&text).ok()
    });
    servers
        .filter(is_running)
        .find_map(|server| address_in(&server, notebook))
}

/// Returns the folder of Jupyter's descriptions of what runs.
fn folder() -> Option<PathBuf> {
    let named = |name| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let own = || match cfg!(target_os = "macos") {
        true => named("HOME").map(|home| home.join("Library/Jupyter")),
        false => named("XDG_DATA_HOME")
            .or_else(|| Some(named("HOME")?.join(".local/share")))
            .map(|data| data.join("jupyter")),
    };
    named("JUPYTER_RUNTIME_DIR")
        .or_else(|| Some(named("JUPYTER_DATA_DIR").or_else(own)?.join("runtime")))
}

/// Returns whether a server still listens: a killed server leaves its file.
fn is_running(server: &Value) -> bool {
    let port = server["port"]
        .as_u64()
        .and_then(|port| port.try_into().ok());
    port.is_some_and(|port: u16| TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok())
}

fn address_in(server: &Value, notebook: &Path) -> Option<String> {
    let path = notebook.strip_prefix(server["root_dir"].as_str()?).ok()?;
    let path = crate::url::encode(path.to_str()?);
    let (url, token) = (server["url"].as_str()?, server["token"].as_str()?);
    Some(format!("{url}lab/tree/{path}?token={token}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_notebook_is_opened_below_the_folder_of_the_server() {
        let server =
            json!({ "url": "http://localhost:8899/", "token": "abc", "root_dir": "/course" });
        let address = |notebook: &str| address_in(&server, Path::new(notebook));
        assert_eq!(
            address("/course/notebooks/01 a.ipynb").as_deref(),
            Some("http://localhost:8899/lab/tree/notebooks/01%20a.ipynb?token=abc")
        );
        assert_eq!(address("/courses/01.ipynb"), None);
    }

    #[test]
    fn a_server_that_has_ended_is_not_found() {
        assert!(!is_running(&json!({ "port": 1 })) && !is_running(&json!({})));
    }
}
