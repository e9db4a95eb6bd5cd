//! Parts of a page that are made side by side.

use crate::page::Page;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Adds sections, and what belongs to them, to a page.
pub(super) type Part<'a> = dyn Fn(&mut Page) + Sync + 'a;

/// Adds the parts to `page` in their order; they are made on up to `threads` threads.
pub(super) fn side_by_side(page: &mut Page, parts: &[&Part<'_>], threads: usize) {
    let next = AtomicUsize::new(0);
    let serve = || {
        let mut made = Vec::new();
        loop {
            let k = next.fetch_add(1, Ordering::Relaxed);
            let Some(part) = parts.get(k) else {
                return made;
            };
            let mut own = Page::default();
            part(&mut own);
            made.push((k, own));
        }
    };
    let helpers = threads.clamp(1, parts.len().max(1)) - 1;
    let mut made = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..helpers).map(|_| scope.spawn(serve)).collect();
        let mut made = serve();
        for handle in handles {
            made.extend(handle.join().expect("a panic of a part is a fault of ours"));
        }
        made
    });
    made.sort_by_key(|(k, _)| *k);
    for (_, own) in made {
        page.sections.extend(own.sections);
        page.live.series.extend(own.live.series);
        page.downloads.extend(own.downloads);
    }
}
