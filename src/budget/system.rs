//! The memory that the system lets this process use. Known on Linux only.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// The bytes of memory of this machine, or of the tightest control group around the process.
pub(super) fn confined_memory() -> Option<u64> {
    let machine = kibibytes(&read_to_string("/proc/meminfo").ok()?, "MemTotal:")?;
    let groups = read_to_string("/proc/self/cgroup").unwrap_or_default();
    Some(group_limits(Path::new("/sys/fs/cgroup"), &groups).fold(machine, u64::min))
}

/// The bytes that the limits of the process on its address space and on its data leave; `None` where there are none.
pub(super) fn allowed_memory() -> Option<u64> {
    let limits = read_to_string("/proc/self/limits").ok()?;
    let status = read_to_string("/proc/self/status").unwrap_or_default();
    let left = |limit: &str, held: &str| {
        let limit = soft_limit(&limits, limit)?;
        Some(limit.saturating_sub(kibibytes(&status, held).unwrap_or(0)))
    };
    let left = [left("Max address space", "VmSize:"), left("Max data size", "VmData:")];
    left.into_iter().flatten().min()
}

/// The figure of a line such as `MemTotal:   24099372 kB`, in bytes.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let figure = text.lines().find_map(|line| line.strip_prefix(name))?;
    figure.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The soft limit of a line of `/proc/self/limits`; `None` if it is `unlimited`.
fn soft_limit(limits: &str, name: &str) -> Option<u64> {
    let figures = limits.lines().find_map(|line| line.strip_prefix(name))?;
    figures.split_whitespace().next()?.parse().ok()
}

/// The limits of the groups that a process is in and of all groups around them, of both versions of control groups.
/// Inside a container its own group may be what is mounted at `root`.
fn group_limits<'r>(root: &'r Path, groups: &'r str) -> impl Iterator<Item = u64> + 'r {
    let of_line = move |line: &str| -> Option<(PathBuf, PathBuf, &'static str)> {
        let mut fields = line.splitn(3, ':');
        let (id, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let path = PathBuf::from(path.trim_start_matches('/'));
        match controllers.split(',').any(|controller| controller == "memory") {
            true => Some((root.join("memory"), path, "memory.limit_in_bytes")),
            false => (id == "0").then(|| (root.to_path_buf(), path, "memory.max")),
        }
    };
    groups.lines().filter_map(of_line).flat_map(|(root, path, file)| {
        let around: Vec<PathBuf> = path.ancestors().map(|path| root.join(path).join(file)).collect();
        around.into_iter().filter_map(|file| read_to_string(file).ok()?.trim().parse().ok())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read() {
        assert_eq!(kibibytes("MemFree: 1 kB\nMemTotal:       24 kB\n", "MemTotal:"), Some(24 << 10));
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
                      Max data size             unlimited            unlimited            bytes\n\
                      Max address space         2147483648           unlimited            bytes\n";
        assert_eq!(soft_limit(limits, "Max address space"), Some(1 << 31));
        assert_eq!(soft_limit(limits, "Max data size"), None);
    }

    #[test]
    fn the_tightest_group_counts() {
        let root = std::env::temp_dir().join(format!("lattree-groups-{}", std::process::id()));
        let inner = root.join("a/b");
        std::fs::create_dir_all(&inner).expect("a folder");
        std::fs::create_dir_all(root.join("memory/c")).expect("a folder");
        let write = |path: &str, text: &str| std::fs::write(root.join(path), text).expect("a file");
        write("a/memory.max", "1000\n");
        write("a/b/memory.max", "max\n");
        write("memory/c/memory.limit_in_bytes", "700");
        let found: Vec<u64> = group_limits(&root, "0::/a/b\n4:cpu,memory:/c\n3:pids:/d\n").collect();
        std::fs::remove_dir_all(&root).expect("the folder");
        assert_eq!(found, [1000, 700]);
    }

    #[test]
    fn this_machine_has_memory() {
        if cfg!(target_os = "linux") {
            assert!(confined_memory().is_some_and(|bytes| bytes > 1 << 20));
        }
    }
}
