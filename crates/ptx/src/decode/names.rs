//! Names of a module and their places: registers, constants, labels, parameters, variables.

use super::modifiers::Modifiers;
use super::special::{Known, offsets, special};
use crate::code::{Condition, Frame, Lanes, Value, WARP};
use crate::parse::{Function, Module, Operand, Place, Variable};
use crate::run::memory::SHARED_WINDOW;
use crate::{Fault, Result};
use std::collections::{BTreeMap, HashMap};

/// A register: its place and its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Register {
    pub(super) at: u32,
    pub(super) bits: u32,
    pub(super) is_predicate: bool,
}

/// What a function looks like from outside: the places of its parameters by offset, with their bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Signature {
    pub(super) arguments: Vec<Parameter>,
    pub(super) results: Vec<Parameter>,
}

/// A parameter in registers: one for every four of its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) first: u32,
    pub(super) bytes: u32,
}

/// Four bytes of a parameter are a register.
const GRAIN: u32 = 4;

/// Bytes that are read and written at the parts of a parameter: they must agree on both sides of a call.
type Widths = BTreeMap<(String, String, u32), u32>;

/// Names of a module, and of the function that is being decoded.
#[derive(Default)]
pub(super) struct Names {
    /// Numbers and signatures of functions.
    functions: HashMap<String, (u32, Signature)>,
    /// Addresses of variables of the module; those of shared memory in its window.
    variables: HashMap<String, u64>,
    pub(super) shared_bytes: u32,
    constants: Vec<u64>,
    places: HashMap<u64, u32>,
    // Of the function.
    current: String,
    is_entry: bool,
    registers: HashMap<String, Register>,
    labels: HashMap<String, u32>,
    locals: HashMap<String, u32>,
    parameters: HashMap<String, Parameter>,
    kernel_arguments: HashMap<String, u32>,
    frame: Frame,
    /// Of all functions, by function, parameter and offset.
    widths: Widths,
    /// Calls: the parameter as whoever writes it has it, and as whoever reads it.
    calls: Vec<(u32, [(String, String); 2])>,
}

/// The places of parameters that begin at place `next`.
fn placed(variables: &[Variable], next: &mut u32) -> Vec<Parameter> {
    let one = |v: &Variable| {
        let first = *next;
        *next += v.bytes.div_ceil(GRAIN);
        Parameter {
            name: v.name.clone(),
            first,
            bytes: v.bytes,
        }
    };
    variables.iter().map(one).collect()
}

impl Names {
    pub(super) fn new(module: &Module, addresses: &HashMap<String, u64>) -> Result<Names> {
        let mut names = Names {
            variables: addresses.clone(),
            ..Names::default()
        };
        for global in module.globals.iter().filter(|g| g.place == Place::Shared) {
            let variable = &global.variable;
            let at = names.shared_bytes.next_multiple_of(variable.align);
            let address = SHARED_WINDOW + u64::from(at);
            names.variables.insert(variable.name.clone(), address);
            names.shared_bytes = at + variable.bytes;
        }
        for (k, function) in module.functions.iter().enumerate() {
            let mut next = 0;
            let signature = match function.is_entry {
                true => Signature::default(),
                false => Signature {
                    arguments: placed(&function.arguments, &mut next),
                    results: placed(&function.results, &mut next),
                },
            };
            let entry = (k as u32, signature);
            names.functions.insert(function.name.clone(), entry);
        }
        Ok(names)
    }

    /// Begins with a function.
    pub(super) fn enter(&mut self, function: &Function) -> Result<()> {
        self.current.clone_from(&function.name);
        self.is_entry = function.is_entry;
        for map in [&mut self.labels, &mut self.locals] {
            map.clear();
        }
        (self.registers, self.parameters) = (HashMap::new(), HashMap::new());
        self.kernel_arguments.clear();
        self.frame = Frame::default();
        let signature = &self.functions[&function.name].1;
        for p in signature.arguments.iter().chain(&signature.results) {
            self.parameters.insert(p.name.clone(), p.clone());
            self.frame.registers = p.first + p.bytes.div_ceil(GRAIN);
        }
        if function.is_entry {
            let offsets = offsets(&function.arguments);
            let names = function.arguments.iter().map(|a| a.name.clone());
            self.kernel_arguments = names.zip(offsets.iter().map(|o| o.0)).collect();
        }
        for (name, kind) in &function.registers {
            let is_predicate = kind == "pred";
            let bits = match kind.trim_start_matches(|c: char| !c.is_ascii_digit()) {
                _ if is_predicate => 1,
                digits => digits.parse().ok().filter(|b| *b <= 64).ok_or_else(|| {
                    Fault::new(
                        0,
                        format!("{name}: registers of type .{kind} are not known here"),
                    )
                })?,
            };
            let next = match is_predicate {
                true => &mut self.frame.predicates,
                false => &mut self.frame.registers,
            };
            let register = Register {
                at: *next,
                bits,
                is_predicate,
            };
            *next += 1;
            self.registers.insert(name.clone(), register);
        }
        Ok(())
    }

