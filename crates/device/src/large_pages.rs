//! Arrays that are filled once, from front to back.

/// `n` zeros, in large pages where the system has them to give.
///
/// Memory is given to a program page by page when it is first touched, 4 KiB at a time by habit:
/// an array of 30 MB then waits for the system 8,000 times, and as often again when it is given
/// back. For one megabyte and less nothing is asked.
pub fn zeros(n: usize) -> Vec<f64> {
    let values = vec![0.0; n];
    #[cfg(target_os = "linux")]
    advise(&values);
    values
}

/// Asks for large pages below `values`, of which nothing has been touched yet.
#[cfg(target_os = "linux")]
fn advise(values: &[f64]) {
    const PAGE: usize = 4096;
    const WORTH_ASKING: usize = 1 << 20;
    let range = values.as_ptr_range();
    let (start, end) = (range.start as usize, range.end as usize);
    let (start, end) = (start.next_multiple_of(PAGE), end / PAGE * PAGE);
    if end.saturating_sub(start) > WORTH_ASKING {
        // SAFETY: whole pages inside an allocation of ours; the advice changes how they are backed
        // and never what they hold. Where it is refused, they are backed as always.
        unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn zeros_of_all_sizes_can_be_filled() {
        for n in [0, 1, 1000, 131_073, 3_000_001] {
            let mut values = super::zeros(n);
            assert_eq!(values.len(), n);
            assert!(values.iter().all(|&x| x == 0.0));
            values.iter_mut().for_each(|x| *x = 1.0);
            assert!(values.iter().all(|&x| x == 1.0));
        }
    }
}
