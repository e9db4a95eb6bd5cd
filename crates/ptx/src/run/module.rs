//! A module that was loaded: its code, and its variables in memory.

use super::memory::Memory;
use crate::code::Code;
use crate::decode::decode;
use crate::parse::{Place, parse};
use crate::{Fault, Result};
use std::collections::HashMap;

/// A module in a GPU.
#[derive(Debug)]
pub struct Loaded {
    /// Its instructions.
    pub code: Code,
    /// The architecture it was made for, such as 90.
    pub target: u32,
    variables: HashMap<String, u64>,
}

impl Loaded {
    /// Parses and decodes a text and puts its variables into memory.
    ///
    /// # Errors
    /// What is not understood, by name and line; memory that is full.
    pub fn new(text: &str, memory: &mut Memory) -> Result<Loaded> {
        let module = parse(text)?;
        let mut variables = HashMap::new();
        for global in module.globals.iter().filter(|g| g.place != Place::Shared) {
            let mut bytes = global.initial.clone();
            bytes.resize(global.variable.bytes as usize, 0);
            let at = memory.variable(bytes, global.place == Place::Const);
            let name = global.variable.name.clone();
            let at = at.ok_or_else(|| Fault::new(0, format!("no memory for {name}")))?;
            variables.insert(name, at);
        }
        Ok(Loaded {
            code: decode(&module, &variables)?,
            target: module.target,
            variables,
        })
    }

    /// The address of a variable.
    pub fn variable(&self, name: &str) -> Option<u64> {
        self.variables.get(name).copied()
    }

    /// Gives its variables back.
    pub fn unload(&self, memory: &mut Memory) {
        for at in self.variables.values() {
            memory.free(*at);
        }
    }
}
