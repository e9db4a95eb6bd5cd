"""Bytes of the instructions that the emitter writes, from the GNU assembler.

    python crates/device/tests/golden/encoding.py            # writes encoding.txt beside it
    python crates/device/tests/golden/encoding.py --check    # exits 1 if it differs

Needs `as` and `objdump` (GNU binutils) for x86-64. One instruction a line: what the encoder is
told (encoding, length, opcode map, prefix, W, byte, registers, mask, immediate), the bytes, the text.
Instructions on general registers are always the same ones; of them the encoder is told "fixed".
"""

import pathlib
import random
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# name: opcode map, prefix, W, byte, immediate, kind
ALL = {
    "vaddpd": (1, 1, 1, 0x58, None, "three"), "vmulpd": (1, 1, 1, 0x59, None, "three"),
    "vsubpd": (1, 1, 1, 0x5C, None, "three"), "vminpd": (1, 1, 1, 0x5D, None, "three"),
    "vdivpd": (1, 1, 1, 0x5E, None, "three"), "vmaxpd": (1, 1, 1, 0x5F, None, "three"),
    "vsqrtpd": (1, 1, 1, 0x51, None, "two"), "vmovupd": (1, 1, 1, 0x10, None, "load"),
    "vmovapd": (1, 1, 1, 0x28, None, "two"),
}
FMA = {name: (2, 1, 1, byte, None, "three") for name, byte in (
    ("vfmadd213pd", 0xA8), ("vfmadd231pd", 0xB8), ("vfmsub213pd", 0xAA), ("vfmsub231pd", 0xBA),
    ("vfnmadd213pd", 0xAC), ("vfnmadd231pd", 0xBC))}
VEX = ALL | FMA | {
    "vroundpd": (3, 1, 1, 0x09, 9, "two"), "vcmppd": (1, 1, 1, 0xC2, 0x12, "three"),
    "vandpd": (1, 1, 1, 0x54, None, "three"), "vorpd": (1, 1, 1, 0x56, None, "three"),
    "vxorpd": (1, 1, 1, 0x57, None, "three"),
}
VEX_256 = {
    "vpaddq": (1, 1, 1, 0xD4, None, "three"), "vpsubq": (1, 1, 1, 0xFB, None, "three"),
    "vpsllq": (1, 1, 1, 0x73, 52, "shift6"), "vpsrlq": (1, 1, 1, 0x73, 11, "shift2"),
    "vblendvpd": (3, 1, 0, 0x4B, 0x70, "blend"), "vbroadcastsd": (2, 1, 0, 0x19, None, "spread"),
    "vpsllvq": (2, 1, 1, 0x47, None, "three"),
}
# Of two numbers and four, to add up what is left in a register.
HALVES = {"vunpckhpd": (1, 1, 1, 0x15, None, "three"), "vmovsd": (1, 3, 1, 0x11, None, "store")}
QUARTERS = {"vmovupd": (1, 1, 1, 0x11, None, "store")}
EVEX = ALL | FMA | {
    "vrndscalepd": (3, 1, 1, 0x09, 8, "two"), "vgetexppd": (2, 1, 1, 0x42, None, "two"),
    "vgetmantpd": (3, 1, 1, 0x26, 3, "two"), "vscalefpd": (2, 1, 1, 0x2C, None, "three"),
    "vpandq": (1, 1, 1, 0xDB, None, "three"), "vporq": (1, 1, 1, 0xEB, None, "three"),
    "vpxorq": (1, 1, 1, 0xEF, None, "three"), "vpaddq": (1, 1, 1, 0xD4, None, "three"),
    "vpsubq": (1, 1, 1, 0xFB, None, "three"), "vpsllq": (1, 1, 1, 0x73, 52, "shift6"),
    "vpsrlq": (1, 1, 1, 0x73, 11, "shift2"), "vblendmpd": (2, 1, 1, 0x65, None, "masked"),
    "vcmppd": (1, 1, 1, 0xC2, 0x11, "compare"),
}
EVEX_512 = {"vbroadcastsd": (2, 1, 1, 0x19, None, "spread")}
GENERAL = {3: "rbx", 6: "rsi", 7: "rdi", 9: "r9", 10: "r10"}
INDEX = {0: "rax", 11: "r11"}
FIXED = (
    "push rbx", "lea rbx, [rdi+r8]", "lea r9, [rdi+rdx]", "lea r10, [rsi+rdx]", "lea r8, [rcx*8]", "xor eax, eax",
    "mov r11d, eax", "and r11d, 255", "and r11d, 63", "pop rbx", "ret",
)
MEMORY = {"xmm": "xmmword", "ymm": "ymmword", "zmm": "zmmword"}


