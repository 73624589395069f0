//! Sizes of memory, and how much of it there is.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A number of bytes, as `1073741824`, `1GiB`, `1G` or `1.5g`; units are powers of 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let shift = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 0,
            "k" | "kb" | "kib" => 10,
            "m" | "mb" | "mib" => 20,
            "g" | "gb" | "gib" => 30,
            "t" | "tb" | "tib" => 40,
            _ => return Err("a size is a number and perhaps KiB, MiB, GiB or TiB".to_string()),
        };
        let number: f64 = number.parse().map_err(|_| format!("{number:?} is no number"))?;
        let bytes = number * f64::from(1u32 << (shift % 20)) * 2f64.powi(shift / 20 * 20);
        if bytes < u64::MAX as f64 {
            Ok(Self(bytes as u64))
        } else {
            Err("there is no such memory".to_string())
        }
    }
}

/// The least that a pack can be held to.
pub const LEAST: u64 = 16 << 20;
/// What is taken to be there where the system does not tell.
const UNKNOWN: u64 = 4 << 30;

/// A quarter of the memory of the machine, or of the control group that the process is in.
pub fn default_limit() -> u64 {
    (available(Path::new("/"), "MemTotal:").unwrap_or(UNKNOWN) / 4).max(LEAST)
}

/// The memory that a process can get now without pushing out others, as far as that is known.
pub fn free() -> Option<u64> {
    available(Path::new("/"), "MemAvailable:")
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
    fn sizes_are_numbers_with_units_of_1024() {
        for (text, bytes) in [
            ("0", 0),
            ("123", 123),
            ("1K", 1024),
            ("64MiB", 64 << 20),
            ("1.5g", 3 << 29),
            ("4 GiB", 4 << 30),
            ("2t", 2 << 40),
        ] {
            assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
        }
        for text in ["", "x", "1Q", "-1", "1..2", "99999999T"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
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
