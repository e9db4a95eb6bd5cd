//! `fitzroy bench sample` and `fitzroy bench hierarchical`: effective draws a second of whole
//! processes, with the rewrites and without them.

mod devices;
mod page;
mod problems;
mod runs;
mod show;

use crate::args::Common;
use crate::commands::{files, plot};
use crate::exit::Outcome;
use crate::named::named;
use crate::{json, terminal};
use clap::{Args, ValueEnum};
use devices::Devices;
use fitzroy::fit::sample::Sampler;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::choice::Choice;
use fitzroy_session::device::{best, open, open_several};
use problems::Problem;
use runs::{Bench, Rewrites};
use std::path::PathBuf;

/// Flags that both share.
#[derive(Args)]
struct Measuring {
    /// Runs of each, with seeds that follow each other [default: by preset]
    #[arg(long, value_name = "N")]
    repeats: Option<usize>,
    /// Rewrites of the models
    #[arg(long, value_enum, value_name = "MODE", default_value = "both")]
    rewrites: Rewrites,
    /// Samplers, comma-separated: nuts, walnuts, mams, chees, independence
    #[arg(
        long,
        value_parser = named::<Sampler>(),
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "nuts"
    )]
    samplers: Vec<Sampler>,
    /// Writes models and data as NAME.fz and NAME.json for other programs, and measures nothing
    #[arg(long, value_name = "DIR")]
    write_data: Option<PathBuf>,
    /// Writes the table as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Draws effective draws a second, as .png, .svg or .pdf
    #[arg(long, value_name = "FILE")]
    figure: Option<PathBuf>,
    /// Writes everything as one page, an .html file
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
}

/// Flags of `fitzroy bench sample`.
///
/// With `--device all` the CPU and a GPU are compared, with `--device cuda` a GPU is measured alone, see
/// [`devices`].
#[derive(Args)]
pub(crate) struct SampleBench {
    /// Warm-up and draws of each chain, and chains
    #[arg(long, value_enum, value_name = "PRESET", default_value = "standard")]
    preset: Counts,
    /// Numbers of chains that --device all and --device cuda measure, of 4, 64 and 1024; runs of 1024
    /// chains make at most 200 warm-up transitions and 100 draws each
    #[arg(
        long,
        value_name = "CHAINS",
        value_delimiter = ',',
        default_value = "4,64,1024"
    )]
    strategies: Vec<usize>,
    #[command(flatten)]
    measuring: Measuring,
}

/// Presets of `bench sample`.
#[derive(Clone, Copy, ValueEnum)]
enum Counts {
    /// 200 and 200, 2 chains, 3 runs
    Quick,
    /// 500 and 500, 4 chains, 5 runs
    Standard,
    /// 1,000 and 1,000, 4 chains, 11 runs
    Publication,
}

/// Flags of `fitzroy bench hierarchical`.
#[derive(Args)]
pub(crate) struct HierarchicalBench {
    /// How many problems and runs
    #[arg(long, value_enum, value_name = "PRESET", default_value = "standard")]
    preset: Extent,
    /// Problems by name, comma-separated: groups-100, groups-500, groups-1000, groups-5000,
    /// eight-schools, logistic, funnel
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    only: Vec<String>,
    #[command(flatten)]
    measuring: Measuring,
}

/// Presets of `bench hierarchical`.
#[derive(Clone, Copy, ValueEnum)]
enum Extent {
    /// 100 groups and eight schools, 3 runs
    Quick,
    /// All but 5,000 groups, 5 runs
    Standard,
    /// All, 11 runs
    Publication,
}

const ALL: [&str; 7] = [
    "groups-100",
    "groups-500",
    "groups-1000",
    "eight-schools",
    "logistic",
    "groups-5000",
    "funnel",
];

/// `bench sample`.
pub(crate) fn sample(args: &SampleBench) -> Result<Outcome> {
    let (counts, repeats) = match args.preset {
        Counts::Quick => ([200, 200, 2], 3),
        Counts::Standard => ([500, 500, 4], 5),
        Counts::Publication => ([1_000, 1_000, 4], 11),
    };
    let problem = problems::artists(counts, args.measuring.common.seed);
    let (measuring, chains) = (&args.measuring, &args.strategies);
    let common = &measuring.common;
    let (places, precision) = (common.places(), common.asked_precision());
    if common.wants_all_devices() {
        // Without a GPU the first is the one that is missing.
        let number = best(&places, precision).map_or(0, |found| found.0.description.index);
        let devices = Devices {
            gpus: vec![number],
            with_cpu: true,
        };
        return measuring.devices(&problem, repeats, chains, &devices);
    }
    let alone = |gpus: Vec<usize>| {
        let devices = Devices {
            gpus,
            with_cpu: false,
        };
        measuring.devices(&problem, repeats, chains, &devices)
    };
    match common.request()?.asked()? {
        Choice::Gpu(Some(number)) => alone(vec![number]),
        // Runs are processes of their own: GPUs are given back before they begin.
        Choice::Gpu(None) => {
            let number = open(&places, None, precision)?.0.description.index;
            alone(vec![number])
        }
        Choice::Gpus(several) => {
            let gpus = open_several(&places, several)?.0;
            let numbers = gpus.iter().map(|gpu| gpu.description.index).collect();
            drop(gpus);
            alone(numbers)
        }
        _ => measuring.run("sample", vec![problem], repeats),
    }
}

