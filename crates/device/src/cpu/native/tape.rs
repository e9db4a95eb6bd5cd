//! Lanes that write down: a function of lanes, run over them once, becomes a list of operations in
//! a straight line. The functions are the interpreter's own, so the bits are too.

use crate::cpu::program::Loc;
use crate::lanes::Lanes;
use std::cell::RefCell;
use std::collections::HashMap;

/// All bits of a number but its sign.
const MAGNITUDE: u64 = !(1 << 63);

/// An operation on registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Op {
    /// All lanes equal; the bits.
    Const(u64),
    /// Read from memory.
    Load(Loc),
    Add,
    Sub,
    Mul,
    Div,
    Sqrt,
    /// a·b + c.
    MulAdd,
    /// a·b − c.
    MulSub,
    /// c − a·b.
    SubMul,
    Round,
    Floor,
    /// `a < b ? a : b`.
    Lesser,
    /// `a > b ? a : b`.
    Greater,
    /// a·2ᵇ.
    Scale,
    Exponent,
    Mantissa,
    Lt,
    Le,
    Eq,
    MaskAnd,
    MaskOr,
    MaskNot,
    /// a mask, then what to take where it holds and where not.
    Select,
    AddBits,
    SubBits,
    AndBits,
    OrBits,
    XorBits,
    ShiftLeft(u8),
    ShiftRight(u8),
    /// a is written to memory.
    Store(Loc),
    /// a is added to the partial sums at this place of the workspace.
    Sum(usize),
    /// a·b is added to them.
    SumProduct(usize),
    /// a is added to the sums at this place of the workspace, from the run's place on.
    AddTo(usize),
}

impl Op {
    /// Number of operands.
    pub(super) fn n_args(self) -> usize {
        match self {
            Op::Const(_) | Op::Load(_) => 0,
            Op::MulAdd | Op::MulSub | Op::SubMul | Op::Select => 3,
            Op::Sqrt
            | Op::Round
            | Op::Floor
            | Op::Exponent
            | Op::Mantissa
            | Op::MaskNot
            | Op::ShiftLeft(_)
            | Op::ShiftRight(_)
            | Op::Store(_)
            | Op::Sum(_)
            | Op::AddTo(_) => 1,
            _ => 2,
        }
    }

    /// Whether it does something instead of giving a value.
    pub(super) fn is_effect(self) -> bool {
        matches!(
            self,
            Op::Store(_) | Op::Sum(_) | Op::SumProduct(_) | Op::AddTo(_)
        )
    }

    /// Whether its value is a truth value per lane.
    pub(super) fn is_mask(self) -> bool {
        use Op::{Eq, Le, Lt, MaskAnd, MaskNot, MaskOr};
        matches!(self, Lt | Le | Eq | MaskAnd | MaskOr | MaskNot)
    }

    /// Whether the operands may change places.
    pub(super) fn commutes(self) -> bool {
        use Op::{Add, AddBits, AndBits, Mul, OrBits, XorBits};
        matches!(self, Add | Mul | AddBits | AndBits | OrBits | XorBits)
    }
}

/// An operation and the numbers of its operands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) op: Op,
    pub(super) args: [u32; 3],
}

impl Node {
    pub(super) fn args(&self) -> &[u32] {
        &self.args[..self.op.n_args()]
    }
}

/// Operations in order; equal ones are one.
#[derive(Default)]
pub(super) struct Tape {
    pub(super) nodes: Vec<Node>,
    known: HashMap<(Op, [u32; 3]), u32>,
}

impl Tape {
    fn push(&mut self, op: Op, args: [u32; 3]) -> u32 {
        let next = self.nodes.len() as u32;
        let push = |nodes: &mut Vec<Node>| nodes.push(Node { op, args });
        if op.is_effect() {
            push(&mut self.nodes);
            return next;
        }
        *self.known.entry((op, args)).or_insert_with(|| {
            push(&mut self.nodes);
            next
        })
    }

    /// True for `x < 0` where x is the size of something, or made of such.
    fn never_holds(&self, mask: u32) -> bool {
        let node = &self.nodes[mask as usize];
        let [x, bound, _] = node.args;
        let zero = self.nodes[bound as usize].op == Op::Const(0);
        node.op == Op::Lt && zero && self.is_size(x)
    }

    /// Whether the value is never below 0; it may be NaN.
    fn is_size(&self, value: u32) -> bool {
        let node = &self.nodes[value as usize];
        let [a, b, _] = node.args;
        match node.op {
            Op::Const(bits) => f64::from_bits(bits) >= 0.0,
            Op::AndBits => [a, b]
                .iter()
                .any(|&k| self.nodes[k as usize].op == Op::Const(MAGNITUDE)),
            Op::Mul if a == b => true,
            Op::Mul | Op::Div | Op::Add => self.is_size(a) && self.is_size(b),
            Op::Sqrt => self.is_size(a),
            _ => false,
        }
    }
}

