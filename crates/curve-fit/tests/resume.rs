//! A fit that is stopped inside any pass goes on to the same bits.
#![allow(clippy::unwrap_used)]

mod shared;

use fitzroy_curve_fit::method::Next;
use fitzroy_curve_fit::pass::{Belongs, Columns, Journal, Kept, Table};
use fitzroy_curve_fit::{Estimate, Progressive};
use shared::{bits, decay, table};
use std::sync::{Arc, Mutex};

const BELONGS: Belongs = Belongs {
    model: 1,
    options: 2,
    data: 3,
};

fn fit(table: &dyn Table, threads: usize) -> fitzroy::Result<Estimate> {
    shared::fit(table, threads, Progressive::Auto)
}

/// Fits until the journal was looked at `looks` times; what the journal held then, or the result.
fn stopped_after(
    rows: &Columns<'_>,
    saved: Option<&[u8]>,
    looks: usize,
    threads: usize,
) -> Result<Estimate, Vec<u8>> {
    let bytes = Arc::new(Mutex::new(Vec::new()));
    let (to, mut left) = (Arc::clone(&bytes), looks);
    let mut journal = Journal::new(Box::new(move |journal, _| {
        *to.lock().unwrap() = journal.to_bytes(&BELONGS);
        left -= 1;
        Ok(if left == 0 {
            Next::Interrupt
        } else {
            Next::Continue
        })
    }))
    .every(16);
    if let Some(saved) = saved {
        journal.take_over(saved, &BELONGS).unwrap();
    }
    let kept = Kept::new(rows, journal);
    match fit(&kept, threads) {
        Ok(found) => Ok(found),
        Err(error) => {
            assert!(kept.stopped() && error.to_string().contains("stopped in pass"));
            let bytes = bytes.lock().unwrap().clone();
            Err(bytes)
        }
    }
}

#[test]
fn a_fit_stopped_again_and_again_ends_at_the_same_bits() {
    let rows = table(decay(140_001));
    let want = fit(&rows, 1).unwrap();
    for looks in [1, 2, 5] {
        let (mut saved, mut stops) = (None, 0);
        let found = loop {
            // Each part runs with another number of threads.
            match stopped_after(&rows, saved.as_deref(), looks, 1 + stops % 3) {
                Ok(found) => break found,
                Err(bytes) => (saved, stops) = (Some(bytes), stops + 1),
            }
        };
        assert!(stops >= 3, "{stops} stops");
        assert_eq!(bits(&found), bits(&want), "{looks} looks a part");
        assert_eq!(found.full_reads, want.full_reads);
    }
}

#[test]
fn a_checkpoint_of_other_work_is_refused_by_name() {
    let rows = table(decay(70_000));
    let saved = stopped_after(&rows, None, 2, 1).unwrap_err();
    let refused = |bytes: &[u8], belongs: Belongs| {
        let mut journal = Journal::new(Box::new(|_, _| Ok(Next::Continue)));
        journal.take_over(bytes, &belongs).unwrap_err().to_string()
    };
    let other = |k: usize| Belongs {
        model: 1 + u64::from(k == 0),
        options: 2 + u64::from(k == 1),
        data: 3 + u64::from(k == 2),
    };
    for (k, what) in ["the model", "the options", "the data"].iter().enumerate() {
        let message = refused(&saved, other(k));
        assert!(message.contains(&format!("{what} changed")), "{message}");
    }
    let mut spoilt = saved.clone();
    spoilt[100] ^= 1;
    for bytes in [
        &spoilt[..],
        &saved[..saved.len() - 8],
        b"",
        b"something else",
    ] {
        assert!(refused(bytes, BELONGS).contains("damaged"));
    }
}