/// `bench hierarchical`.
pub(crate) fn hierarchical(args: &HierarchicalBench) -> Result<Outcome> {
    let (names, repeats): (&[&str], usize) = match args.preset {
        Extent::Quick => (&["groups-100", "eight-schools"], 3),
        Extent::Standard => (&ALL[..5], 5),
        Extent::Publication => (&ALL[..6], 11),
    };
    let names: Vec<&str> = match args.only.is_empty() {
        true => names.to_vec(),
        false => args.only.iter().map(String::as_str).collect(),
    };
    let problem = |name: &str| -> Result<Problem> {
        let seed = args.measuring.common.seed;
        Ok(match name {
            "groups-100" => problems::groups(100, seed),
            "groups-500" => problems::groups(500, seed),
            "groups-1000" => problems::groups(1_000, seed),
            "groups-5000" => problems::groups(5_000, seed),
            "eight-schools" => problems::eight_schools(),
            "logistic" => problems::logistic(seed),
            "funnel" => problems::funnel(),
            _ => {
                let message = format!(
                    "--only: there is no problem `{name}`, only {}",
                    ALL.join(", ")
                );
                return Err(Error::new(ErrorKind::Usage, message));
            }
        })
    };
    let problems: Result<Vec<Problem>> = names.into_iter().map(problem).collect();
    args.measuring.run("hierarchical", problems?, repeats)
}

impl Measuring {
    /// Measures one problem on every device, or on a GPU alone, with several strategies for chains.
    fn devices(
        &self,
        problem: &Problem,
        repeats: usize,
        chains: &[usize],
        devices: &Devices,
    ) -> Result<Outcome> {
        let threads = self.common.threads()?.threads;
        if let Some(path) = &self.figure {
            plot::check_figure(path, "--figure")?;
        }
        let repeats = self.repeats.unwrap_or(repeats);
        let bench = Bench::new(&self.common, threads, repeats.max(1))?;
        let tell = |text: &str| match self.common.json {
            true => terminal::note(text),
            false => terminal::out(text),
        };
        let places = self.common.places();
        let measured = devices::measure(&bench, problem, &places, (devices, chains), &tell);
        let rows = match measured {
            Err(error) if error.kind() == ErrorKind::Numerics => {
                terminal::note(format_args!("error: {error}"));
                return Ok(Outcome::NotPassed);
            }
            rows => rows?,
        };
        if let Some(path) = &self.csv {
            files::write(path, devices::csv(&rows).as_bytes())?;
        }
        if let Some(path) = &self.figure {
            devices::figure(path, &rows)?;
        }
        let document = bench.document("sample-devices", &rows);
        if let Some(path) = &self.report {
            files::write(path, devices::page(&document, &rows).as_bytes())?;
        }
        if self.common.json {
            json::print(&document);
        }
        Ok(Outcome::Done)
    }

    /// Measures every problem, asserts its answers, prints.
    fn run(&self, name: &str, problems: Vec<Problem>, repeats: usize) -> Result<Outcome> {
        let machine = self.common.machine()?;
        let repeats = self.repeats.unwrap_or(repeats);
        if repeats == 0 {
            return Err(Error::new(
                ErrorKind::Usage,
                "--repeats is 0; use at least 1",
            ));
        }
        if let Some(path) = &self.figure {
            plot::check_figure(path, "--figure")?;
        }
        if let Some(folder) = &self.write_data {
            return runs::write_problems(folder, &problems).map(|()| Outcome::Done);
        }
        let bench = Bench::new(&self.common, machine.threads, repeats)?;
        let mut rows = Vec::new();
        for problem in &problems {
            let ways = self.rewrites.each().into_iter();
            for (how, sampler) in ways.flat_map(|how| self.samplers.iter().map(move |s| (how, s))) {
                let row = match bench.measure(problem, how, sampler.name()) {
                    Err(error) if error.kind() == ErrorKind::Numerics => {
                        terminal::note(format_args!("error: {error}"));
                        return Ok(Outcome::NotPassed);
                    }
                    measured => measured?,
                };
                if !self.common.json {
                    terminal::out(show::line(&row));
                }
                rows.push(row);
            }
        }
        let document = bench.document(name, &rows);
        if let Some(path) = &self.csv {
            files::write(path, show::csv(&rows).as_bytes())?;
        }
        if let Some(path) = &self.figure {
            show::figure(path, &rows)?;
        }
        if let Some(path) = &self.report {
            files::write(path, show::page(&document, &rows).as_bytes())?;
        }
        if self.common.json {
            json::print(&document);
        }
        Ok(Outcome::Done)
    }
}
