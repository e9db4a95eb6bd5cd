//! NVIDIA GPUs. This version only looks whether a driver is there; it runs nothing on a GPU.

use std::path::{Path, PathBuf};

/// What was found of the CUDA driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Driver {
    /// Its library lies in none of the usual places.
    Missing {
        /// How many places were looked at.
        n_places: usize,
    },
    /// Its library, which this version does not use yet.
    Unused {
        /// Where it lies.
        library: PathBuf,
    },
}

/// Folders in which distributions, containers and WSL 2 put the driver's library.
const FOLDERS: &[&str] = &[
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/lib64/nvidia",
    "/usr/lib/nvidia",
    "/usr/local/nvidia/lib64",
    "/usr/local/cuda/compat",
    "/usr/lib/wsl/lib",
    "/run/opengl-driver/lib",
];

impl Driver {
    /// Looks for the driver's library without opening it.
    pub fn probe() -> Self {
        Self::probe_in(FOLDERS.iter().map(Path::new))
    }

    fn probe_in<'a>(folders: impl Iterator<Item = &'a Path>) -> Self {
        let mut n_places = 0;
        for folder in folders {
            n_places += 1;
            let library = folder.join("libcuda.so.1");
            if library.exists() {
                return Driver::Unused { library };
            }
        }
        Driver::Missing { n_places }
    }

    /// What was found, and what to do about it.
    pub fn advice(&self) -> String {
        match self {
            Driver::Missing { n_places } => format!(
                "no CUDA driver was found (no libcuda.so.1 in {n_places} usual folders); on a \
                 machine with an NVIDIA GPU install its driver, in a container start it with \
                 --gpus all; this version of Fitzroy computes on the CPU alone"
            ),
            Driver::Unused { library } => format!(
                "a CUDA driver lies at {}, but this version of Fitzroy computes on the CPU alone; \
                 use --device cpu or auto",
                library.display()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_driver_is_said_with_advice() {
        let driver = Driver::probe_in([Path::new("/nowhere/at/all")].into_iter());
        assert_eq!(driver, Driver::Missing { n_places: 1 });
        assert!(driver.advice().contains("no CUDA driver was found"));
        assert!(driver.advice().contains("--gpus all"));
    }

    #[test]
    fn a_driver_is_found_where_its_library_lies() {
        let folder = std::env::temp_dir().join(format!("fitzroy-driver-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("libcuda.so.1"), b"").unwrap();
        let driver = Driver::probe_in([folder.as_path()].into_iter());
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(matches!(driver, Driver::Unused { .. }), "{driver:?}");
        assert!(driver.advice().contains("libcuda.so.1"));
    }
}
