//! Which engine runs a function: the block interpreter, always there, or machine code made for it,
//! once that has given the same numbers.

use super::Function;
use fitzroy_graph::Named;

/// What runs the loops of a function. All give the same bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// The emitter where this machine has it, else the interpreter.
    #[default]
    Auto,
    /// The block interpreter.
    Interpreter,
    /// Machine code, compared with the interpreter before it is used; the interpreter where they
    /// differ or the system allows no code of ours.
    Emitter,
}

impl Named for Engine {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("auto", Engine::Auto),
        ("interpreter", Engine::Interpreter),
        ("emitter", Engine::Emitter),
    ];

    fn meaning(self) -> &'static str {
        match self {
            Engine::Auto => "Machine code where this machine can have it",
            Engine::Interpreter => "The block interpreter",
            Engine::Emitter => "Machine code, compared with the interpreter before it is used",
        }
    }
}

impl Engine {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        self.setting()
    }
}

/// What was chosen for a function.
#[derive(Default)]
pub(super) struct Choice {
    #[cfg(all(unix, target_arch = "x86_64"))]
    native: Option<super::native::Native>,
    note: Option<String>,
}

impl Choice {
    pub(super) fn used(&self) -> Engine {
        #[cfg(all(unix, target_arch = "x86_64"))]
        if self.native.is_some() {
            return Engine::Emitter;
        }
        Engine::Interpreter
    }

    pub(super) fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }
}

/// The function with the engine that was asked for; `buffers` are those of its loops.
#[cfg(not(all(unix, target_arch = "x86_64")))]
pub(super) fn choose(mut plain: Function, engine: Engine, _buffers: Vec<usize>) -> Function {
    if engine == Engine::Emitter {
        plain.engine.note = Some("there is no machine code for this system".into());
    }
    plain
}

#[cfg(all(unix, target_arch = "x86_64", test))]
pub(super) use x86_64::choose_with;
#[cfg(all(unix, target_arch = "x86_64"))]
pub(super) use x86_64::{choose, number};

#[cfg(all(unix, target_arch = "x86_64"))]
mod x86_64 {
    use super::super::native::{self, Fault, Room};
    use super::{Choice, Engine, Function};
    use crate::lanes::Level;
    use std::sync::Arc;

    /// Points at which machine code must agree with the interpreter.
    const POINTS: u64 = 4;

    /// The function with the engine that was asked for; `buffers` are those of its loops.
    pub(crate) fn choose(plain: Function, engine: Engine, buffers: Vec<usize>) -> Function {
        choose_with(plain, engine, buffers, Fault::None)
    }

    /// As [`choose`], with a fault to be found.
    pub(in crate::cpu) fn choose_with(
        mut plain: Function,
        engine: Engine,
        mut buffers: Vec<usize>,
        fault: Fault,
    ) -> Function {
        let scalar = plain.level == Level::Scalar;
        if engine == Engine::Interpreter || (scalar && engine == Engine::Auto) {
            return plain;
        }
        let (mut steps, mut work_len) = (plain.steps.clone(), plain.work_len);
        let room = Room {
            work_len: &mut work_len,
            buffers: &mut buffers,
        };
        let native = match native::compile(plain.level, &mut steps, room, fault) {
            Ok(native) => native,
            Err(note) => {
                plain.engine.note = Some(note);
                return plain;
            }
        };
        let emitted = Function {
            steps,
            work_len,
            engine: Choice {
                native: Some(native),
                note: None,
            },
            graph: plain.graph.clone(),
            fixed: Arc::clone(&plain.fixed),
            outputs: plain.outputs.clone(),
            n_params: plain.n_params,
            level: plain.level,
        };
        match difference(&plain, &emitted) {
            None => emitted,
            Some(note) => {
                plain.engine.note = Some(note);
                plain
            }
        }
    }

    /// Where the two first differ, in words: at zero and at three points of (−2, 2), where chains
    /// start.
    fn difference(plain: &Function, emitted: &Function) -> Option<String> {
        let (mut a, mut b) = (plain.workspace(), emitted.workspace());
        let mut params = vec![0.0; plain.n_params];
        for point in 0..POINTS {
            for (k, x) in params.iter_mut().enumerate() {
                *x = if point == 0 {
                    0.0
                } else {
                    number(point, k as u64)
                };
            }
            plain.run(&mut a, &params);
            emitted.run(&mut b, &params);
            for k in 0..plain.outputs.len() {
                let pairs = plain.output(&a, k).iter().zip(emitted.output(&b, k));
                for (i, (x, y)) in pairs.enumerate() {
                    if x.to_bits() != y.to_bits() && !(x.is_nan() && y.is_nan()) {
                        return Some(format!(
                            "machine code gave {y:e} where the interpreter gives {x:e} \
                             (output {k}, element {i}); the interpreter is used"
                        ));
                    }
                }
            }
        }
        None
    }

    /// A number in (−2, 2) that looks random (SplitMix64's finish; Steele, Lea and Flood 2014).
    pub(in crate::cpu) fn number(point: u64, k: u64) -> f64 {
        let mut z = (point << 40 ^ (k + 1)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z >> 11) as f64 + 0.5) * 2f64.powi(-51) - 2.0
    }
}
