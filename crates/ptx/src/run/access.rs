//! What lanes load and store.

use super::memory::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, changed, number};
use super::step::Execution;
use super::warp::{Group, Warp, lanes_of};
use crate::code::{Access, Address, Change, Lanes, Number, Space, Strength, Value, WARP};
use crate::{Fault, Result};

/// What is done at an address, for whoever watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    Read,
    /// The same value that was there, or another one.
    Write {
        same: bool,
    },
    Strong(StrongDeed),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StrongDeed {
    Read,
    Write,
    Change,
}

/// The memory to which an address belongs.
fn space_of(at: u64) -> Space {
    match at & !0xffff_ffff {
        LOCAL_WINDOW => Space::Local,
        SHARED_WINDOW => Space::Shared,
        PARAM_WINDOW => Space::Param,
        _ => Space::Global,
    }
}

impl Execution<'_> {
    /// The address of every lane.
    fn addresses(&self, warp: &Warp, group: &Group, address: &Address) -> Lanes {
        let mut all = match address.base {
            Some(base) => *warp.value(self.code, group.base, base),
            None => [LOCAL_WINDOW + u64::from(group.base.local); WARP],
        };
        for at in &mut all {
            *at = at.wrapping_add(address.offset as u64);
        }
        all
    }

    /// Checks what every address has to be, and tells its space.
    fn checked(&self, at: u64, access: &Access, n: usize, line: u32) -> Result<Space> {
        let bytes = access.bytes as usize * n;
        if !at.is_multiple_of(bytes as u64) {
            let text = format!("{bytes} bytes at {at:#x}: not at a multiple of their number");
            return Err(Fault::new(line, text));
        }
        let space = space_of(at);
        let meant = access.space;
        if meant != Space::Generic && meant != space {
            let text = format!("{at:#x} is no address of {meant:?} memory");
            return Err(Fault::new(line, text));
        }
        Ok(space)
    }

    /// Bytes that a lane reads.
    fn source<'a>(
        &'a self,
        warp: &'a Warp,
        lane: usize,
        space: Space,
        at: u64,
        n: usize,
        line: u32,
    ) -> Result<&'a [u8]> {
        let within = |bytes: &'a [u8], window: u64, name: &str| {
            let from = (at - window) as usize;
            bytes.get(from..from + n).ok_or_else(|| {
                let all = bytes.len();
                Fault::new(
                    line,
                    format!("{n} bytes at {from} of {all} of {name}: outside"),
                )
            })
        };
        match space {
            Space::Local => within(&warp.local[lane], LOCAL_WINDOW, "a thread's own memory"),
            Space::Param => within(self.arguments, PARAM_WINDOW, "the arguments"),
            Space::Shared => self.shared.bytes(at, n, line),
            _ => self.memory.bytes(at, n, line),
        }
    }

    /// Bytes that a lane writes.
    fn target<'a>(
        &'a mut self,
        warp: &'a mut Warp,
        lane: usize,
        space: Space,
        at: u64,
        n: usize,
        line: u32,
    ) -> Result<&'a mut [u8]> {
        match space {
            Space::Local => {
                let bytes = &mut warp.local[lane];
                let (from, all) = ((at - LOCAL_WINDOW) as usize, bytes.len());
                bytes.get_mut(from..from + n).ok_or_else(|| {
                    let text = format!("{n} bytes at {from} of {all} of a thread's own: outside");
                    Fault::new(line, text)
                })
            }
            Space::Param => Err(Fault::new(line, "arguments of a kernel are read only")),
            Space::Shared => self.shared.bytes_mut(at, n, line),
            _ => self.memory.bytes_mut(at, n, line),
        }
    }

    pub(super) fn load(
        &mut self,
        warp: &mut Warp,
        group: &Group,
        to: &[Option<u32>],
        address: &Address,
        access: &Access,
    ) -> Result<()> {
        let line = self.line;
        let addresses = self.addresses(warp, group, address);
        let (size, n) = (access.bytes as usize, to.len());
        let mut loaded = [[0u64; WARP]; 4];
        for lane in lanes_of(group.lanes) {
            let at = addresses[lane];
            let space = self.checked(at, access, n, line)?;
            let bytes = self.source(warp, lane, space, at, size * n, line)?;
            for (k, part) in bytes.chunks_exact(size).enumerate() {
                loaded[k][lane] = extended(number(part), access);
            }
            if self.races.is_some() && matches!(space, Space::Global | Space::Shared) {
                let deed = match access.strength {
                    Strength::Strong => Deed::Strong(StrongDeed::Read),
                    Strength::Weak => Deed::Read,
                };
                self.watch(warp, lane, at, size * n, deed)?;
            }
        }
        for (k, place) in to.iter().enumerate() {
            if let Some(place) = place {
                warp.put(group.base, *place, group.lanes, &loaded[k]);
            }
        }
        Ok(())
    }

    pub(super) fn store(
        &mut self,
        warp: &mut Warp,
        group: &Group,
        values: &[Value],
        address: &Address,
        access: &Access,
    ) -> Result<()> {
        let line = self.line;
        let addresses = self.addresses(warp, group, address);
        let (size, n) = (access.bytes as usize, values.len());
        let watches = self.races.is_some();
        for lane in lanes_of(group.lanes) {
            let at = addresses[lane];
            let space = self.checked(at, access, n, line)?;
            let mut new = [0u8; 32];
            for (part, value) in new.chunks_exact_mut(size).zip(values) {
                let value = warp.value(self.code, group.base, *value)[lane];
                part.copy_from_slice(&value.to_le_bytes()[..size]);
            }
            let new = &new[..size * n];
            let place = self.target(warp, lane, space, at, size * n, line)?;
            let same = watches && place == new;
            place.copy_from_slice(new);
            if watches && matches!(space, Space::Global | Space::Shared) {
                let deed = match access.strength {
                    Strength::Strong => Deed::Strong(StrongDeed::Write),
                    Strength::Weak => Deed::Write { same },
                };
                self.watch(warp, lane, at, size * n, deed)?;
            }
        }
        Ok(())
    }

    pub(super) fn change(
        &mut self,
        warp: &mut Warp,
        group: &Group,
        to: Option<u32>,
        (change, kind): (Change, Number),
        (address, access): (&Address, &Access),
        values: &[Value],
    ) -> Result<()> {
        let line = self.line;
        let addresses = self.addresses(warp, group, address);
        let size = access.bytes as usize;
        let mut before = [0u64; WARP];
        for lane in lanes_of(group.lanes) {
            let at = addresses[lane];
            let space = self.checked(at, access, 1, line)?;
            let value = |k: usize| match values.get(k) {
                Some(v) => warp.value(self.code, group.base, *v)[lane],
                None => 0,
            };
            let (new, swap) = (value(0), value(1));
            if space == Space::Local {
                return Err(Fault::new(
                    line,
                    "a thread's own memory needs nothing atomic",
                ));
            }
            before[lane] = number(self.source(warp, lane, space, at, size, line)?);
            let after = changed(change, kind, access.bytes, before[lane], new, swap);
            let place = self.target(warp, lane, space, at, size, line)?;
            place.copy_from_slice(&after.to_le_bytes()[..size]);
            if self.races.is_some() {
                self.watch(warp, lane, at, size, Deed::Strong(StrongDeed::Change))?;
            }
        }
        if let Some(to) = to {
            warp.put(group.base, to, group.lanes, &before);
        }
        Ok(())
    }

    fn watch(&mut self, warp: &Warp, lane: usize, at: u64, n: usize, deed: Deed) -> Result<()> {
        let thread = warp.first_of_grid + lane as u32;
        let block = self.block;
        match &mut self.races {
            Some(races) => races.access(thread, block, at, n, deed, self.line),
            None => Ok(()),
        }
    }
}

/// A loaded element as a register holds it.
fn extended(bits: u64, access: &Access) -> u64 {
    match access.signed {
        Some(room) => {
            let spare = 64 - 8 * access.bytes;
            let wide = (bits << spare) as i64 >> spare;
            wide as u64 & (u64::MAX >> (64 - room))
        }
        None => bits,
    }
}
