//! What threads do together, what they must not do, and what is refused.
#![allow(clippy::unwrap_used)]

mod support;

use fitzroy_ptx::run::dice::Dice;
use fitzroy_ptx::run::{Loaded, Memory, Order, Shape};
use support::{counted, kernel, run, shuffled};

const REGISTERS: &str =
    ".reg .b32 %a<20>;\n.reg .b64 %b<10>;\n.reg .f64 %x<10>;\n.reg .pred %p<10>;";

fn lockstep(threads: u32) -> Shape {
    Shape {
        threads,
        most: 50_000_000,
        ..Shape::default()
    }
}

fn words(n: usize, seed: u64) -> Vec<u64> {
    let mut dice = Dice::new(seed);
    (0..n).map(|_| dice.bits() & 0xffff_ffff).collect()
}

/// Loads a word of every thread into %a0, and stores %a1 into a word of every thread.
fn mapped(body: &str) -> String {
    let body = format!(
        "mad.wide.u32 %at, %tid, 8, %in;\nld.b32 %a0, [%at];\n{body}\nmad.wide.u32 %at, %tid, 8, %out;\nst.b32 [%at], %a1;"
    );
    kernel(REGISTERS, &body)
}

#[test]
fn lanes_give_each_other_values_in_groups_of_any_width() {
    let input = words(32, 1);
    for width in [8u64, 16, 32] {
        let clamp = (32 - width) << 8;
        let first = |k: u64| k / width * width;
        let mask = "shr.u32 %a2, %a4, 0;";
        let group = match width {
            32 => "mov.u32 %a4, -1;".to_string(),
            _ => format!(
                "and.b32 %a3, %tid, {};\nmov.u32 %a4, {};\nshl.b32 %a4, %a4, %a3;",
                32 - width,
                (1u64 << width) - 1
            ),
        };
        let cases: [(&str, u64, u64, Box<dyn Fn(u64) -> u64>); 4] = [
            ("bfly", 3, clamp | 31, Box::new(|k| k ^ 3)),
            ("idx", 5, clamp | 31, Box::new(move |k| first(k) + 5)),
            (
                "down",
                2,
                clamp | 31,
                Box::new(move |k| if k + 2 < first(k) + width { k + 2 } else { k }),
            ),
            (
                "up",
                2,
                clamp,
                Box::new(move |k| if k >= first(k) + 2 { k - 2 } else { k }),
            ),
        ];
        for (how, by, limits, from) in cases {
            let body =
                format!("{group}\n{mask}\nshfl.sync.{how}.b32 %a1|%p1, %a0, {by}, {limits}, %a2;");
            for shape in [lockstep(32), shuffled(32, 7), shuffled(32, 8)] {
                let made = run(&mapped(&body), &input, 32, &shape).unwrap();
                let expected: Vec<u64> = (0..32).map(|k| input[from(k) as usize]).collect();
                assert_eq!(made, expected, "{how} in groups of {width}");
            }
        }
    }
}

#[test]
fn votes_count_the_lanes_of_their_mask() {
    let input = words(32, 2);
    let yes = |k: usize| input[k] & 1 == 1;
    let body = "and.b32 %a2, %a0, 1;\nsetp.eq.u32 %p1, %a2, 1;\nvote.sync.ballot.b32 %a1, %p1, -1;";
    let all = (0..32).filter(|&k| yes(k)).fold(0u64, |b, k| b | 1 << k);
    for shape in [lockstep(32), shuffled(32, 3)] {
        assert_eq!(run(&mapped(body), &input, 32, &shape).unwrap(), [all; 32]);
    }
    let body = "and.b32 %a2, %a0, 1;\nsetp.eq.u32 %p1, %a2, 1;\nvote.sync.any.pred %p2, %p1, -1;\n\
                vote.sync.all.pred %p3, %p1, -1;\nselp.u32 %a1, 1, 0, %p2;\n@%p3 add.u32 %a1, %a1, 2;";
    assert_eq!(
        run(&mapped(body), &input, 32, &lockstep(32)).unwrap(),
        [1; 32]
    );
    assert_eq!(
        run(&mapped(body), &[1; 32], 32, &lockstep(32)).unwrap(),
        [3; 32]
    );
    assert_eq!(
        run(&mapped(body), &[2; 32], 32, &lockstep(32)).unwrap(),
        [0; 32]
    );
}

