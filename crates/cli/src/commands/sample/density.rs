//! `fitzroy sample --density LIB`.

use super::{SampleArgs, drawn, show};
use crate::args::Machine;
use crate::commands::{chains, inputs};
use crate::exit::Outcome;
use fitzroy::run::Settings;
use fitzroy::{Error, Result};
use fitzroy_session::clock::Clock;
use fitzroy_session::density;
use std::path::Path;

/// Opens the library, samples, prints, saves.
pub(super) fn run(
    args: &SampleArgs,
    settings: Settings,
    machine: Machine,
    clock: Clock,
) -> Result<Outcome> {
    let (flags, common) = (&args.chains, &args.common);
    let library = args.density.as_deref().expect("one of both is required");
    let data = match &args.data[..] {
        [] => None,
        [one] => Some(Path::new(one)),
        more => {
            return Err(Error::usage(format!(
                "--density takes one file as --data, the JSON of its program; {} are given",
                more.len()
            )));
        }
    };
    let face = flags.face(common);
    let threads = settings.sampler.threads.min(settings.sampler.chains);
    let foreign = density::open(library, data, common.seed, threads, &*face)
        .map_err(|error| error.context("--density"))?;
    let mut session = density::sample(foreign)
        .name(inputs::name(library))
        .settings(settings)
        .threads_after(machine.threads)
        .request(common.request()?)
        .destination(flags.destination(&args.output))
        .publish_every(flags.publish_every)
        .face(face)
        .clock(clock)
        .bind()?;
    if flags.dry_run {
        let shown = library.display().to_string();
        return chains::dry_run(&shown, &session.subject, &session.settings, common);
    }
    if !session.open()? {
        return Ok(Outcome::Done);
    }
    if !common.quiet {
        show::header_of(library, "a foreign density", &session);
    }
    drawn(args, session, clock)
}