    /// Ends with a function.
    pub(super) fn leave(&mut self) -> Result<Frame> {
        Ok(std::mem::take(&mut self.frame))
    }

    pub(super) fn label(&mut self, name: &str, at: u32) {
        self.labels.insert(name.into(), at);
    }

    pub(super) fn place_of_label(&self, name: &str, line: u32) -> Result<u32> {
        let found = self.labels.get(name).copied();
        found.ok_or_else(|| Fault::new(line, format!("there is no label {name}")))
    }

    /// A variable in the thread's own memory.
    pub(super) fn local(&mut self, variable: &Variable) {
        let at = self.frame.local.next_multiple_of(variable.align.max(8));
        self.locals.insert(variable.name.clone(), at);
        self.frame.local = (at + variable.bytes).next_multiple_of(16);
    }

    /// An argument or a result of a call; the name may have meant another before.
    pub(super) fn parameter(&mut self, variable: &Variable) {
        let one = std::slice::from_ref(variable);
        let placed = placed(one, &mut self.frame.registers);
        let parameter = placed.into_iter().next().expect("one of one");
        self.parameters.insert(variable.name.clone(), parameter);
    }

    /// Names of arguments come again: with their place they are unique in a function.
    fn unique(&self, parameter: &Parameter) -> String {
        format!("{}@{}", parameter.name, parameter.first)
    }

    /// The register of `bytes` bytes at an offset of a parameter.
    pub(super) fn part(
        &mut self,
        (name, offset): (&str, i64),
        bytes: u32,
        is_written: bool,
        line: u32,
    ) -> Result<u32> {
        let found = self.parameters.get(name).cloned();
        let parameter =
            found.ok_or_else(|| Fault::new(line, format!("there is no parameter {name}")))?;
        let inside = offset >= 0
            && (offset as u64).is_multiple_of(u64::from(GRAIN))
            && offset as u64 + u64::from(bytes) <= u64::from(parameter.bytes.max(GRAIN));
        if !inside {
            let text = format!("{bytes} bytes at offset {offset} of {name} are not known here");
            return Err(Fault::new(line, text));
        }
        let offset = offset as u32;
        let key = (self.current.clone(), self.unique(&parameter), offset);
        let known = self.widths.entry(key).or_insert(bytes);
        *known = match is_written {
            true => bytes.min(*known),
            false => bytes.max(*known),
        };
        Ok(parameter.first + offset / GRAIN)
    }

    /// The offset of an argument of the kernel; none where the name is not one.
    pub(super) fn kernel_argument(&self, name: &str) -> Option<u32> {
        self.kernel_arguments.get(name).copied()
    }

    /// Places in the caller's and in the function's frame that a call joins.
    pub(super) fn joined(
        &mut self,
        line: u32,
        names: &[String],
        theirs: &[Parameter],
        function: &str,
        is_result: bool,
    ) -> Result<Vec<(u32, u32)>> {
        if names.len() != theirs.len() {
            let text = format!("{function} takes or gives another number of parameters");
            return Err(Fault::new(line, text));
        }
        let mut pairs = Vec::new();
        for (name, theirs) in names.iter().zip(theirs) {
            let own = self.parameters.get(name).cloned();
            let own = own.ok_or_else(|| Fault::new(line, format!("there is no {name}")))?;
            let n = own.bytes.min(theirs.bytes).div_ceil(GRAIN);
            pairs.extend((0..n).map(|k| (own.first + k, theirs.first + k)));
            let mut sides = [
                (self.current.clone(), self.unique(&own)),
                (function.to_string(), self.unique(theirs)),
            ];
            if is_result {
                sides.swap(0, 1);
            }
            self.calls.push((line, sides));
        }
        Ok(pairs)
    }

    /// No side of a call reads more bytes of a parameter than the other one wrote.
    pub(super) fn check_calls(&self) -> Result<()> {
        for (line, [writer, reader]) in &self.calls {
            let read = |k: &(String, String, u32)| (&k.0, &k.1) == (&reader.0, &reader.1);
            for ((_, name, offset), bytes) in self.widths.iter().filter(|w| read(w.0)) {
                let key = (writer.0.clone(), writer.1.clone(), *offset);
                let written = self.widths.get(&key).copied().unwrap_or(0);
                if written < *bytes {
                    let text = format!("{bytes} bytes of {name} are read, {written} were written");
                    return Err(Fault::new(*line, text));
                }
            }
        }
        Ok(())
    }