/// A sum by halves, in shared memory, by all threads of a block.
fn by_halves(n: u32, barrier: &str) -> String {
    let mut body = String::from(
        "mad.wide.u32 %at, %tid, 8, %in;\nld.f64 %x0, [%at];\nmov.u64 %b0, partial;\n\
         mad.wide.u32 %b1, %tid, 8, %b0;\nst.shared.f64 [%b1], %x0;\n",
    );
    let mut half = n / 2;
    while half > 0 {
        body += &format!(
            "{barrier}\nsetp.lt.u32 %p0, %tid, {half};\n@!%p0 bra $SKIP{half};\nld.shared.f64 %x0, [%b1];\n\
             ld.shared.f64 %x1, [%b1+{}];\nadd.rn.f64 %x0, %x0, %x1;\nst.shared.f64 [%b1], %x0;\n$SKIP{half}:\n",
            8 * half
        );
        half /= 2;
    }
    body += "setp.eq.u32 %p1, %tid, 0;\n@%p1 st.f64 [%out], %x0;";
    let text = kernel(REGISTERS, &body);
    let variable = format!(".shared .align 8 .b8 partial[{}];\n.visible", 8 * n);
    text.replacen(".visible", &variable, 1)
}

#[test]
fn a_block_adds_by_halves_in_any_order_of_threads() {
    for (n, barrier) in [
        (32, "bar.warp.sync -1;"),
        (32, "bar.sync 0;"),
        (128, "bar.sync 0;"),
    ] {
        let input: Vec<u64> = (0..n).map(|k| f64::from(k * k).to_bits()).collect();
        let sum: u32 = (0..n).map(|k| k * k).sum();
        let text = by_halves(n, barrier);
        for mut shape in [lockstep(n), shuffled(n, 4), shuffled(n, 5)] {
            shape.races = true;
            let (made, counts) = counted(&text, &input, 1, &shape).unwrap();
            assert_eq!(f64::from_bits(made[0]), f64::from(sum));
            assert!(counts.accesses > u64::from(n));
        }
    }
}

#[test]
fn a_barrier_that_is_left_out_is_a_race_whatever_the_order() {
    for (n, barrier) in [(32, "bar.warp.sync -1;"), (128, "bar.sync 0;")] {
        let input = vec![0; n as usize];
        let text = by_halves(n, barrier);
        let count = text.matches(barrier).count();
        for left_out in 0..count {
            let mut parts: Vec<&str> = text.split(barrier).collect();
            let (head, tail) = parts.split_at_mut(left_out + 1);
            let text = [head.join(barrier), tail.join(barrier)].join("");
            for mut shape in [lockstep(n), shuffled(n, 6)] {
                shape.races = true;
                let said = run(&text, &input, 1, &shape);
                // Zeros are the same values, but the barrier orders what is read before and after.
                let numbers: Vec<u64> = (1..=u64::from(n)).map(|k| (k as f64).to_bits()).collect();
                let again = run(&text, &numbers, 1, &shape);
                let said = said.and(again).unwrap_err();
                assert!(
                    said.contains("race at") || said.contains("nobody wrote"),
                    "{left_out}: {said}"
                );
            }
        }
    }
}

/// Blocks that wait for each other by a counter.
fn grid_barrier(fence: &str, blocks: u32) -> String {
    let body = format!(
        "mov.u32 %a0, %ctaid.x;\nmad.wide.u32 %b0, %a0, 8, %out;\nadd.u32 %a1, %a0, 5;\n\
         setp.ne.u32 %p0, %tid, 0;\n@%p0 bra $WAIT;\nst.global.u32 [%b0], %a1;\n$WAIT:\nbar.sync 0;\n\
         @%p0 bra $GO;\nmov.u64 %b1, count;\n{fence}\natom.global.add.u32 %a2, [%b1], 1;\n\
         $AGAIN:\nld.volatile.global.u32 %a3, [%b1];\nsetp.lt.u32 %p1, %a3, {blocks};\n@%p1 bra $AGAIN;\n{fence}\n\
         $GO:\nbar.sync 0;\nadd.u32 %a4, %a0, 1;\nrem.u32 %a4, %a4, {blocks};\nmad.wide.u32 %b2, %a4, 8, %out;\n\
         ld.global.u32 %a5, [%b2];\nmad.wide.u32 %b3, %a0, 8, %out;\nsetp.eq.u32 %p2, %tid, 3;\n\
         @%p2 st.global.u32 [%b3+{}], %a5;",
        8 * blocks
    );
    kernel(REGISTERS, &body).replacen(".visible", ".global .align 4 .b8 count[4];\n.visible", 1)
}

