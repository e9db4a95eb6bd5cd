//! The text of a module as functions, variables and statements.

mod split;
mod statement;

pub use statement::{Guard, Operand, Statement};

use crate::{Fault, Result};
use split::{Piece, split};
use statement::{array, declaration};

/// A module.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// The architecture it was made for, such as 90.
    pub target: u32,
    /// Variables outside functions.
    pub globals: Vec<Global>,
    /// Functions that have a body.
    pub functions: Vec<Function>,
}

/// Where a variable lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The memory of the GPU.
    Global,
    /// The same, never written by kernels.
    Const,
    /// A block's own.
    Shared,
    /// A thread's own.
    Local,
    /// Arguments and results.
    Param,
}

/// A variable of so many bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its size.
    pub bytes: u32,
    /// Its address is a multiple of this.
    pub align: u32,
    /// Bytes of one of its elements.
    pub element: u32,
}

/// A variable outside functions.
#[derive(Clone, Debug)]
pub struct Global {
    /// Global, constant or shared.
    pub place: Place,
    /// The variable.
    pub variable: Variable,
    /// What it holds at first; empty for zeros.
    pub initial: Vec<u8>,
}

/// A line of a body.
#[derive(Clone, Debug)]
pub enum Item {
    /// A place to go to.
    Label(String),
    /// A variable of a body: local memory, or an argument of a call.
    Variable(Place, Variable),
    /// Something to do.
    Statement(Statement),
}

/// A function or a kernel.
#[derive(Clone, Debug, Default)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Whether the host launches it.
    pub is_entry: bool,
    /// Threads of a block at most, where it says so.
    pub most_threads: Option<u32>,
    /// Results.
    pub results: Vec<Variable>,
    /// Arguments.
    pub arguments: Vec<Variable>,
    /// Names and types of registers, such as `%rd7` and `b64`.
    pub registers: Vec<(String, String)>,
    /// Its lines.
    pub items: Vec<Item>,
}

/// Parses a module.
///
/// # Errors
/// A line that is not understood.
pub fn parse(text: &str) -> Result<Module> {
    let mut module = Module::default();
    let mut pieces = split(text).into_iter();
    let mut waiting: Option<Function> = None;
    while let Some((line, piece)) = pieces.next() {
        match piece {
            Piece::Directive(words) => directive(&mut module, waiting.as_mut(), line, &words)?,
            Piece::Header(text) => waiting = Some(header(line, &text)?),
            Piece::Open => {
                let mut function = waiting
                    .take()
                    .ok_or_else(|| Fault::new(line, "a body without a function"))?;
                body(&mut function, &mut pieces)?;
                module.functions.push(function);
            }
            Piece::Line(text) if is_variable(&text) => module.globals.push(global(line, &text)?),
            Piece::Line(text) if is_forward(&text) => {}
            Piece::Line(text) | Piece::Label(text) => {
                return Err(Fault::new(line, format!("`{text}` outside a function")));
            }
            Piece::Close => return Err(Fault::new(line, "one brace too many")),
        }
    }
    Ok(module)
}

