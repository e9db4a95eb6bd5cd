//! The memory of a GPU: allocations far apart, so that whoever leaves one is in none.

use crate::code::{Change, Number};
use crate::{Fault, Result};

/// Where generic addresses of a thread's own memory begin.
pub const LOCAL_WINDOW: u64 = 0x7f01 << 32;
/// Where those of shared memory begin.
pub const SHARED_WINDOW: u64 = 0x7f02 << 32;
/// Where those of the arguments of a kernel begin.
pub const PARAM_WINDOW: u64 = 0x7f03 << 32;

/// What fresh memory is full of: numbers that are none.
const FRESH: [u8; 8] = 0x7ff4_dead_beef_f00d_u64.to_le_bytes();

/// Bits of an address below the number of its allocation, and below that of its GPU.
const OFFSET_BITS: u32 = 32;
const DEVICE_BITS: u32 = 48;

struct Allocation {
    bytes: Vec<u8>,
    is_constant: bool,
}

/// The memory of one GPU.
pub struct Memory {
    device: u64,
    allocations: Vec<Option<Allocation>>,
    total: u64,
    used: u64,
}

impl Memory {
    /// That of GPU number `device`, of `total` bytes.
    pub fn new(device: u32, total: u64) -> Memory {
        Memory {
            device: u64::from(device) + 1,
            allocations: Vec::new(),
            total,
            used: 0,
        }
    }

    /// Bytes that are there, and bytes that are free.
    pub fn total_and_free(&self) -> (u64, u64) {
        (self.total, self.total - self.used)
    }

    /// New memory, full of NaN; none where it is not to be had.
    pub fn allocate(&mut self, bytes: u64) -> Option<u64> {
        let fits = bytes > 0 && bytes < 1 << OFFSET_BITS && self.used + bytes <= self.total;
        if !fits || self.allocations.len() >= 0xffff {
            return None;
        }
        self.used += bytes;
        let bytes = (0..bytes as usize).map(|k| FRESH[k % 8]).collect();
        self.allocations.push(Some(Allocation {
            bytes,
            is_constant: false,
        }));
        let number = self.allocations.len() as u64;
        Some(self.device << DEVICE_BITS | number << OFFSET_BITS)
    }

    /// A variable of a module, which holds `bytes`.
    pub fn variable(&mut self, bytes: Vec<u8>, is_constant: bool) -> Option<u64> {
        let at = self.allocate(bytes.len() as u64)?;
        let last = self.allocations.last_mut();
        let last = last.and_then(Option::as_mut).expect("it was just made");
        *last = Allocation { bytes, is_constant };
        Some(at)
    }

    /// Gives memory back; whether there was any at this address.
    pub fn free(&mut self, at: u64) -> bool {
        let number = self
            .number(at)
            .filter(|_| at.is_multiple_of(1 << OFFSET_BITS));
        let slot = number.and_then(|k| self.allocations.get_mut(k));
        let gone = slot.and_then(Option::take);
        self.used -= gone.as_ref().map_or(0, |g| g.bytes.len() as u64);
        gone.is_some()
    }

    /// The number of the allocation of an address of this GPU.
    fn number(&self, at: u64) -> Option<usize> {
        let number = at >> OFFSET_BITS & 0xffff;
        (at >> DEVICE_BITS == self.device && number > 0).then(|| number as usize - 1)
    }

    /// Why `n` bytes at an address are not to be had.
    fn refusal(&self, at: u64, n: usize, line: u32) -> Fault {
        let Some(number) = self.number(at) else {
            let why = match at >> DEVICE_BITS {
                0 => "no address of a GPU's memory".to_string(),
                other => format!("memory of GPU {}, not of this one", other - 1),
            };
            return Fault::new(line, format!("{n} bytes at {at:#x}: {why}"));
        };
        let offset = at as u32;
        let text = match self.allocations.get(number) {
            Some(Some(a)) => format!(
                "{n} bytes at offset {offset} of {} bytes: outside",
                a.bytes.len()
            ),
            Some(None) => format!("{n} bytes at {at:#x}: that memory was given back"),
            None => format!("{n} bytes at {at:#x}: memory that never was"),
        };
        Fault::new(line, text)
    }

    /// Bytes to read.
    ///
    /// # Errors
    /// They are not inside one allocation.
    pub fn bytes(&self, at: u64, n: usize, line: u32) -> Result<&[u8]> {
        let allocation = self
            .number(at)
            .and_then(|k| self.allocations.get(k)?.as_ref());
        let from = at as u32 as usize;
        let found = allocation.and_then(|a| a.bytes.get(from..from + n));
        found.ok_or_else(|| self.refusal(at, n, line))
    }

    /// Bytes to write.
    ///
    /// # Errors
    /// They are not inside one allocation, or constants.
    pub fn bytes_mut(&mut self, at: u64, n: usize, line: u32) -> Result<&mut [u8]> {
        let from = at as u32 as usize;
        let number = self.number(at).filter(|&k| {
            let allocation = self.allocations.get(k).and_then(Option::as_ref);
            allocation.is_some_and(|a| !a.is_constant && from + n <= a.bytes.len())
        });
        match number {
            Some(k) => {
                let allocation = self.allocations[k].as_mut().expect("it was looked at");
                Ok(&mut allocation.bytes[from..from + n])
            }
            None => {
                let refusal = self.refusal(at, n, line);
                let text = format!("{} (to be written)", refusal.text);
                Err(Fault::new(line, text))
            }
        }
    }
}

/// Whole numbers from bytes, the lowest first.
pub(crate) fn number(bytes: &[u8]) -> u64 {
    match bytes {
        [a, b, c, d, e, f, g, h] => u64::from_le_bytes([*a, *b, *c, *d, *e, *f, *g, *h]),
        [a, b, c, d] => u64::from(u32::from_le_bytes([*a, *b, *c, *d])),
        other => other.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b)),
    }
}

/// What an atomic operation leaves where `old` was.
pub(crate) fn changed(
    change: Change,
    number: Number,
    bytes: u32,
    old: u64,
    new: u64,
    swap: u64,
) -> u64 {
    let spare = 64 - 8 * bytes;
    let signed = |x: u64| (x << spare) as i64 >> spare;
    let less = match number {
        Number::Signed => signed(new) < signed(old),
        Number::Unsigned => new < old,
    };
    let result = match change {
        Change::Add => old.wrapping_add(new),
        Change::Min if less => new,
        Change::Max if !less => new,
        Change::Min | Change::Max => old,
        Change::And => old & new,
        Change::Or => old | new,
        Change::Xor => old ^ new,
        Change::Exchange => new,
        Change::CompareAndSwap if old == new => swap,
        Change::CompareAndSwap => old,
    };
    result << spare >> spare
}
