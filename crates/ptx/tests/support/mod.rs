//! Small kernels around the instructions that are tried, and random operands.
// Every test file uses a part of it.
#![allow(dead_code)]

use fitzroy_ptx::run::dice::Dice;
use fitzroy_ptx::run::{Counts, Loaded, Memory, Order, Shape, launch};

/// The head of every module.
const HEAD: &str = ".version 8.8\n.target sm_90\n.address_size 64\n";

/// A kernel with a pointer to operands, one to results, and a body.
pub(crate) fn kernel(registers: &str, body: &str) -> String {
    format!(
        "{HEAD}.visible .entry test(.param .u64 test_param_0, .param .u64 test_param_1)\n{{\n\
         .reg .b64 %in, %out, %at;\n.reg .b32 %tid;\n{registers}\n\
         ld.param.u64 %in, [test_param_0];\nld.param.u64 %out, [test_param_1];\n\
         mov.u32 %tid, %tid.x;\n{body}\nret;\n}}\n"
    )
}

/// Runs a kernel of that shape; what it left in `n_out` words that held zeros.
pub(crate) fn run(
    text: &str,
    input: &[u64],
    n_out: usize,
    shape: &Shape,
) -> Result<Vec<u64>, String> {
    counted(text, input, n_out, shape).map(|made| made.0)
}

