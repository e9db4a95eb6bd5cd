//! Bytes of the x86-64 instructions that the emitter uses: VEX for AVX2, EVEX for AVX-512.
//!
//! Formats: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, sections 2.3
//! and 2.7. The bytes are held by a table from the GNU assembler (`tests/golden/encoding.py`).

use std::collections::HashMap;

/// A general register, by its number.
pub(super) type Gpr = u8;
pub(super) const RAX: Gpr = 0;
pub(super) const RCX: Gpr = 1;
pub(super) const RDX: Gpr = 2;
pub(super) const RBX: Gpr = 3;
pub(super) const RSI: Gpr = 6;
pub(super) const RDI: Gpr = 7;
pub(super) const R9: Gpr = 9;
pub(super) const R10: Gpr = 10;
pub(super) const R11: Gpr = 11;

/// A place in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mem {
    At {
        base: Gpr,
        index: Option<Gpr>,
        disp: i32,
    },
    /// A constant behind the code, by number.
    Pool(usize),
}

/// The operand that may be in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rm {
    Reg(u8),
    Mem(Mem),
    /// One number of memory for all lanes; AVX-512 only.
    Broadcast(Mem),
}

/// An opcode: map (1 is 0F, 2 is 0F38, 3 is 0F3A), prefix (0 none, 1 is 66, 2 is F3, 3 is F2), W
/// and the byte itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opcode(pub(super) u8, pub(super) u8, pub(super) bool, pub(super) u8);

/// How vector instructions are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Vex,
    Evex,
}

/// Registers and the rest of an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    pub(super) reg: u8,
    /// The middle operand; 0 where there is none.
    pub(super) middle: u8,
    pub(super) rm: Rm,
    /// Mask register of EVEX; 0 for none.
    pub(super) mask: u8,
    pub(super) immediate: Option<u8>,
}

/// A place to jump to, known later.
pub(super) struct Jump(usize);

/// Code being written.
pub(super) struct Writer {
    pub(super) bytes: Vec<u8>,
    pub(super) encoding: Encoding,
    /// Length of a register: 0 is 128 bits, 1 is 256, 2 is 512.
    pub(super) length: u8,
    pool: Vec<[u64; 4]>,
    known: HashMap<[u64; 4], usize>,
    /// Where a distance to the pool stands, where its instruction ends, and the constant.
    reads: Vec<(usize, usize, usize)>,
}

impl Writer {
    pub(super) fn new(encoding: Encoding, length: u8) -> Self {
        Writer {
            bytes: Vec::new(),
            encoding,
            length,
            pool: Vec::new(),
            known: HashMap::new(),
            reads: Vec::new(),
        }
    }

    /// The constant with these bits in every lane.
    pub(super) fn constant(&mut self, bits: u64) -> Mem {
        self.constants([bits; 4])
    }

    /// The constant with these bits, lane by lane; only of four lanes.
    pub(super) fn constants(&mut self, lanes: [u64; 4]) -> Mem {
        let pool = &mut self.pool;
        let at = *self.known.entry(lanes).or_insert_with(|| {
            pool.push(lanes);
            pool.len() - 1
        });
        Mem::Pool(at)
    }

    /// A vector instruction in the writer's encoding.
    pub(super) fn vector(&mut self, op: Opcode, parts: Parts) {
        match self.encoding {
            Encoding::Vex => self.vex(op, parts, self.length),
            Encoding::Evex => self.evex(op, parts),
        }
    }

    /// A VEX instruction of the given length.
    pub(super) fn vex(&mut self, op: Opcode, parts: Parts, length: u8) {
        let Opcode(map, prefix, w, byte) = op;
        let (x, b) = extensions(parts.rm);
        let no = |bit: u8| u8::from(bit & 1 == 0);
        let first = no(parts.reg >> 3) << 7 | no(x) << 6 | no(b) << 5 | map;
        let second = u8::from(w) << 7 | (!parts.middle & 15) << 3 | length << 2 | prefix;
        self.bytes.extend([0xC4, first, second, byte]);
        self.operands(parts);
    }

