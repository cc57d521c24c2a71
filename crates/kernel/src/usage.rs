//! The processor time and the memory that a kernel uses: the reply to `usage_request`, with the fields of ipykernel, as
//! jupyter-resource-usage shows them. They are read from `/proc`, so only Linux has them.

use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs;
use std::time::Instant;

/// The processor time at the last request, from which the next reply computes a share.
#[derive(Debug, Default)]
pub(super) struct Usage {
    last: Option<Sample>,
}

#[derive(Debug)]
struct Sample {
    at: Instant,
    /// Of this process and those that it has started, in ticks.
    kernel: u64,
    /// Of the machine: all time, and the time without work.
    host: (u64, u64),
}

impl Usage {
    /// Returns the content of the reply; `None` on a system without `/proc`.
    pub(super) fn content(&mut self) -> Option<Value> {
        let processes = of_kernel(&all_processes()?);
        let sample = Sample {
            at: Instant::now(),
            kernel: processes.iter().map(|process| process.ticks).sum(),
            host: host_ticks(&fs::read_to_string("/proc/stat").ok()?)?,
        };
        let memory: u64 = { processes.iter() }
            .map(|process| memory_of(process.pid))
            .sum();
        let mut content = json!({
            "hostname": fs::read_to_string("/proc/sys/kernel/hostname").ok()?.trim(),
            "pid": std::process::id(),
            "kernel_cpu": 0.0,
            "kernel_memory": memory,
            "cpu_count": std::thread::available_parallelism().map_or(1, usize::from),
            "host_virtual_memory": host_memory(&fs::read_to_string("/proc/meminfo").ok()?),
        });
        if let Some(last) = &self.last {
            let seconds = (sample.at - last.at).as_secs_f64().max(1e-3);
            let ticks = sample.kernel.saturating_sub(last.kernel) as f64;
            content["kernel_cpu"] = json!(100.0 * ticks / TICKS / seconds);
            let all = sample.host.0.saturating_sub(last.host.0).max(1) as f64;
            let unused = sample.host.1.saturating_sub(last.host.1) as f64;
            content["host_cpu_percent"] = json!(100.0 * (1.0 - unused / all));
        }
        self.last = Some(sample);
        Some(content)
    }
}

/// Ticks per second in `/proc`; Linux has the same number on all machines that Rust's library runs on.
const TICKS: f64 = 100.0;

#[derive(Clone, Debug, PartialEq)]
struct Process {
    pid: u32,
    parent: u32,
    ticks: u64,
}

fn all_processes() -> Option<Vec<Process>> {
    let entries = fs::read_dir("/proc").ok()?.flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let stats = pids.filter_map(|pid| fs::read_to_string(format!("/proc/{pid}/stat")).ok());
    Some(stats.filter_map(|stat| process(&stat)).collect())
}

/// Reads a line of `/proc/PID/stat`. The name of the program is in parentheses, and may contain any letter.
fn process(stat: &str) -> Option<Process> {
    let (before, after) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = after.split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Process {
        pid: before.split_whitespace().next()?.parse().ok()?,
        parent: fields.get(1)?.parse().ok()?,
        ticks: number(11)? + number(12)?,
    })
}

/// Returns this process and those that it has started, directly or not.
fn of_kernel(all: &[Process]) -> Vec<Process> {
    let mut of_parent: HashMap<u32, Vec<&Process>> = HashMap::new();
    for process in all {
        of_parent.entry(process.parent).or_default().push(process);
    }
    let own = std::process::id();
    let mut found: Vec<Process> = { all.iter() }.filter(|it| it.pid == own).cloned().collect();
    let mut at = 0;
    while let Some(process) = found.get(at) {
        let children = of_parent.remove(&process.pid).unwrap_or_default();
        found.extend(children.into_iter().cloned());
        at += 1;
    }
    found
}

/// Returns the bytes of a process; memory that processes share counts in parts.
fn memory_of(pid: u32) -> u64 {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    kilobytes(&rollup, "Pss:").unwrap_or(0)
}

/// Returns the bytes in a line such as `Pss:     120 kB`.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let number = line.trim().strip_suffix("kB")?.trim();
    Some(number.parse::<u64>().ok()? * 1024)
}

fn host_ticks(stat: &str) -> Option<(u64, u64)> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = { line.split_whitespace() }
        .filter_map(|it| it.parse().ok())
        .collect();
    // User, nice, system, idle, waiting for disks, and so on.
    Some((ticks.iter().sum(), ticks.get(3)? + ticks.get(4)?))
}

fn host_memory(meminfo: &str) -> Value {
    let bytes = |name: &str| kilobytes(meminfo, name).unwrap_or(0);
    let (total, available) = (bytes("MemTotal:"), bytes("MemAvailable:"));
    json!({
        "total": total,
        "available": available,
        "used": total.saturating_sub(available),
        "free": bytes("MemFree:"),
        "percent": 100.0 * total.saturating_sub(available) as f64 / total.max(1) as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_is_read() {
        let stat = "42 (a) b (c) R 7 0 0 0 0 0 0 0 0 0 30 12 0 0 20 0";
        let expected = Process {
            pid: 42,
            parent: 7,
            ticks: 42,
        };
        assert_eq!(process(stat), Some(expected));
    }

    #[test]
    fn what_is_unread_counts_as_nothing() {
        assert_eq!(host_ticks("cpu  1 2 3 40 5 6\ncpu0 1"), Some((57, 45)));
        assert_eq!(kilobytes("Rss: 8 kB\nPss:   12 kB\n", "Pss:"), Some(12288));
        let memory = host_memory("MemTotal: 100 kB\nMemFree: 10 kB\nMemAvailable: 25 kB\n");
        assert_eq!(
            (&memory["used"], &memory["percent"]),
            (&json!(76800), &json!(75.0))
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_second_reply_has_shares() {
        let mut usage = Usage::default();
        let first = usage.content().expect("a reply");
        assert!(
            first["kernel_memory"]
                .as_u64()
                .is_some_and(|bytes| bytes > 1 << 20),
            "{first}"
        );
        assert!(first.get("host_cpu_percent").is_none(), "{first}");
        let second = usage.content().expect("a reply");
        let share = second["host_cpu_percent"].as_f64().expect("a share");
        assert!((0.0..=100.0).contains(&share), "{second}");
    }
}
