//! What the GPUs are like, from the environment.
//!
//! `FITZROY_PTX_GPUS`: GPUs separated by `;`, each a list of `KEY=VALUE` separated by commas:
//! `capability=9.0`, `multiprocessors=4`, `memory_mib=4096`, `taken_mib=0`, `fails_at=0` (the number of the launch
//! that goes wrong; 0 for none), `name=NVIDIA PTX`, `watchdog=0`. `FITZROY_PTX_SEED`: of the order of things.
//! `FITZROY_PTX_ORDER`: `lockstep` or `shuffled`. `FITZROY_PTX_RACES=1` looks for races. `FITZROY_PTX_LATE=1` does
//! nothing before somebody waits for it. `FITZROY_PTX_LOG`: a file for what was done.

use crate::run::Order;

/// One GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gpu {
    /// Its name.
    pub name: String,
    /// Compute capability.
    pub capability: (i32, i32),
    /// Multiprocessors.
    pub multiprocessors: i32,
    /// Bytes of memory, and those that others have.
    pub memory: u64,
    /// Of them.
    pub taken: u64,
    /// The launch that fails; 0 for none.
    pub fails_at: u64,
    /// Whether a watchdog ends long kernels.
    pub watchdog: bool,
}

impl Default for Gpu {
    fn default() -> Self {
        Gpu {
            name: "NVIDIA PTX".into(),
            capability: (9, 0),
            multiprocessors: 4,
            memory: 4 << 30,
            taken: 0,
            fails_at: 0,
            watchdog: false,
        }
    }
}

/// All that can be said.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The GPUs.
    pub gpus: Vec<Gpu>,
    /// Of the order of things.
    pub seed: u64,
    /// Of threads.
    pub order: Order,
    /// Whether races are looked for.
    pub races: bool,
    /// Whether nothing is done before somebody waits for it.
    pub late: bool,
    /// A file for what was done.
    pub log: Option<String>,
}

impl Gpu {
    /// From a list of `KEY=VALUE`.
    ///
    /// # Errors
    /// A part that is not understood.
    pub fn parse(text: &str) -> Result<Gpu, String> {
        let mut gpu = Gpu::default();
        for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| format!("`{part}` is no KEY=VALUE"))?;
            let number = || {
                let n = value.parse::<u64>();
                n.map_err(|_| format!("`{part}`: no whole number"))
            };
            match key {
                "name" => gpu.name = value.into(),
                "capability" => {
                    let numbers = value.split_once('.');
                    let numbers =
                        numbers.and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
                    gpu.capability = numbers.ok_or_else(|| format!("`{part}`: such as 9.0"))?;
                }
                "multiprocessors" => gpu.multiprocessors = number()? as i32,
                "memory_mib" => gpu.memory = number()? << 20,
                "taken_mib" => gpu.taken = number()? << 20,
                "fails_at" => gpu.fails_at = number()?,
                "watchdog" => gpu.watchdog = number()? != 0,
                _ => return Err(format!("`{part}`: no such key")),
            }
        }
        Ok(gpu)
    }
}

impl Settings {
    /// From the environment, by a function that reads it.
    ///
    /// # Errors
    /// What is not understood.
    pub fn of(variable: impl Fn(&str) -> Option<String>) -> Result<Settings, String> {
        let gpus = variable("FITZROY_PTX_GPUS").unwrap_or_default();
        let order = match variable("FITZROY_PTX_ORDER").as_deref() {
            None | Some("lockstep") => Order::Lockstep,
            Some("shuffled") => Order::Shuffled,
            Some(other) => return Err(format!("FITZROY_PTX_ORDER: `{other}`")),
        };
        let seed = match variable("FITZROY_PTX_SEED") {
            Some(text) => text
                .parse()
                .map_err(|_| format!("FITZROY_PTX_SEED: `{text}`"))?,
            None => 1,
        };
        let is_on = |name: &str| variable(name).is_some_and(|v| v == "1");
        Ok(Settings {
            gpus: gpus.split(';').map(Gpu::parse).collect::<Result<_, _>>()?,
            seed,
            order,
            races: is_on("FITZROY_PTX_RACES"),
            late: is_on("FITZROY_PTX_LATE"),
            log: variable("FITZROY_PTX_LOG"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_are_described_in_words() {
        let variable = |name: &str| match name {
            "FITZROY_PTX_GPUS" => {
                Some("capability=7.0, multiprocessors=2;memory_mib=1,fails_at=3".into())
            }
            "FITZROY_PTX_ORDER" => Some("shuffled".to_string()),
            _ => None,
        };
        let settings = Settings::of(variable).expect("it is right");
        let [a, b] = &settings.gpus[..] else {
            panic!("two: {settings:?}");
        };
        assert_eq!(
            (a.capability, a.multiprocessors, a.fails_at),
            ((7, 0), 2, 0)
        );
        assert_eq!((b.capability, b.memory, b.fails_at), ((9, 0), 1 << 20, 3));
        assert_eq!(settings.order, Order::Shuffled);
        for wrong in ["capability=9", "wings=2", "memory_mib=many", "9.0"] {
            assert!(Gpu::parse(wrong).is_err(), "{wrong}");
        }
    }
}
