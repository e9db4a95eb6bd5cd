//! What threads do together: barriers, fences, shuffles, votes.

use super::modifiers::Modifiers;
use super::names::{Names, exactly};
use crate::Result;
use crate::code::{Kind, Scope, Shuffle, Vote};
use crate::parse::{Operand, Statement};

pub(super) fn decode(m: &mut Modifiers, s: &Statement, names: &mut Names) -> Result<Option<Kind>> {
    Ok(Some(match m.name {
        "bar" | "barrier" => barrier(m, s, names)?,
        "membar" => fence(
            m,
            &[
                ("cta", Scope::Block),
                ("gl", Scope::Device),
                ("sys", Scope::System),
            ],
        )?,
        "fence" => {
            let _ = m.take("sc") || m.take("acq_rel");
            fence(
                m,
                &[
                    ("cta", Scope::Block),
                    ("gpu", Scope::Device),
                    ("sys", Scope::System),
                ],
            )?
        }
        "shfl" => shuffle(m, s, names)?,
        "vote" => vote(m, s, names)?,
        _ => return Ok(None),
    }))
}

fn fence(m: &mut Modifiers, scopes: &[(&str, Scope)]) -> Result<Kind> {
    let scope = m.one_of(scopes);
    scope.map(Kind::Fence).ok_or_else(|| m.refuse("for whom?"))
}

fn barrier(m: &mut Modifiers, s: &Statement, names: &mut Names) -> Result<Kind> {
    let is_warp = m.take("warp");
    m.take("cta");
    if !m.take("sync") {
        return Err(m.refuse("only .sync is known here"));
    }
    if is_warp {
        let [mask] = exactly(m, &s.operands)?;
        return Ok(Kind::MeetWarp(names.value(mask, 32, s.line)?));
    }
    match s.operands[..] {
        [Operand::Integer(k)] if (0..16).contains(&k) => Ok(Kind::MeetBlock(k as u32)),
        _ => Err(m.refuse("only a barrier of the whole block is known here")),
    }
}

fn shuffle(m: &mut Modifiers, s: &Statement, names: &mut Names) -> Result<Kind> {
    let how = m.one_of(&[
        ("idx", Shuffle::Index),
        ("bfly", Shuffle::Butterfly),
        ("up", Shuffle::Up),
        ("down", Shuffle::Down),
    ]);
    let how = how.ok_or_else(|| m.refuse("how?"))?;
    if !m.take("sync") || !m.take("b32") {
        return Err(m.refuse("only .sync of .b32 is known here"));
    }
    let [d, a, b, c, mask] = exactly(m, &s.operands)?;
    let to = match d {
        Operand::Pair(d, p) => {
            let d = names.target(&Operand::Name(d.clone()), 32, s.line)?;
            (d, Some(names.predicate(p, s.line)?))
        }
        d => (names.target(d, 32, s.line)?, None),
    };
    let of = [a, b, c, mask].map(|o| names.value(o, 32, s.line));
    let [a, b, c, mask] = of;
    let of = [a?, b?, c?, mask?];
    Ok(Kind::Shuffle { how, to, of })
}

fn vote(m: &mut Modifiers, s: &Statement, names: &mut Names) -> Result<Kind> {
    let what = m.one_of(&[
        ("ballot", Vote::Ballot),
        ("all", Vote::All),
        ("any", Vote::Any),
    ]);
    let what = what.ok_or_else(|| m.refuse("which vote?"))?;
    if !m.take("sync") {
        return Err(m.refuse("only .sync is known here"));
    }
    let kind = m.kind()?;
    let [d, p, mask] = exactly(m, &s.operands)?;
    let to = match (what, d) {
        (Vote::Ballot, d) if kind.bits == 32 => names.result(d, 32, s.line)?,
        (_, Operand::Name(name)) if kind.kind == 'p' => names.predicate(name, s.line)?,
        _ => return Err(m.refuse("not of this type")),
    };
    let condition = names.condition(p, s.line)?;
    Ok(Kind::Vote(
        what,
        to,
        condition,
        names.value(mask, 32, s.line)?,
    ))
}
