//! Archives read twice: into memory, and into a file as if memory held a few records at most.

use fitzroy::Result;
use fitzroy_weather::data::{Archive, Chosen, Contents, Room};
use std::path::PathBuf;

/// Reads an archive both ways, which must give the same bits or the same error.
pub(crate) fn read(paths: &[PathBuf], chosen: &Chosen) -> Result<(Archive, Contents)> {
    let held = Archive::read_with_contents(paths, chosen, &Room::in_memory());
    let few = Room {
        memory_bytes: Some(1000),
        folder: Some(std::env::temp_dir()),
    };
    let mapped = Archive::read_with_contents(paths, chosen, &few);
    match (&held, &mapped) {
        (Ok((held, told)), Ok((mapped, told_too))) => {
            assert!(!held.values.in_file());
            let bits = |a: &Archive| a.values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(held), bits(mapped));
            assert_eq!(held.times, mapped.times);
            assert_eq!((&held.absent, &held.mask), (&mapped.absent, &mapped.mask));
            assert_eq!(told.lines(), told_too.lines());
        }
        (Err(held), Err(mapped)) => assert_eq!(held.to_string(), mapped.to_string()),
        _ => panic!(
            "one is read and the other refused: {:?}",
            (held.is_ok(), mapped.is_ok())
        ),
    }
    held
}