def lines(rng):
    """(what the encoder is told, the text) of every instruction."""
    for encoding, length, table in (("vex", 0, VEX), ("vex", 1, VEX | VEX_256),
                                    ("evex", 0, EVEX), ("evex", 2, EVEX | EVEX_512),
                                    ("vex", 0, HALVES), ("vex", 1, QUARTERS)):
        name = "xyz"[length] + "mm"
        count = 32 if encoding == "evex" else 16
        for mnemonic, (omap, prefix, w, byte, imm, kind) in table.items():
            for rm in ("register", "indexed", "based", "broadcast"):
                if rm == "broadcast" and (encoding == "vex" or kind in ("load", "store", "spread", "shift6", "shift2")):
                    continue
                if rm == "broadcast" and mnemonic == "vmovapd" or rm == "register" and kind in ("load", "store", "spread"):
                    continue
                if rm != "register" and kind in ("shift6", "shift2"):
                    continue
                reg, middle, third = (rng.randrange(count) for _ in range(3))
                mask = rng.randrange(1, 8) if kind == "masked" else 0
                if kind == "compare":
                    reg = rng.randrange(8)
                base, index = rng.choice(sorted(GENERAL)), rng.choice(sorted(INDEX))
                disp = rng.choice([-64, 0, 8, 70_000, 0x7000_0000])
                if rm == "register":
                    told, operand = f"r{third}", f"{name}{third}"
                else:
                    place = GENERAL[base] + (f"+{INDEX[index]}" if rm == "indexed" else "") + f"{disp:+d}"
                    one = rm == "broadcast" or kind == "spread" or mnemonic == "vmovsd"
                    size = "qword" if one else MEMORY[name]
                    operand = f"{size} ptr [{place}]" + (f"{{1to{2 << length}}}" if rm == "broadcast" else "")
                    told = f"{'b' if rm == 'broadcast' else 'm'}{base}:{index if rm == 'indexed' else '-'}:{disp}"
                tail = "" if imm is None or kind == "blend" else f", {imm}"
                target = f"k{reg}" if kind == "compare" else f"{name}{reg}"
                target += f"{{k{mask}}}" if mask else ""
                if kind in ("two", "load", "spread"):
                    middle, text = 0, f"{mnemonic} {target}, {operand}{tail}"
                elif kind == "store":
                    middle, text = 0, f"{mnemonic} {operand}, {target}"
                elif kind in ("shift6", "shift2"):
                    reg, text = int(kind[-1]), f"{mnemonic} {name}{middle}, {operand}{tail}"
                elif kind == "blend":
                    text = f"{mnemonic} {target}, {name}{middle}, {operand}, {name}{imm >> 4}"
                else:
                    text = f"{mnemonic} {target}, {name}{middle}, {operand}{tail}"
                fields = [encoding, length, omap, prefix, w, byte, reg, middle, told, mask, "-" if imm is None else imm]
                force = "{vex3}" if encoding == "vex" else "{evex}"
                yield " ".join(map(str, fields)), f"{force} {text}" if rm == "register" else f"{force} {{disp32}} {text}"

    for text in FIXED:
        yield "fixed", text


def assemble(texts):
    """The bytes of each instruction in hexadecimal."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = pathlib.Path(folder, "a.s"), pathlib.Path(folder, "a.o")
        source.write_text(".intel_syntax noprefix\n" + "\n".join(texts) + "\n")
        subprocess.run(["as", "--64", "-mvexwig=1", "-o", target, source], check=True)
        dump = subprocess.run(["objdump", "-d", "-w", "-z", "--insn-width=16", target], check=True,
                              capture_output=True, text=True).stdout
    found = re.findall(r"^ *[0-9a-f]+:\t((?:[0-9a-f]{2} )+)", dump, re.M)
    assert len(found) == len(texts), (len(found), len(texts))
    return [f.replace(" ", "") for f in found]


def main():
    told, texts = zip(*lines(random.Random(2)), strict=True)
    body = "".join(f"{t} | {b} | {x}\n" for t, b, x in zip(told, assemble(texts), texts, strict=True))
    path = HERE / "encoding.txt"
    if "--check" in sys.argv[1:]:
        sys.exit(path.read_text() != body)
    path.write_text(body)


main()