    /// Number and signature of a function.
    pub(super) fn function(&self, name: &str, line: u32) -> Result<(u32, Signature)> {
        let found = self.functions.get(name).cloned();
        found.ok_or_else(|| Fault::new(line, format!("there is no function {name}")))
    }

    /// A constant.
    pub(super) fn constant(&mut self, bits: u64) -> Value {
        let next = self.constants.len() as u32;
        let at = *self.places.entry(bits).or_insert(next);
        if at == next {
            self.constants.push(bits);
        }
        Value::Constant(at)
    }

    pub(super) fn constants(&self) -> Vec<Lanes> {
        self.constants.iter().map(|&bits| [bits; WARP]).collect()
    }

    /// The register of a name.
    pub(super) fn register(&self, name: &str, line: u32) -> Result<Register> {
        let found = self.registers.get(name).copied();
        found.ok_or_else(|| Fault::new(line, format!("there is no register {name}")))
    }

    /// The place of a predicate.
    pub(super) fn predicate(&self, name: &str, line: u32) -> Result<u32> {
        let register = self.register(name, line)?;
        match register.is_predicate {
            true => Ok(register.at),
            false => Err(Fault::new(line, format!("{name} is no predicate"))),
        }
    }

    /// A predicate, or its opposite, as an operand.
    pub(super) fn condition(&self, operand: &Operand, line: u32) -> Result<Condition> {
        let (name, is_not) = match operand {
            Operand::Name(name) => (name, false),
            Operand::Not(name) => (name, true),
            _ => return Err(Fault::new(line, format!("{operand:?} is no predicate"))),
        };
        let at = self.predicate(name, line)?;
        Ok(Condition { at, is_not })
    }

    /// The place of a result of at least `bits` bits; none where nobody wants it.
    pub(super) fn target(&self, operand: &Operand, bits: u32, line: u32) -> Result<Option<u32>> {
        let name = match operand {
            Operand::Nothing => return Ok(None),
            Operand::Name(name) => name,
            _ => return Err(Fault::new(line, format!("{operand:?} is no place"))),
        };
        let register = self.register(name, line)?;
        match register.bits >= bits && !register.is_predicate {
            true => Ok(Some(register.at)),
            false => Err(Fault::new(
                line,
                format!("{name} has no room for {bits} bits"),
            )),
        }
    }

    /// The place of a result that somebody wants.
    pub(super) fn result(&self, operand: &Operand, bits: u32, line: u32) -> Result<u32> {
        let found = self.target(operand, bits, line)?;
        found.ok_or_else(|| Fault::new(line, "a result that nobody wants is not known here"))
    }

    /// The bytes of local memory before a variable; none where it is not one.
    pub(super) fn local_offset(&self, name: &str) -> Option<u32> {
        self.locals.get(name).copied()
    }

    /// The address of a variable of the module.
    pub(super) fn variable(&self, name: &str) -> Option<u64> {
        self.variables.get(name).copied()
    }

    /// A value of `bits` bits.
    pub(super) fn value(&mut self, operand: &Operand, bits: u32, line: u32) -> Result<Value> {
        let whole = if bits >= 64 {
            u64::MAX
        } else {
            (1 << bits) - 1
        };
        match operand {
            Operand::Integer(v) => Ok(self.constant(*v as u64 & whole)),
            Operand::Single(v) if bits == 32 => Ok(self.constant(u64::from(*v))),
            Operand::Double(v) if bits == 64 => Ok(self.constant(*v)),
            Operand::Name(name) => match name.strip_prefix('%') {
                Some(own) => match special(own) {
                    Some(Known::Special(special)) => Ok(Value::Special(special)),
                    Some(Known::Constant(v)) => Ok(self.constant(v)),
                    None => {
                        let register = self.register(name, line)?;
                        match register.is_predicate {
                            false => Ok(Value::Register(register.at)),
                            true => Err(Fault::new(line, format!("{name} is a predicate"))),
                        }
                    }
                },
                None => match self.variable(name) {
                    Some(address) => Ok(self.constant(address)),
                    None => Err(Fault::new(line, format!("there is no variable {name}"))),
                },
            },
            _ => Err(Fault::new(
                line,
                format!("{operand:?} is no value of {bits} bits"),
            )),
        }
    }
}

/// The operands of a statement, exactly so many.
pub(super) fn exactly<'o, const N: usize>(
    m: &Modifiers,
    operands: &'o [Operand],
) -> Result<&'o [Operand; N]> {
    let found = operands.try_into();
    found.map_err(|_| m.refuse(&format!("{} operands, and not {N}", operands.len())))
}