/// The same, and what it took.
pub(crate) fn counted(
    text: &str,
    input: &[u64],
    n_out: usize,
    shape: &Shape,
) -> Result<(Vec<u64>, Counts), String> {
    let mut memory = Memory::new(0, 1 << 30);
    let loaded = Loaded::new(text, &mut memory).map_err(|f| f.to_string())?;
    let bytes = |words: &[u64]| {
        words
            .iter()
            .flat_map(|w| w.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let from = memory.variable(bytes(input), false).unwrap();
    let to = memory.variable(vec![0; 8 * n_out], false).unwrap();
    let arguments = bytes(&[from, to]);
    let counts = launch(&loaded, &mut memory, "test", &arguments, shape);
    let counts = counts.map_err(|f| f.to_string())?;
    let out = memory.bytes(to, 8 * n_out, 0).unwrap();
    let words = out.chunks_exact(8);
    let words = words.map(|w| u64::from_le_bytes(w.try_into().unwrap()));
    Ok((words.collect(), counts))
}

/// What an instruction makes of operands: registers `%d`, and `%a`, `%b`, ... of the types `of`.
pub(crate) fn made(instruction: &str, to: &str, of: &[&str], operands: &[Vec<u64>]) -> Vec<u64> {
    let bytes = |kind: &str| kind[1..].parse::<u32>().unwrap_or(32) / 8;
    let mut registers =
        format!(".reg .{to} %d;\n.reg .b32 %r;\n.reg .pred %p, %q;\n.reg .pred %pa;\n");
    let stride = 8 * operands[0].len();
    let mut body = format!("mad.wide.u32 %at, %tid, {stride}, %in;\n");
    for (k, kind) in of.iter().enumerate() {
        let name = ["%a", "%b", "%c", "%e"][k];
        registers += &format!(".reg .{kind} {name};\n");
        body += &format!("ld.b{} {name}, [%at+{}];\n", 8 * bytes(kind), 8 * k);
    }
    body += instruction;
    let store = match to {
        "pred" => "selp.u32 %r, 1, 0, %d;\nst.b32 [%at], %r;".to_string(),
        _ => format!("st.b{} [%at], %d;", 8 * bytes(to)),
    };
    body += &format!("\nmad.wide.u32 %at, %tid, 8, %out;\n{store}");
    let text = kernel(&registers, &body);
    let mut results = Vec::new();
    for part in operands.chunks(256) {
        let input: Vec<u64> = part.iter().flatten().copied().collect();
        let shape = Shape {
            threads: part.len() as u32,
            ..Shape::default()
        };
        let made = run(&text, &input, part.len(), &shape);
        results.extend(made.unwrap_or_else(|e| panic!("{instruction}: {e}")));
    }
    results
}

/// Compares an instruction with a function of its operands.
#[track_caller]
pub(crate) fn check(
    instruction: &str,
    to: &str,
    of: &[&str],
    operands: &[Vec<u64>],
    expected: impl Fn(&[u64]) -> u64,
) {
    let results = made(instruction, to, of, operands);
    for (result, operands) in results.iter().zip(operands) {
        let expected = expected(operands);
        assert_eq!(
            *result, expected,
            "{instruction} of {operands:x?}: {result:x}, and not {expected:x}"
        );
    }
}

/// Random bits of so many operands, many of them near the ends of their range.
pub(crate) fn whole(n: usize, bits: &[u32], seed: u64) -> Vec<Vec<u64>> {
    let mut dice = Dice::new(seed);
    let one = |bits: u32, dice: &mut Dice| {
        let all = u64::MAX >> (64 - bits);
        let near = dice.below(5) as u64;
        all & match dice.below(6) {
            0 => near,
            1 => near.wrapping_neg(),
            2 => (1 << (bits - 1)) + near - 2,
            3 => dice.bits() >> dice.below(64),
            _ => dice.bits(),
        }
    };
    let row = |_| bits.iter().map(|&b| one(b, &mut dice)).collect();
    (0..n).map(row).collect()
}

/// Random numbers of `f64`: of any size, small whole ones, zeros, those that are none.
pub(crate) fn doubles(n: usize, of: usize, seed: u64) -> Vec<Vec<u64>> {
    let mut dice = Dice::new(seed);
    let mut one = |_: usize| match dice.below(8) {
        0 => dice.bits(),
        1 => [
            0.0,
            -0.0,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            5e-324,
        ][dice.below(6)]
        .to_bits(),
        2 => (dice.below(9) as f64 - 4.0).to_bits(),
        3 => (dice.below(17) as f64 / 2.0 - 4.0).to_bits(),
        _ => {
            let exponent = 1023 - 20 + dice.below(40) as u64;
            exponent << 52 | dice.bits() >> 12 | dice.bits() << 63
        }
    };
    let mut rows = Vec::new();
    for _ in 0..n {
        rows.push((0..of).map(&mut one).collect());
    }
    rows
}

/// The same of `f32`.
pub(crate) fn singles(n: usize, of: usize, seed: u64) -> Vec<Vec<u64>> {
    let mut dice = Dice::new(seed);
    let special = [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e-45];
    let mut one = |_: usize| {
        u64::from(match dice.below(8) {
            0 => dice.bits() as u32,
            1 => special[dice.below(6)].to_bits(),
            2 => (dice.below(9) as f32 - 4.0).to_bits(),
            3 => (dice.below(17) as f32 / 2.0 - 4.0).to_bits(),
            _ => {
                let exponent = 127 - 12 + dice.below(24) as u32;
                exponent << 23 | dice.bits() as u32 >> 9 | (dice.bits() as u32) << 31
            }
        })
    };
    let mut rows = Vec::new();
    for _ in 0..n {
        rows.push((0..of).map(&mut one).collect());
    }
    rows
}

/// What stands for every NaN: a compiler may take one for another, but not for this.
const NONE: u64 = 0x1234_5678_9abc;

/// A number as bits, with every NaN the same.
pub(crate) fn plain(x: f64) -> u64 {
    if x.is_nan() { NONE } else { x.to_bits() }
}

/// The same of `f32`.
pub(crate) fn plain32(x: f32) -> u64 {
    if x.is_nan() {
        NONE
    } else {
        u64::from(x.to_bits())
    }
}

/// Shuffled order, by a seed.
pub(crate) fn shuffled(threads: u32, seed: u64) -> Shape {
    Shape {
        threads,
        order: Order::Shuffled,
        seed,
        most: 50_000_000,
        ..Shape::default()
    }
}
