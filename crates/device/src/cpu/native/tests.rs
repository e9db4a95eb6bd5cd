//! Planted faults are found before the code is used, and the interpreter takes over.

use super::x86::{Encoding, Mem, Opcode, Parts, Rm, Writer};
use super::{CUT_EPILOGUE, CUT_PARTIALS_INDEX, CUT_PROLOGUE, Fault, PARTIALS_INDEX, PROLOGUE, RET};
use crate::cpu::engine::choose_with;
use crate::cpu::{Engine, Function};
use crate::lanes::Level;
use fitzroy_graph::{Bindings, Graph, NodeId, Real, Scope};

/// Σ exp(0.3 (y − a)) over 37 rows: a constant, a difference, and a last register that is not full.
fn problem() -> (Graph, Bindings, NodeId) {
    let scope = Scope::new();
    let rows = scope.dim("rows", 37);
    let (y, a) = (scope.data("y", &[rows]), scope.param(0, &[rows]));
    let third = fitzroy_graph::Expr::lit(0.3);
    let total = scope.node(((y - a) * third).exp().sum_all());
    let bindings = Bindings {
        data: vec![(0..37).map(|k| 0.1 * f64::from(k)).collect()],
        indices: vec![],
    };
    (scope.finish(), bindings, total)
}

fn with_fault(level: Level, fault: Fault) -> Function {
    let (graph, bindings, total) = problem();
    let plain = Function::compile_for(level, Engine::Interpreter, &graph, &bindings, &[total]);
    choose_with(plain.expect("it compiles"), Engine::Emitter, vec![], fault)
}

#[test]
fn faults_of_the_emitter_are_found_and_the_interpreter_takes_over() {
    let levels = Level::available();
    for &level in levels.iter().filter(|&&l| l != Level::Scalar) {
        let sound = with_fault(level, Fault::None);
        assert_eq!(sound.engine(), Engine::Emitter, "{:?}", sound.engine_note());
        for fault in [Fault::Constant, Fault::Difference, Fault::Tail] {
            let found = with_fault(level, fault);
            assert_eq!(
                found.engine(),
                Engine::Interpreter,
                "{fault:?} at {level:?}"
            );
            let note = found.engine_note().expect("it says why");
            assert!(note.contains("the interpreter is used"), "{note}");
        }
    }
}

#[test]
fn without_memory_to_execute_the_interpreter_takes_over() {
    let levels = Level::available();
    for &level in levels.iter().filter(|&&l| l != Level::Scalar) {
        let refused = with_fault(level, Fault::Refused);
        assert_eq!(refused.engine(), Engine::Interpreter);
        let note = refused.engine_note().expect("it says why");
        assert!(note.contains("no memory to execute"), "{note}");
    }
}

/// A line of `tests/golden/encoding.txt`, encoded here, and the bytes of the assembler.
fn encoded(line: &str) -> (String, String) {
    let columns: Vec<&str> = line.split(" | ").collect();
    let fields: Vec<&str> = columns[0].split(' ').collect();
    let number = |k: usize| fields[k].parse::<u8>().expect("a byte");
    let encoding = if fields[0] == "vex" {
        Encoding::Vex
    } else {
        Encoding::Evex
    };
    let (kind, rest) = fields[8].split_at(1);
    let memory = || {
        let parts: Vec<&str> = rest.split(':').collect();
        Mem::At {
            base: parts[0].parse().expect("a register"),
            index: parts[1].parse().ok(),
            disp: parts[2].parse().expect("a distance"),
        }
    };
    let rm = match kind {
        "r" => Rm::Reg(rest.parse().expect("a register")),
        "b" => Rm::Broadcast(memory()),
        _ => Rm::Mem(memory()),
    };
    let mut writer = Writer::new(encoding, number(1));
    let opcode = Opcode(number(2), number(3), number(4) == 1, number(5));
    let parts = Parts {
        reg: number(6),
        middle: number(7),
        rm,
        mask: number(9),
        immediate: fields[10].parse().ok(),
    };
    writer.vector(opcode, parts);
    let bytes = writer.bytes.iter().map(|b| format!("{b:02x}"));
    (bytes.collect(), columns[1].to_string())
}

#[test]
fn instructions_have_the_bytes_of_the_gnu_assembler() {
    let table = include_str!("../../../tests/golden/encoding.txt");
    let (fixed, told): (Vec<&str>, Vec<&str>) =
        table.lines().partition(|line| line.starts_with("fixed"));
    assert!(told.len() > 300);
    for line in told {
        let (got, want) = encoded(line);
        assert_eq!(got, want, "{line}");
    }
    let written: Vec<&[u8]> = [
        &CUT_PROLOGUE[..],
        &PROLOGUE,
        &PARTIALS_INDEX,
        &CUT_PARTIALS_INDEX[1..],
        &[&[CUT_EPILOGUE][..], &[RET]],
    ]
    .concat();
    assert_eq!(written.len(), fixed.len());
    for (line, bytes) in fixed.iter().zip(written) {
        let bytes: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(line.split(" | ").nth(1), Some(&*bytes), "{line}");
    }
}

#[test]
fn what_is_left_out_where_an_argument_is_a_size_changes_no_bit() {
    let scope = Scope::new();
    let rows = scope.dim("rows", 37);
    let (y, a) = (scope.data("y", &[rows]), scope.param(0, &[rows]));
    let x = y - a;
    let third = fitzroy_graph::Expr::lit(0.3);
    // A size, one over a root, a square and what may lie below 0.
    let all = (x.abs() * third).erfcx()
        + (x.abs() / (x * x + third).sqrt()).erfcx()
        + (x * x).erfcx()
        + (x * third).erfcx();
    let total = scope.node(all.sum_all());
    let bindings = Bindings {
        data: vec![(0..37).map(|k| 0.3 * f64::from(k) - 5.0).collect()],
        indices: vec![],
    };
    let graph = scope.finish();
    let levels = Level::available();
    for &level in levels.iter().filter(|&&l| l != Level::Scalar) {
        let of = |engine| {
            let function = Function::compile_for(level, engine, &graph, &bindings, &[total]);
            let function = function.expect("it compiles");
            assert_eq!(function.engine(), engine, "{:?}", function.engine_note());
            let mut workspace = function.workspace();
            let points = [-3.0, -0.5, 0.0, 0.7, 4.0, f64::NAN];
            points.map(|point| {
                function.run(&mut workspace, &[point; 37]);
                function.output(&workspace, 0)[0].to_bits()
            })
        };
        assert_eq!(of(Engine::Emitter), of(Engine::Interpreter), "{level:?}");
    }
}
