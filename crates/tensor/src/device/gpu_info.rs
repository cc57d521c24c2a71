//! What NVIDIA's driver reports about the GPUs of this machine.

use super::backend;
use crate::error::{Error, Result, problem, refuse};
use std::fmt;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

/// The driver's own tool, looked up on `PATH`.
const NVIDIA_SMI: &str = "nvidia-smi";

/// One NVIDIA GPU as its driver describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuInfo {
    /// The index of this GPU for [`gpu`](crate::device::gpu), from 0; in a build without CUDA, the driver's
    /// index.
    pub index: usize,
    /// The identifier of this GPU, such as `"GPU-8f6c…"`.
    pub uuid: String,
    /// The product's name, such as `"NVIDIA H200"`.
    pub name: String,
    /// The memory that all programs use, in MiB; `None` where the driver does not report it.
    pub memory_used: Option<u64>,
    /// The total memory, in MiB; `None` where the driver does not report it.
    pub memory_total: Option<u64>,
    /// The driver's version.
    pub driver: String,
}

/// Returns the NVIDIA GPUs of this machine, with their memory in MiB.
///
/// This asks the driver, so it works in every build, also in one without GPU support. In a build with CUDA,
/// `gpu_info()?[i]` is what `gpu(i)` opens: CUDA may count cards of several kinds in another order than the
/// driver's tools, and the variable `CUDA_VISIBLE_DEVICES` hides some.
///
/// # Errors
/// If `nvidia-smi`, which comes with the driver, is missing or fails.
///
/// ```
/// use taper::prelude::*;
///
/// match gpu_info() {
///     Ok(gpus) => gpus.iter().enumerate().for_each(|(i, gpu)| assert_eq!(gpu.index, i)),
///     Err(error) => println!("{error}"), // the reason, and what to do
/// }
/// ```
pub fn gpu_info() -> Result<Vec<GpuInfo>> {
    let gpus = query(Path::new(NVIDIA_SMI))?;
    Ok(in_order(gpus, &backend::uuids()))
}

/// Returns the GPUs with these identifiers, in their order; all GPUs if one of them is not known.
fn in_order(gpus: Vec<GpuInfo>, uuids: &[String]) -> Vec<GpuInfo> {
    let of = |(index, uuid): (usize, &String)| {
        let gpu = gpus.iter().find(|gpu| gpu.uuid == *uuid)?.clone();
        Some(GpuInfo { index, ..gpu })
    };
    let ordered: Option<Vec<GpuInfo>> = uuids.iter().enumerate().map(of).collect();
    match ordered {
        Some(ordered) if !ordered.is_empty() => ordered,
        _ => gpus,
    }
}

/// Returns the table that the command `nvidia-smi` prints: driver, memory, load and programs of
/// each GPU.
///
/// # Errors
/// If `nvidia-smi`, which comes with the driver, is missing or fails.
///
/// ```
/// use taper::prelude::*;
///
/// match nvidia_smi() {
///     Ok(table) => assert!(table.to_string().contains("NVIDIA")),
///     Err(error) => println!("{error}"), // the reason, and what to do
/// }
/// ```
pub fn nvidia_smi() -> Result<NvidiaSmi> {
    run(Path::new(NVIDIA_SMI), &[]).map(NvidiaSmi)
}

fn query(program: &Path) -> Result<Vec<GpuInfo>> {
    let text = run(
        program,
        &[
            "--query-gpu=index,uuid,name,memory.used,memory.total,driver_version",
            "--format=csv,noheader,nounits",
        ],
    )?;
    text.lines().map(parse_line).collect()
}

fn parse_line(line: &str) -> Result<GpuInfo> {
    let parts: Vec<&str> = line.split(',').map(str::trim).collect();
    let [index, uuid, name, used, total, driver] = parts[..] else {
        return Err(unreadable(line));
    };
    Ok(GpuInfo {
        index: index.parse().map_err(|_| unreadable(line))?,
        uuid: uuid.to_owned(),
        name: name.to_owned(),
        memory_used: used.parse().ok(),
        memory_total: total.parse().ok(),
        driver: driver.to_owned(),
    })
}

