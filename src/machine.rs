//! The memory of the machine, or of the control group that the process is in.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use memmap2::MmapMut;

/// Bytes of address space that a new thread takes: its stack, and what the C library takes for it.
/// glibc aborts the process where it cannot have a few bytes as a thread begins.
const THREAD_BYTES: usize = 3 << 20;

/// Bytes of memory in all; `None` where the system does not tell.
pub fn total_bytes() -> Option<u64> {
    available(Path::new("/"), "MemTotal:")
}

/// Bytes that a process can get now without pushing out others; `None` where the system does not
/// tell.
pub fn free_bytes() -> Option<u64> {
    available(Path::new("/"), "MemAvailable:")
}

/// Whether a further thread finds the memory that it begins with.
///
/// # Errors
///
/// It does not.
pub fn room_for_thread() -> io::Result<()> {
    // Nothing is written there, so that it takes no memory, and it goes at once.
    MmapMut::map_anon(THREAD_BYTES).map(drop)
}

/// The least of this line of what the machine has and of what each control group around the process
/// is allowed, as the files under `root` say.
fn available(root: &Path, of_machine: &str) -> Option<u64> {
    let read = |path: &Path| fs::read_to_string(root.join(path)).ok();
    let machine = read(Path::new("proc/meminfo")).and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix(of_machine))?;
        line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
    });
    let groups = read(Path::new("proc/self/cgroup")).unwrap_or_default();
    let limits = groups.lines().flat_map(|line| limit_files(line).into_iter());
    // `max`, or in version 1 a number that no machine has, stands for none.
    let limits = limits.filter_map(|file| read(&file)?.trim().parse::<u64>().ok());
    machine.into_iter().chain(limits).min()
}

/// The files that may limit the memory of a process with this line in `/proc/self/cgroup`: those of
/// the group and of all groups around it.
fn limit_files(line: &str) -> Vec<PathBuf> {
    let mut fields = line.splitn(3, ':');
    let (Some(_), Some(controllers), Some(group)) = (fields.next(), fields.next(), fields.next())
    else {
        return Vec::new();
    };
    let (mounts, name): (&[&str], _) = match controllers {
        "" => (&["sys/fs/cgroup", "sys/fs/cgroup/unified"], "memory.max"),
        _ if controllers.split(',').any(|controller| controller == "memory") => {
            (&["sys/fs/cgroup/memory"], "memory.limit_in_bytes")
        }
        _ => return Vec::new(),
    };
    let group = Path::new(group.trim_start_matches('/'));
    let around = group.ancestors();
    around
        .flat_map(|group| mounts.iter().map(move |mount| Path::new(mount).join(group).join(name)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    const MEMINFO: (&str, &str) =
        ("proc/meminfo", "MemTotal:       1000 kB\nMemFree: 1 kB\nMemAvailable: 600 kB\n");

    fn available(root: &Path) -> Option<u64> {
        super::available(root, "MemTotal:")
    }

    #[test]
    fn without_a_control_group_the_machine_counts() {
        assert_eq!(available(root(&[MEMINFO]).path()), Some(1_024_000));
        assert_eq!(available(root(&[]).path()), None);
        let free = super::available(root(&[MEMINFO]).path(), "MemAvailable:");
        assert_eq!(free, Some(614_400));
    }

    #[test]
    fn a_group_of_version_2_or_one_around_it_limits() {
        let files = [
            MEMINFO,
            ("proc/self/cgroup", "0::/a/b\n"),
            ("sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("sys/fs/cgroup/a/memory.max", "300000\n"),
        ];
        assert_eq!(available(root(&files).path()), Some(300_000));
    }

    #[test]
    fn a_group_of_version_1_limits() {
        let files = [
            MEMINFO,
            ("proc/self/cgroup", "4:cpu:/x\n3:hugetlb,memory:/c\n0::/\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/c/memory.limit_in_bytes", "200000\n"),
        ];
        assert_eq!(available(root(&files).path()), Some(200_000));
    }
}
