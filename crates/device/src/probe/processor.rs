//! How long processors have worked for this process.

/// Seconds of all processors that this process has used, of all its threads together; `None` where
/// the system does not tell.
#[cfg(unix)]
pub fn processor_seconds() -> Option<f64> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the system writes to `time`, which lives here, and nowhere else.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    (failed == 0).then_some(time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64)
}

/// As on other systems.
#[cfg(not(unix))]
pub fn processor_seconds() -> Option<f64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn work_takes_processor_time() {
        let before = processor_seconds().unwrap();
        let mut x = 1.0_f64;
        while processor_seconds().unwrap() < before + 0.002 {
            x = std::hint::black_box(x.sqrt() + 1.0);
        }
        assert!(x > 0.0);
    }
}