fn unreadable(line: &str) -> Error {
    problem!(parse("nvidia-smi", format_args!("{line:?}"));
        "a line of 6 values, the first an integer", "nvidia_smi()? shows its table unchanged")
}

fn run(program: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .map_err(|error| {
            let why = match error.kind() {
                ErrorKind::NotFound => "there is no command nvidia-smi".to_owned(),
                _ => format!("nvidia-smi cannot be started ({error})"),
            };
            problem!(gpu;
                "no NVIDIA driver found: {why}",
                "On a machine with an NVIDIA GPU, install its driver; otherwise use cpu()")
        })?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    let lines = text.lines().chain(complaint.lines());
    let complaint: Vec<&str> = lines.map(str::trim).filter(|l| !l.is_empty()).collect();
    refuse!(gpu;
        ("nvidia-smi failed: {}", complaint.join(" ")),
        "Restart the machine if the driver was just installed or updated; cpu() works meanwhile")
}

impl fmt::Display for GpuInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |size: Option<u64>| size.map_or("?".to_owned(), |size| size.to_string());
        write!(
            f,
            "GPU {}: {}, {} / {} MiB, driver {}",
            self.index,
            self.name,
            mib(self.memory_used),
            mib(self.memory_total),
            self.driver
        )
    }
}

/// The text that [`nvidia_smi`] returns; it is displayed unchanged.
#[derive(Clone, PartialEq)]
pub struct NvidiaSmi(String);

impl fmt::Display for NvidiaSmi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.trim_end())
    }
}

impl fmt::Debug for NvidiaSmi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_becomes_a_gpu() {
        let gpu = parse_line("1, GPU-8f6c, NVIDIA H200, 512, 143771, 570.86.15").unwrap();
        assert_eq!(
            gpu.to_string(),
            "GPU 1: NVIDIA H200, 512 / 143771 MiB, driver 570.86.15"
        );
        let shared_memory = parse_line("0, GPU-17aa, NVIDIA GB10, [N/A], [N/A], 580.1").unwrap();
        assert_eq!(shared_memory.memory_total, None);
        assert!(parse_line("No devices were found").is_err());
    }

    #[test]
    fn gpus_have_the_order_of_cuda() {
        let lines = ["0, GPU-a, Slow, 1, 2, 3.4", "1, GPU-b, Fast, 1, 2, 3.4"];
        let order = |uuids: &[&str]| {
            let gpus = lines.map(|line| parse_line(line).unwrap()).to_vec();
            let uuids: Vec<String> = uuids.iter().map(|uuid| (*uuid).to_owned()).collect();
            let gpus = in_order(gpus, &uuids);
            let named = gpus.iter().map(|gpu| format!("{} {}", gpu.index, gpu.name));
            named.collect::<Vec<_>>().join(", ")
        };
        assert_eq!(order(&[]), "0 Slow, 1 Fast");
        assert_eq!(order(&["GPU-b", "GPU-a"]), "0 Fast, 1 Slow");
        assert_eq!(order(&["GPU-b"]), "0 Fast");
        assert_eq!(order(&["MIG-c"]), "0 Slow, 1 Fast");
    }

    #[test]
    fn a_missing_program_says_that_there_is_no_driver() {
        let message = query(Path::new("/nowhere/nvidia-smi")).unwrap_err();
        let message = message.to_string();
        let expected = "no NVIDIA driver found: there is no command nvidia-smi\n";
        assert!(message.starts_with(expected), "{message}");
        assert_eq!(message.lines().count(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn output_is_returned_and_a_failure_is_reported() {
        let folder = std::env::temp_dir().join(format!("taper-smi-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let working = script(&folder, "works", "echo '0, GPU-0, Toy, 1, 2, 3.4'");
        let broken = script(&folder, "fails", "echo 'no devices' >&2; exit 6");

        assert_eq!(query(&working).unwrap()[0].name, "Toy");
        let message = query(&broken).unwrap_err().to_string();
        assert!(message.starts_with("nvidia-smi failed: no devices\n"));

        let table = NvidiaSmi(run(&working, &[]).unwrap());
        assert_eq!(format!("{table:?}"), "0, GPU-0, Toy, 1, 2, 3.4");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[cfg(unix)]
    fn script(folder: &Path, name: &str, body: &str) -> std::path::PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = folder.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }
}