    fn evex(&mut self, op: Opcode, parts: Parts) {
        let Opcode(map, prefix, w, byte) = op;
        let (x, b) = extensions(parts.rm);
        let no = |bit: u8| u8::from(bit & 1 == 0);
        let high = no(parts.reg >> 4) << 4;
        let first = no(parts.reg >> 3) << 7 | no(x) << 6 | no(b) << 5 | high | map;
        let second = u8::from(w) << 7 | (!parts.middle & 15) << 3 | 4 | prefix;
        let broadcast = u8::from(matches!(parts.rm, Rm::Broadcast(_))) << 4;
        let third = self.length << 5 | broadcast | no(parts.middle >> 4) << 3 | parts.mask;
        self.bytes.extend([0x62, first, second, third, byte]);
        self.operands(parts);
    }

    /// ModRM, SIB, displacement (always of four bytes) and immediate.
    fn operands(&mut self, parts: Parts) {
        let reg = (parts.reg & 7) << 3;
        match parts.rm {
            Rm::Reg(r) => self.bytes.push(0xC0 | reg | r & 7),
            Rm::Mem(mem) | Rm::Broadcast(mem) => match mem {
                Mem::At { base, index, disp } => {
                    match index {
                        Some(index) => {
                            let sib = (index & 7) << 3 | base & 7;
                            self.bytes.extend([0x84 | reg, sib]);
                        }
                        None => self.bytes.push(0x80 | reg | base & 7),
                    }
                    self.bytes.extend(disp.to_le_bytes());
                }
                Mem::Pool(k) => {
                    self.bytes.push(0x05 | reg);
                    let at = self.bytes.len();
                    let end = at + 4 + usize::from(parts.immediate.is_some());
                    self.reads.push((at, end, k));
                    self.bytes.extend([0; 4]);
                }
            },
        }
        self.bytes.extend(parts.immediate);
    }

    /// A jump with a distance of four bytes, to be set by `land` or `back`.
    pub(super) fn jump(&mut self, opcode: &[u8]) -> Jump {
        self.bytes.extend(opcode);
        self.bytes.extend([0; 4]);
        Jump(self.bytes.len())
    }

    /// The jump leads here.
    pub(super) fn land(&mut self, jump: &Jump) {
        self.set(jump.0, self.bytes.len());
    }

    /// Jumps back to `target`.
    pub(super) fn back(&mut self, target: usize) {
        let jump = self.jump(&[0xE9]);
        self.set(jump.0, target);
    }

    /// Sets the distance that ends at `end`, counted from there.
    fn set(&mut self, end: usize, target: usize) {
        let distance = target as i64 - end as i64;
        let distance = i32::try_from(distance).expect("code is shorter than 2 GiB");
        self.bytes[end - 4..end].copy_from_slice(&distance.to_le_bytes());
    }

    /// The code with its constants behind it, `lanes` numbers of each.
    pub(super) fn finish(mut self, lanes: usize) -> Vec<u8> {
        self.bytes
            .resize(self.bytes.len().next_multiple_of(64), 0xCC);
        let start = self.bytes.len();
        for constant in &self.pool {
            let bytes = constant[..lanes].iter().flat_map(|bits| bits.to_le_bytes());
            self.bytes.extend(bytes);
        }
        for (at, end, k) in std::mem::take(&mut self.reads) {
            let distance = (start + 8 * lanes * k) as i64 - end as i64;
            let distance = i32::try_from(distance).expect("code is shorter than 2 GiB");
            self.bytes[at..at + 4].copy_from_slice(&distance.to_le_bytes());
        }
        self.bytes
    }
}

/// The bits X and B.
fn extensions(rm: Rm) -> (u8, u8) {
    match rm {
        Rm::Reg(r) => (r >> 4 & 1, r >> 3 & 1),
        Rm::Mem(mem) | Rm::Broadcast(mem) => match mem {
            Mem::At { base, index, .. } => (index.unwrap_or(0) >> 3 & 1, base >> 3 & 1),
            Mem::Pool(_) => (0, 0),
        },
    }
}