thread_local! {
    // Lanes are values without a context, so what they are recorded on has to be found from
    // nowhere. It is empty except within `record`.
    static TAPE: RefCell<Tape> = RefCell::default();
}

/// Runs `work`, which calls functions of lanes, and returns what they did.
pub(super) fn record<T>(work: impl FnOnce() -> T) -> (T, Tape) {
    TAPE.take();
    let result = work();
    (result, TAPE.take())
}

/// Appends to the tape.
pub(super) fn push(op: Op, args: &[u32]) -> u32 {
    let mut all = [0; 3];
    all[..args.len()].copy_from_slice(args);
    TAPE.with_borrow_mut(|tape| tape.push(op, all))
}

/// Lanes that write down, for one kind of registers.
pub(super) trait Recorder: Lanes {
    /// The value with this number.
    fn of(id: u32) -> Self;
    /// Its number.
    fn id(self) -> u32;
}

/// Methods that are one operation. They are never inlined: every function of lanes is made of them.
macro_rules! operations {
    ($($name:ident($($arg:ident),*) = $op:ident;)*) => {
        $(#[inline(never)]
        fn $name(self $(, $arg: Self)*) -> Self {
            Self(push(Op::$op, &[self.0 $(, $arg.0)*]))
        })*
    };
}
macro_rules! comparisons {
    ($($name:ident = $op:ident;)*) => {
        $(#[inline(never)]
        fn $name(self, b: Self) -> u32 {
            push(Op::$op, &[self.0, b.0])
        })*
    };
}
macro_rules! on_bits {
    ($($name:ident($($arg:ident),*) = $op:ident;)*) => {
        $(#[inline(never)]
        fn $name($($arg: u32),*) -> u32 {
            push(Op::$op, &[$($arg),*])
        })*
    };
}

macro_rules! recorder {
    ($(#[$doc:meta])* $name:ident { $($own:tt)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(super) struct $name(u32);

        impl Recorder for $name {
            fn of(id: u32) -> Self {
                Self(id)
            }
            fn id(self) -> u32 {
                self.0
            }
        }

        impl Lanes for $name {
            const N: usize = 1;
            type Mask = u32;
            type Bits = u32;

            #[inline(never)]
            fn splat(x: f64) -> Self {
                Self(push(Op::Const(x.to_bits()), &[]))
            }
            unsafe fn load(_: *const f64) -> Self {
                panic!("what is written down has no memory")
            }
            unsafe fn store(self, _: *mut f64) {
                panic!("what is written down has no memory")
            }
            operations! {
                add(b) = Add;
                sub(b) = Sub;
                mul(b) = Mul;
                div(b) = Div;
                sqrt() = Sqrt;
                fma(b, c) = MulAdd;
                round() = Round;
                floor() = Floor;
                lesser(b) = Lesser;
                greater(b) = Greater;
            }
            #[inline(never)]
            fn neg(self) -> Self {
                Self(push(Op::XorBits, &[self.0, Self::splat(-0.0).0]))
            }
            #[inline(never)]
            fn abs(self) -> Self {
                let magnitude = push(Op::Const(MAGNITUDE), &[]);
                Self(push(Op::AndBits, &[self.0, magnitude]))
            }
            comparisons! {
                lt = Lt;
                le = Le;
                eq = Eq;
            }
            on_bits! {
                and(a, b) = MaskAnd;
                or(a, b) = MaskOr;
                not(a) = MaskNot;
                add_bits(a, b) = AddBits;
                sub_bits(a, b) = SubBits;
                and_bits(a, b) = AndBits;
                or_bits(a, b) = OrBits;
                xor_bits(a, b) = XorBits;
            }
            #[inline(never)]
            fn any(mask: u32) -> bool {
                TAPE.with_borrow(|tape| !tape.never_holds(mask))
            }
            #[inline(never)]
            fn select(mask: u32, yes: Self, no: Self) -> Self {
                Self(push(Op::Select, &[mask, yes.0, no.0]))
            }
            fn to_bits(self) -> u32 {
                self.0
            }
            fn from_bits(bits: u32) -> Self {
                Self(bits)
            }
            #[inline(never)]
            fn splat_bits(x: u64) -> u32 {
                push(Op::Const(x), &[])
            }
            fn shl_bits<const K: i32>(a: u32) -> u32 {
                push(Op::ShiftLeft(K as u8), &[a])
            }
            fn shr_bits<const K: i32>(a: u32) -> u32 {
                push(Op::ShiftRight(K as u8), &[a])
            }
            $($own)*
        }
    };
}

recorder! {
    /// For AVX2.
    Narrow {}
}
recorder! {
    /// For AVX-512, which has instructions for scaling and splitting.
    Wide {
        operations! {
            scale(k) = Scale;
            exponent() = Exponent;
        }
        #[inline(never)]
        fn split(self) -> (Self, Self) {
            let m = Self(push(Op::Mantissa, &[self.0]));
            // As in the lanes of AVX-512.
            (m, self.exponent().sub(m.exponent()))
        }
    }
}