/// What comes without a semicolon: versions, and limits of a kernel.
fn directive(
    module: &mut Module,
    function: Option<&mut Function>,
    line: u32,
    words: &str,
) -> Result<()> {
    let (name, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let bad = || Fault::new(line, format!("`{words}` is not understood"));
    match name {
        ".version" | ".address_size" | ".minnctapersm" | ".maxnreg" | ".noreturn" => Ok(()),
        ".target" => {
            let digits: String = rest.chars().filter(char::is_ascii_digit).collect();
            module.target = digits.parse().map_err(|_| bad())?;
            Ok(())
        }
        ".maxntid" | ".reqntid" => {
            let sizes = rest.split(',').map(|n| n.trim().parse::<u32>());
            let all = sizes.collect::<std::result::Result<Vec<u32>, _>>();
            let function = function.ok_or_else(bad)?;
            function.most_threads = Some(all.map_err(|_| bad())?.iter().product());
            Ok(())
        }
        _ => Err(bad()),
    }
}

/// Words in front of a declaration that say who else may see it.
const LINKAGE: [&str; 4] = [".visible", ".extern", ".weak", ".common"];

/// A declaration without the words of [`LINKAGE`].
fn without_linkage(text: &str) -> &str {
    let mut text = text.trim();
    while let Some(rest) = LINKAGE.iter().find_map(|w| text.strip_prefix(w)) {
        text = rest.trim_start();
    }
    text
}

fn is_variable(text: &str) -> bool {
    let text = without_linkage(text);
    [".global", ".const", ".shared"]
        .iter()
        .any(|p| text.starts_with(p))
}

/// Whether a line announces a function that comes later.
fn is_forward(text: &str) -> bool {
    let text = without_linkage(text);
    text.starts_with(".func") || text.starts_with(".entry")
}

fn global(line: u32, text: &str) -> Result<Global> {
    let text = without_linkage(text);
    let (left, right) = text
        .split_once('=')
        .map_or((text, None), |(l, r)| (l, Some(r)));
    let (place, variable) = declaration(line, left)?;
    let mut initial = Vec::new();
    if let Some(values) = right {
        initial = array(line, values, variable.element)?;
        initial.resize(variable.bytes as usize, 0);
    }
    Ok(Global {
        place,
        variable,
        initial,
    })
}

/// `.func (RESULTS) NAME (ARGUMENTS)`, or `.entry` likewise.
fn header(line: u32, text: &str) -> Result<Function> {
    let bad = || Fault::new(line, format!("`{text}` is no head of a function"));
    let text = without_linkage(text);
    let is_entry = text.starts_with(".entry");
    let rest = text
        .strip_prefix(".entry")
        .or_else(|| text.strip_prefix(".func"))
        .ok_or_else(bad)?;
    let (results, rest) = match rest.trim_start().strip_prefix('(') {
        Some(inside) => {
            let (inside, rest) = inside.split_once(')').ok_or_else(bad)?;
            (variables(line, inside)?, rest)
        }
        None => (Vec::new(), rest),
    };
    let (name, inside) = rest.split_once('(').unwrap_or((rest, ")"));
    let (inside, tail) = inside.rsplit_once(')').ok_or_else(bad)?;
    if !tail.trim().is_empty() || name.trim().is_empty() {
        return Err(bad());
    }
    Ok(Function {
        name: name.trim().into(),
        is_entry,
        results,
        arguments: variables(line, inside)?,
        ..Function::default()
    })
}

/// Parameters, separated by commas.
fn variables(line: u32, text: &str) -> Result<Vec<Variable>> {
    let parts = text.split(',').map(str::trim).filter(|p| !p.is_empty());
    parts.map(|p| declaration(line, p).map(|d| d.1)).collect()
}

/// The lines of a body, whose opening brace was read.
fn body(function: &mut Function, pieces: &mut impl Iterator<Item = (u32, Piece)>) -> Result<()> {
    let mut depth = 1;
    let mut last = 0;
    for (line, piece) in pieces {
        last = line;
        match piece {
            Piece::Open => depth += 1,
            Piece::Close if depth == 1 => return Ok(()),
            Piece::Close => depth -= 1,
            Piece::Label(name) => function.items.push(Item::Label(name)),
            Piece::Line(text) if text.starts_with(".pragma") => {}
            Piece::Line(text) if text.starts_with(".reg") => registers(function, line, &text)?,
            Piece::Line(text) if text.starts_with('.') => {
                let (place, variable) = declaration(line, &text)?;
                function.items.push(Item::Variable(place, variable));
            }
            Piece::Line(text) => {
                let statement = Statement::parse(line, &text)?;
                function.items.push(Item::Statement(statement));
            }
            Piece::Header(text) | Piece::Directive(text) => {
                return Err(Fault::new(line, format!("`{text}` inside a function")));
            }
        }
    }
    Err(Fault::new(last, "the text ends inside a function"))
}

/// `.reg .b64 %rd<53>`, or names.
fn registers(function: &mut Function, line: u32, text: &str) -> Result<()> {
    let bad = || Fault::new(line, format!("`{text}` declares no registers"));
    let rest = text.strip_prefix(".reg").ok_or_else(bad)?.trim_start();
    let (kind, names) = rest.split_once(char::is_whitespace).ok_or_else(bad)?;
    let kind = kind.strip_prefix('.').ok_or_else(bad)?;
    for name in names.split(',').map(str::trim) {
        match name.split_once('<') {
            Some((stem, count)) => {
                let count = count.strip_suffix('>').ok_or_else(bad)?;
                let count: u32 = count.parse().map_err(|_| bad())?;
                let all = (0..count).map(|k| (format!("{stem}{k}"), kind.to_string()));
                function.registers.extend(all);
            }
            None => function.registers.push((name.into(), kind.into())),
        }
    }
    Ok(())
}