#[test]
fn blocks_that_run_together_wait_for_each_other() {
    let blocks = 5;
    let text = grid_barrier("membar.gl;", blocks);
    let shape = |order, seed, together| Shape {
        blocks,
        threads: 64,
        together,
        order,
        seed,
        races: true,
        most: 3_000_000,
        ..Shape::default()
    };
    for order in [Order::Lockstep, Order::Shuffled] {
        for seed in 0..4 {
            let made = run(&text, &[0], 10, &shape(order, seed, true)).unwrap();
            let expected = [5, 6, 7, 8, 9, 6, 7, 8, 9, 5];
            assert_eq!(made, expected);
        }
        let bare = grid_barrier("", blocks);
        let said = run(&bare, &[0], 10, &shape(order, 1, true)).unwrap_err();
        assert!(said.contains("race at"), "{said}");
        // Not all of them at once: the first wait for ever.
        let said = run(&text, &[0], 10, &shape(order, 1, false)).unwrap_err();
        assert!(said.contains("does not end"), "{said}");
    }
}

#[test]
fn functions_have_frames_results_and_memory_of_their_own() {
    let text = "\
.func (.param .align 8 .b8 result[16]) both(.param .b64 both_0, .param .b32 both_1)
{
.local .align 8 .b8 own[16];
.reg .f64 %x<4>; .reg .b32 %k; .reg .b64 %l; .reg .pred %p;
ld.param.f64 %x0, [both_0];
ld.param.u32 %k, [both_1];
setp.eq.u32 %p, %k, 0;
@%p bra $END;
mov.u64 %l, own;
cvta.local.u64 %l, %l;
st.f64 [%l+8], %x0;
add.rn.f64 %x1, %x0, 0d3FF0000000000000;
sub.u32 %k, %k, 1;
{
.param .b64 p0; st.param.f64 [p0+0], %x1;
.param .b32 p1; st.param.b32 [p1+0], %k;
.param .align 8 .b8 r0[16];
call.uni (r0), both, (p0, p1);
ld.param.v2.f64 {%x2, %x3}, [r0+0];
}
ld.f64 %x1, [%l+8];
add.rn.f64 %x3, %x3, %x1;
st.param.v2.f64 [result+0], {%x2, %x3};
ret;
$END:
mov.f64 %x3, 0d0000000000000000;
st.param.v2.f64 [result+0], {%x0, %x3};
ret;
}
";
    let body = "mad.wide.u32 %at, %tid, 8, %in;\nld.f64 %x0, [%at];\nand.b32 %a0, %tid, 3;\n{\n\
                .param .b64 p0; st.param.f64 [p0+0], %x0;\n.param .b32 p1; st.param.b32 [p1+0], %a0;\n\
                .param .align 8 .b8 r0[16];\ncall.uni (r0), both, (p0, p1);\n\
                ld.param.v2.f64 {%x1, %x2}, [r0+0];\n}\nmad.wide.u32 %at, %tid, 16, %out;\n\
                st.v2.f64 [%at], {%x1, %x2};";
    let text = kernel(REGISTERS, body).replacen(".visible", &format!("{text}.visible"), 1);
    let input: Vec<u64> = (0..32).map(|k| f64::from(k).to_bits()).collect();
    for shape in [lockstep(32), shuffled(32, 9), shuffled(32, 10)] {
        let made = run(&text, &input, 64, &shape).unwrap();
        for k in 0..32u32 {
            let (x, n) = (f64::from(k), k & 3);
            let sum: f64 = (0..n).map(|j| x + f64::from(j)).sum();
            let pair = [made[2 * k as usize], made[2 * k as usize + 1]].map(f64::from_bits);
            assert_eq!(pair, [x + f64::from(n), sum]);
        }
    }
}

#[test]
fn atomic_operations_are_made_one_after_the_other() {
    let body = "atom.global.add.u32 %a1, [%out], %tid;\natom.global.max.s32 %a2, [%out+8], %tid;\n\
                red.global.or.b32 [%out+16], 4;\natom.global.cas.b64 %b0, [%out+24], 0, 7;\n\
                atom.global.exch.b32 %a3, [%out+32], 9;\natom.global.min.u32 %a4, [%out+40], %tid;";
    for shape in [lockstep(64), shuffled(64, 11)] {
        let made = run(&kernel(REGISTERS, body), &[0], 6, &shape).unwrap();
        assert_eq!(made, [63 * 32, 63, 4, 7, 9, 0]);
    }
}

