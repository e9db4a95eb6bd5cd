//! What lanes of a warp do together: they wait until all of a mask have come.

use super::step::{Execution, Next, Stop};
use super::warp::{Group, Warp, lanes_of};
use crate::code::{Kind, Lanes, Scope, Shuffle, Value, Vote, WARP};
use crate::{Fault, Result};

impl Execution<'_> {
    pub(super) fn fence(&mut self, warp: &Warp, group: &Group, scope: Scope) {
        if let Some(races) = &mut self.races {
            for lane in lanes_of(group.lanes) {
                races.fence(warp.first_of_grid + lane as u32, scope);
            }
        }
    }

    /// A barrier, a shuffle or a vote by the lanes `some` of a group.
    pub(super) fn together(
        &mut self,
        warp: &mut Warp,
        group: &Group,
        some: Group,
        kind: &Kind,
    ) -> Result<Next> {
        if let Kind::MeetBlock(number) = kind {
            warp.leave(group, group.at + 1);
            // Those that wait stay at their barrier, so that whoever joins them can be told apart.
            warp.leave(&some, some.at);
            warp.ready &= !some.lanes;
            warp.at_barrier |= some.lanes;
            lanes_of(some.lanes).for_each(|k| warp.barrier[k] = *number);
            return Ok(Next::Stop(Stop::Parted));
        }
        let masks = *warp.value(self.code, some.base, mask_of(kind));
        let (mut done, mut left) = (0, some.lanes);
        while left != 0 {
            let first = left.trailing_zeros() as usize;
            let mask = masks[first] as u32 & warp.present;
            if mask >> first & 1 == 0 {
                let text = format!(
                    "thread {} is not in its own mask",
                    warp.first as usize + first
                );
                return Err(Fault::new(self.line, text));
            }
            let same = |k: &usize| masks[*k] as u32 & warp.present == mask;
            let lanes = lanes_of(left & mask)
                .filter(same)
                .fold(0, |all, k| all | 1 << k);
            if lanes == mask {
                self.act(warp, Group { lanes, ..some }, kind)?;
                done |= lanes;
            }
            left &= !lanes;
        }
        if done == group.lanes {
            return Ok(Next::On);
        }
        warp.leave(group, group.at + 1);
        let waiting = some.lanes & !done;
        warp.leave(
            &Group {
                lanes: waiting,
                ..some
            },
            some.at,
        );
        warp.ready &= !waiting;
        warp.meeting |= waiting;
        for k in lanes_of(waiting) {
            warp.masks[k] = masks[k] as u32 & warp.present;
        }
        self.try_meeting(warp, waiting)?;
        Ok(Next::Stop(Stop::Parted))
    }

    /// Whether waiting lanes are all there now.
    fn try_meeting(&mut self, warp: &mut Warp, waiting: u32) -> Result<()> {
        for lane in lanes_of(waiting) {
            let mask = warp.masks[lane];
            if warp.meeting >> lane & 1 == 0 || warp.meeting & mask != mask {
                continue;
            }
            let (at, base) = (warp.at[lane], warp.base[lane]);
            let kind = &self.code.instructions[at as usize].kind;
            let agrees = |k: usize| {
                let other = &self.code.instructions[warp.at[k] as usize].kind;
                let same_place = warp.at[k] == at && warp.base[k] == base;
                // Barriers of a warp may be different ones; lanes that exchange values must be at one.
                let both = matches!((kind, other), (Kind::MeetWarp(_), Kind::MeetWarp(_)));
                warp.masks[k] == mask && (same_place || both)
            };
            if !lanes_of(mask).all(agrees) {
                continue;
            }
            let group = Group {
                lanes: mask,
                at,
                base,
            };
            self.act(warp, group, kind)?;
            warp.meeting &= !mask;
            warp.ready |= mask;
            lanes_of(mask).for_each(|k| warp.at[k] += 1);
        }
        Ok(())
    }

    /// All lanes of a mask are there.
    fn act(&mut self, warp: &mut Warp, group: Group, kind: &Kind) -> Result<()> {
        match kind {
            Kind::MeetWarp(_) => {
                if let Some(races) = &mut self.races {
                    let threads = lanes_of(group.lanes).map(|k| warp.first_of_grid + k as u32);
                    races.meet(&threads.collect::<Vec<_>>());
                }
                Ok(())
            }
            Kind::Vote(vote, to, condition, _) => {
                let yes = warp.predicate(group.base, *condition) & group.lanes;
                match vote {
                    Vote::Ballot => {
                        warp.put(group.base, *to, group.lanes, &[u64::from(yes); WARP]);
                    }
                    Vote::All => {
                        let bits = u32::from(yes == group.lanes).wrapping_neg();
                        warp.put_predicate(group.base, *to, group.lanes, bits);
                    }
                    Vote::Any => {
                        let bits = u32::from(yes != 0).wrapping_neg();
                        warp.put_predicate(group.base, *to, group.lanes, bits);
                    }
                }
                Ok(())
            }
            Kind::Shuffle { how, to, of } => self.shuffle(warp, group, *how, *to, of),
            _ => unreachable!("lanes meet for nothing else"),
        }
    }

    fn shuffle(
        &mut self,
        warp: &mut Warp,
        group: Group,
        how: Shuffle,
        to: (Option<u32>, Option<u32>),
        of: &[Value; 4],
    ) -> Result<()> {
        let value = |v: Value| warp.value(self.code, group.base, v);
        let (a, b, c) = (value(of[0]), value(of[1]), value(of[2]));
        let mut result: Lanes = [0; WARP];
        let mut inside = 0u32;
        for lane in lanes_of(group.lanes) {
            let (by, limits) = (b[lane] as u32 & 31, c[lane] as u32);
            let (segment, clamp) = (limits >> 8 & 31, limits & 31);
            let own = lane as u32;
            let (least, most) = (own & segment, (own & segment) | (clamp & !segment & 31));
            let (from, holds) = match how {
                Shuffle::Up => (own.wrapping_sub(by), own as i32 - by as i32 >= most as i32),
                Shuffle::Down => (own + by, own + by <= most),
                Shuffle::Butterfly => (own ^ by, own ^ by <= most),
                Shuffle::Index => {
                    let from = least | (by & !segment & 31);
                    (from, from <= most)
                }
            };
            let from = if holds { from } else { own };
            if group.lanes >> from & 1 == 0 {
                let text = format!("lane {lane} asks lane {from}, which does not take part");
                return Err(Fault::new(self.line, text));
            }
            result[lane] = a[from as usize] & 0xffff_ffff;
            inside |= u32::from(holds) << lane;
        }
        if let Some(to) = to.0 {
            warp.put(group.base, to, group.lanes, &result);
        }
        if let Some(to) = to.1 {
            warp.put_predicate(group.base, to, group.lanes, inside);
        }
        Ok(())
    }
}

/// The lanes that take part.
fn mask_of(kind: &Kind) -> Value {
    match kind {
        Kind::MeetWarp(mask) | Kind::Vote(_, _, _, mask) => *mask,
        Kind::Shuffle { of, .. } => of[3],
        _ => unreachable!("lanes meet for nothing else"),
    }
}
