//! Lists of kernels on this processor: the texts compiled as C++, products as plain loops.
//!
//! It serves tests where there is no GPU, and is no device to work on.

use super::host::HostLibrary;
use super::work::{Accelerator, Command, Launch, List, Math, Product};
use fitzroy_graph::{Error, ErrorKind, Result};
use std::ffi::c_void;
use std::fmt::Write as _;

/// Makes a kernel callable from outside.
const ENTRY: &str = "
static void host_NAME(void *words) { NAME(*(const Words *)words); }
extern \"C\" int run_NAME(int n_threads, unsigned seed, void *words, int n_teams)
{
    for (int team = 0; team < n_teams; ++team) {
        team_now = team;
        if (fibers_run(n_threads, seed + team, host_NAME, words))
            return 1;
    }
    return 0;
}
";

/// What makes `kernels` callable from outside.
pub fn launchers(kernels: &[&str]) -> String {
    kernels
        .iter()
        .map(|name| ENTRY.replace("NAME", name))
        .collect()
}

/// This processor as an [`Accelerator`].
pub struct HostWork {
    n_threads: usize,
    seed: u32,
    library: Option<HostLibrary>,
    memory: Vec<Vec<u64>>,
    math: Math,
    /// Whether products are made by the kernel, as on a GPU without a library for them.
    pub own_products: bool,
    /// What it has done, by name: for tests.
    pub done: Vec<&'static str>,
}

impl HostWork {
    /// A machine whose teams have `n_threads` threads, in an order drawn with `seed`.
    pub fn new(n_threads: usize, seed: u32) -> Self {
        HostWork {
            n_threads,
            seed,
            library: None,
            memory: Vec::new(),
            math: Math::F32,
            own_products: false,
            done: Vec::new(),
        }
    }

    /// Memory from an address on.
    fn bytes(&mut self, at: u64, len: u64) -> Result<&mut [u8]> {
        let inside = |slot: &&mut Vec<u64>| {
            let start = slot.as_ptr() as u64;
            at >= start && at + len <= start + 8 * slot.len() as u64
        };
        let slot = self.memory.iter_mut().find(inside);
        let outside = || {
            let message = format!("{len} bytes at {at:#x} are outside every memory");
            Error::new(ErrorKind::Device, message)
        };
        let slot = slot.ok_or_else(outside)?;
        let first = (at - slot.as_ptr() as u64) as usize;
        // SAFETY: the words are this machine's, and any bytes are words.
        let all = unsafe {
            std::slice::from_raw_parts_mut(slot.as_mut_ptr().cast::<u8>(), 8 * slot.len())
        };
        Ok(&mut all[first..first + len as usize])
    }

    /// Numbers as products see them.
    fn numbers(&mut self, at: u64, n: usize, narrow: bool) -> Result<Vec<f32>> {
        let bf16 = narrow && self.math == Math::Bf16;
        let tf32 = narrow && self.math == Math::Tf32;
        let bytes = self.bytes(at, (n * if bf16 { 2 } else { 4 }) as u64)?;
        Ok(match bf16 {
            true => {
                let pairs = bytes.as_chunks::<2>().0.iter();
                let wide = |b: &[u8; 2]| f32::from_bits(u32::from(u16::from_le_bytes(*b)) << 16);
                pairs.map(wide).collect()
            }
            false => {
                let words = bytes.as_chunks::<4>().0.iter();
                let number = |b: &[u8; 4]| {
                    let bits = u32::from_le_bytes(*b);
                    // The nearest with ten bits after the point.
                    let cut = bits.wrapping_add(0x1000) & !0x1fff;
                    f32::from_bits(if tf32 { cut } else { bits })
                };
                words.map(number).collect()
            }
        })
    }

    fn product(&mut self, p: &Product) -> Result<()> {
        let [m, n, k] = p.size;
        let a = self.numbers(p.at[0], m * k, true)?;
        let b = self.numbers(p.at[1], k * n, true)?;
        let bf16 = p.narrow && self.math == Math::Bf16;
        let mut c = match p.add {
            true => {
                let math = self.math;
                if math == Math::Tf32 {
                    self.math = Math::F32;
                }
                let before = self.numbers(p.at[2], m * n, p.narrow);
                self.math = math;
                before?
            }
            false => vec![0.0; m * n],
        };
        for i in 0..m {
            let line = &mut c[i * n..(i + 1) * n];
            let mut sums = vec![0.0_f32; n];
            for l in 0..k {
                let x = if p.turned[0] {
                    a[l * m + i]
                } else {
                    a[i * k + l]
                };
                for (j, sum) in sums.iter_mut().enumerate() {
                    let y = if p.turned[1] {
                        b[j * k + l]
                    } else {
                        b[l * n + j]
                    };
                    *sum = x.mul_add(y, *sum);
                }
            }
            line.iter_mut().zip(&sums).for_each(|(to, sum)| *to += sum);
        }
        let bytes = self.bytes(p.at[2], (m * n * if bf16 { 2 } else { 4 }) as u64)?;
        if bf16 {
            for (to, x) in bytes.as_chunks_mut::<2>().0.iter_mut().zip(&c) {
                let bits = x.to_bits();
                let nearest = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
                *to = (nearest as u16).to_le_bytes();
            }
        } else {
            for (to, x) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(&c) {
                *to = x.to_le_bytes();
            }
        }
        Ok(())
    }

    fn launch(&mut self, launch: &Launch) -> Result<()> {
        let (threads, seed) = (self.n_threads, self.seed);
        self.seed = seed.wrapping_add(1);
        self.done.push(launch.kernel);
        let mut words = launch.words;
        let (name, teams) = (format!("run_{}", launch.kernel), words[0] as usize);
        let words: *mut c_void = words.as_mut_ptr().cast();
        let library = self.library.as_mut().expect("a text was loaded");
        // SAFETY: the words hold addresses of this machine, whose sizes the caller took from the
        // same layout.
        unsafe { library.call(&name, threads, seed, words, teams) }
            .map_err(|error| error.context(launch.kernel))
    }
}

impl Accelerator for HostWork {
    fn load(&mut self, text: &str, kernels: &[&'static str], math: Math) -> Result<Vec<String>> {
        let mut whole = String::from(text);
        let _ = write!(whole, "\n{}", launchers(kernels));
        self.library = Some(HostLibrary::compile(&whole)?);
        self.math = math;
        Ok(Vec::new())
    }

    fn reserve(&mut self, bytes: u64) -> Result<u64> {
        // Lines of 256 bytes start as on a GPU.
        self.memory.push(vec![0; bytes.div_ceil(8) as usize + 32]);
        let start = self.memory[self.memory.len() - 1].as_ptr() as u64;
        Ok(start.next_multiple_of(256))
    }

    fn write(&mut self, mut at: u64, parts: &[&[u8]]) -> Result<()> {
        for part in parts {
            self.bytes(at, part.len() as u64)?.copy_from_slice(part);
            at += part.len() as u64;
        }
        Ok(())
    }

    fn read(&mut self, at: u64, bytes: &mut [u8]) -> Result<()> {
        bytes.copy_from_slice(self.bytes(at, bytes.len() as u64)?);
        Ok(())
    }

    fn run(&mut self, list: &List) -> Result<()> {
        for command in &list.commands {
            match command {
                Command::Launch(launch) => self.launch(launch)?,
                Command::Product(p) if self.own_products => self.launch(&p.kernel())?,
                Command::Product(p) => self.product(p)?,
            }
        }
        Ok(())
    }
}