#[test]
fn what_a_gpu_would_leave_undefined_is_a_fault_that_names_its_line() {
    let cases = [
        (
            "ld.f64 %x0, [%in+8];",
            "8 bytes at offset 8 of 8 bytes: outside",
        ),
        ("ld.b32 %a0, [%in+2];", "not at a multiple of their number"),
        (
            "ld.v2.f64 {%x0, %x1}, [%in];",
            "16 bytes at offset 0 of 8 bytes: outside",
        ),
        (
            "mov.u64 %b0, 0;\nst.b32 [%b0], 1;",
            "no address of a GPU's memory",
        ),
        (
            "mov.u64 %b0, 844424930131968;\nld.b32 %a0, [%b0];",
            "memory of GPU 2, not of this one",
        ),
        (
            "setp.lt.u32 %p0, %tid, 16;\n@%p0 bar.sync 0;",
            "wait here for others that have ended",
        ),
        (
            "setp.lt.u32 %p0, %tid, 16;\n@%p0 bar.sync 0;\n@!%p0 bar.sync 0;",
            "not at one barrier",
        ),
        (
            "setp.lt.u32 %p0, %tid, 16;\n@%p0 bar.warp.sync -1;",
            "no thread can go on",
        ),
        ("bar.warp.sync 1;", "is not in its own mask"),
        (
            "setp.lt.u32 %p0, %tid, 16;\n@%p0 shfl.sync.idx.b32 %a1|%p1, %tid, 20, 31, 65535;\n\
             @!%p0 bar.warp.sync 4294901760;",
            "which does not take part",
        ),
        ("trap;", "the kernel ends itself"),
        ("$L:\nbra $L;", "does not end"),
    ];
    for (body, said) in cases {
        for mut shape in [lockstep(32), shuffled(32, 12)] {
            shape.most = 100_000;
            let found = run(&kernel(REGISTERS, body), &[0], 1, &shape).unwrap_err();
            assert!(found.contains(said), "{body}: {found}");
        }
    }
    let shared = kernel(REGISTERS, "ld.shared.f64 %x0, [room];");
    let shared = shared.replacen(".visible", ".shared .align 8 .b8 room[64];\n.visible", 1);
    let found = run(&shared, &[0], 1, &lockstep(32)).unwrap_err();
    assert!(
        found
            .contains("PTX line 16: 8 bytes at 0 of shared memory are read, and nobody wrote them"),
        "{found}"
    );
}

#[test]
fn fresh_memory_is_full_of_what_is_no_number() {
    let mut memory = Memory::new(0, 1 << 20);
    let at = memory.allocate(20).unwrap();
    let bytes = memory.bytes(at, 16, 0).unwrap();
    for word in bytes.chunks_exact(8) {
        assert!(f64::from_bits(u64::from_le_bytes(word.try_into().unwrap())).is_nan());
    }
    assert_eq!(memory.total_and_free(), (1 << 20, (1 << 20) - 20));
    assert!(memory.allocate(1 << 20).is_none() && memory.allocate(0).is_none());
    assert!(!memory.free(at + 4) && memory.free(at) && !memory.free(at));
    assert!(
        memory
            .bytes(at, 1, 0)
            .unwrap_err()
            .text
            .contains("given back")
    );
}

#[test]
fn what_is_not_known_is_refused_by_name_and_line() {
    for (body, said) in [
        (
            "wgmma.fence.sync.aligned;",
            "PTX line 15: `wgmma.fence.sync.aligned` is not known here: no such",
        ),
        (
            "add.sat.s32 %a0, %a1, %a2;",
            "`add.sat.s32` is not known here: what does .sat mean?",
        ),
        (
            "add.f64 %x0, %x1, %x2;",
            "without a rounding it may become part of another instruction",
        ),
        ("add.rn.ftz.f64 %x0, %x1, %x2;", "f64 is never flushed"),
        (
            "fma.rz.f64 %x0, %x1, %x2, %x3;",
            "this rounding is not known here",
        ),
        ("mov.u32 %a0, %smid;", "there is no register %smid"),
        ("add.s32 %a0, %a1, %b;", "there is no register %b"),
        ("add.s32 %p0, %a1, %a2;", "%p0 has no room for 32 bits"),
        ("bra $NOWHERE;", "there is no label $NOWHERE"),
        ("call.uni nobody, ();", "there is no function nobody"),
        (
            "ld.global.acquire.gpu.u32 %a0, [%in];",
            "what does .acquire.gpu mean?",
        ),
        ("bar.arrive 0, 64;", "only .sync is known here"),
        ("cvt.rn.bf16.f32 %a0, %a1;", "no type that is known here"),
    ] {
        let mut memory = Memory::new(0, 1 << 20);
        let found = Loaded::new(&kernel(REGISTERS, body), &mut memory)
            .unwrap_err()
            .to_string();
        assert!(found.contains(said), "{body}: {found}");
    }
    for (text, said) in [
        (".version 8.8\n.texref t;", "`.texref t` outside a function"),
        (".func f()\n{\nadd.s32 1", "the text ends inside a function"),
        ("}", "one brace too many"),
    ] {
        let found = Loaded::new(text, &mut Memory::new(0, 1 << 20))
            .unwrap_err()
            .to_string();
        assert!(found.contains(said), "{text}: {found}");
    }
}
