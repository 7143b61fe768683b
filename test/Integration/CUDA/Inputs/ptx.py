"""Writes PTX as C that runs it on the CPU (machine.h), and compiles that to a shared library.

usage: ptx.py KERNELS.ptx KERNELS.so

A register is a variable that holds its bits, an instruction a statement. What Halide's kernels
hold is known here; anything else ends the program when it is reached.
"""

import os
import re
import subprocess
import sys

from registers import FLOATS, INTEGERS, REGISTERS, Unknown, address_of, parts, read, split_place, variable, write
from async_instructions import copy_async, use_mbarrier
from warp_instructions import count_product_registers, meet, multiply_async, name_registers

HERE = os.path.dirname(os.path.abspath(__file__))
WIDER = {"s16": "s32", "s32": "s64", "u16": "u32", "u32": "u64"}

OPERATORS = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>"}
COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
               "lo": "<", "ls": "<=", "hi": ">", "hs": ">="}
FUNCTIONS = {"fma": "fma", "max": "fmax", "min": "fmin", "abs": "fabs", "sqrt": "sqrt", "ex2": "exp2",
             "lg2": "log2", "sin": "sin", "cos": "cos", "tanh": "tanh"}


def compute(name, modifiers, kind, operands):
    """The value of an instruction on numbers."""
    args = [read(operand, kind) for operand in operands]
    if name in ("mul", "mad") and "wide" in modifiers:
        wide = INTEGERS[WIDER[kind]]
        product = f"({wide}){args[0]} * ({wide}){args[1]}"
        return product if name == "mul" else f"{product} + {read(operands[2], WIDER[kind])}"
    if name in ("mul", "mad") and "hi" in modifiers:
        return f"(__int128){args[0]} * {args[1]} >> {kind[1:]}"
    if name == "mad":
        return f"{args[0]} * {args[1]} + {args[2]}"
    if name in ("shl", "shr"):
        shift, width = read(operands[1], "u32"), kind[1:]
        beyond = f"{args[0]} < 0 ? -1 : 0" if kind[0] == "s" else "0"
        return f"{shift} < {width} ? {args[0]} {OPERATORS[name]} {shift} : {beyond}"
    if name in OPERATORS:
        return f"{args[0]} {OPERATORS[name]} {args[1]}"
    if name == "neg":
        return f"-{args[0]}"
    if name == "not":
        return f"!{args[0]}" if kind == "pred" else f"~{args[0]}"
    if name == "div":
        return f"{args[0]} / {args[1]}" if kind in FLOATS else f"{args[1]} ? {args[0]} / {args[1]} : -1"
    if name == "rem":
        return f"{args[1]} ? {args[0]} % {args[1]} : {args[0]}"
    if name == "copysign":  # the sign of the first
        return f"copysign{'f' if kind == 'f32' else ''}({args[1]}, {args[0]})"
    if name == "rcp":
        return f"1 / {args[0]}"
    if name in ("min", "max") and kind not in FLOATS:
        return f"{args[0]} {'<' if name == 'min' else '>'} {args[1]} ? {args[0]} : {args[1]}"
    if name == "abs" and kind not in FLOATS:
        return f"{args[0]} < 0 ? -{args[0]} : {args[0]}"
    if name == "shf" and modifiers == ["l", "wrap"]:
        return f"((uint64_t){args[1]} << 32 | {args[0]}) << ({args[2]} & 31) >> 32"
    if name == "popc":
        return f"__builtin_popcountll({args[0]})"
    if name == "clz":
        return f"{args[0]} ? __builtin_clzll({args[0]}) - {64 - int(kind[1:])} : {kind[1:]}"
    if name == "bfe" and kind in ("s32", "u32"):
        return f"extract_{kind}({args[0]}, {read(operands[1], 'u32')}, {read(operands[2], 'u32')})"
    if name in FUNCTIONS and kind in ("f32", "f64"):
        args = [f"flush({arg})" for arg in args] if "ftz" in modifiers else args
        value = f"{FUNCTIONS[name]}{'f' if kind == 'f32' else ''}({', '.join(args)})"
        if name in ("min", "max") and "NaN" in modifiers:
            return f"{args[0]} != {args[0]} || {args[1]} != {args[1]} ? NAN : {value}"
        return value
    raise Unknown


def add_with_carry(name, modifiers, operands):
    """add, sub and mad of u32 with a carry: in, out or both."""
    args = [f"(uint64_t){read(operand, 'u32')}" for operand in operands]
    if name.startswith("mad"):
        product = f"{args[1]} * {args[2]}"
        args[1:3] = [f"({product} >> 32)" if "hi" in modifiers else f"(uint32_t)({product})"]
    sign = "-" if name.startswith("sub") else "+"
    carry_in = f" {sign} carry" if name.endswith("c") else ""
    carry_out = "carry = wide >> 32 & 1;" if "cc" in modifiers else ""
    return f"{{ uint64_t wide = {args[1]} {sign} {args[2]}{carry_in}; {write(operands[0], 'u32', 'wide')} {carry_out} }}"


def compare(modifiers, kind, operands):
    a, b = (f"as_f32((uint32_t){variable(operand)} << 16)" if kind == "bf16" else read(operand, kind) for operand in operands)
    how = modifiers[0]
    if how in ("num", "nan"):
        return f"{a} == {a} && {b} == {b}" if how == "num" else f"{a} != {a} || {b} != {b}"
    if how in COMPARISONS:
        ordered = f"{a} == {a} && {b} == {b} && " if how == "ne" and kind in FLOATS else ""
        return f"{ordered}{a} {COMPARISONS[how]} {b}"
    # True of NaN as well.
    return f"{a} != {a} || {b} != {b} || {a} {COMPARISONS[how[:-1]]} {b}"


def convert(modifiers, kind, operands):
    """cvt.TO.FROM, of which kind is FROM."""
    to = modifiers[-1]
    if kind == "bf16":
        return write(operands[0], to, f"as_f32((uint32_t){variable(operands[1])} << 16)")
    value = read(operands[1], kind)
    if to in ("bf16x2", "f16x2"):  # the first is the upper half
        upper, lower = (f"{'to_bf16' if to == 'bf16x2' else 'of_f16'}({read(operand, kind)})" for operand in operands[1:])
        return write(operands[0], "b32", f"(uint32_t){upper} << 16 | {lower}")
    if to == "bf16":
        return f"{variable(operands[0])} = to_bf16({value});"
    roundings = {"rzi": "trunc", "rni": "nearbyint", "rmi": "floor", "rpi": "ceil"}
    rounding = next((roundings[m] for m in modifiers if m in roundings), None)
    if kind in FLOATS and rounding:
        value = f"{rounding}({value})"
    elif kind in FLOATS and to in INTEGERS:
        raise Unknown
    return write(operands[0], to, value)


def move(kind, operands):
    """mov, which also packs and unpacks registers in braces."""
    to, source = operands
    if to.startswith("{"):
        width = int(kind[1:]) // len(parts(to))
        return " ".join(write(part, f"b{width}", f"{read(source, kind)} >> {i * width}")
                        for i, part in enumerate(parts(to)) if part != "_")
    if source.startswith("{"):
        width = int(kind[1:]) // len(parts(source))
        return write(to, kind, " | ".join(f"({INTEGERS[kind]}){read(part, f'b{width}')} << {i * width}"
                                          for i, part in enumerate(parts(source))))
    if re.match(r"0[fFdD]", source):
        kind = "f" + kind[1:]
    if re.fullmatch(r"\w+_param_\d+", source):  # the address of a parameter
        return write(to, kind, f"(uintptr_t){parameter(source)}")
    return write(to, kind, read(source, kind))


def parameter(name):
    """Where a parameter of this function lies, or one of a function that it calls."""
    own = re.fullmatch(r"\w+_param_(\d+)", name)
    return f"arguments[{own[1]}]" if own else name if name.startswith("func_retval") else f"&{name}"


def call(operands):
    result, function, arguments = (operand.strip("()") for operand in operands)
    places = ", ".join(parameter(argument) for argument in arguments.split(", "))
    return f"{function}((void *[]){{{places}}}, {parameter(result)});"


def access(line, name, modifiers, kind, operands):
    """ld and st, of one register or several in braces."""
    space = next((m for m in modifiers if m in ("global", "shared", "local", "const", "param")), None)
    register, place = operands if name == "ld" else reversed(operands)
    count = next((int(m[1]) for m in modifiers if re.fullmatch("v[248]", m)), 1)
    registers = parts(register)
    size = int(kind[1:]) // 8
    bits = "b" + kind[1:]
    if space == "param":
        to, source = (f"&{variable(register)}", parameter(split_place(place)[0]))[::1 if name == "ld" else -1]
        return f"memcpy({to}, {source}, {size});"
    address = address_of(place)
    memory = {"global": f"global_memory({line}, {address}, {size * count})",
              "shared": f"shared_access({line}, {address}, {size * count}, {int(name == 'st')})"}
    memory = memory.get(space, f"(void *)(uintptr_t)({address})")
    elements = [(r, f"m[{i}]") for i, r in enumerate(registers)]
    loaded = kind if kind[0] == "s" else bits
    copies = [write(r, loaded, m) if name == "ld" else f"{m} = {read(r, bits)};" for r, m in elements]
    return f"{{ {INTEGERS[bits]} *m = {memory}; {' '.join(copies)} }}"


def reach_barrier(line, modifiers, operands):
    if "warp" in modifiers:
        return f"synchronize_warp({line});"
    number, count = ([read(operand, "u32") for operand in operands] + ["0"])[:2]
    return f"{'arrive' if 'arrive' in modifiers else 'barrier'}({line}, {number}, {count});"


def translate(line, opcode, operands):
    """The C statement of an instruction."""
    name, *modifiers = opcode.split(".")
    if name == "cp":
        return copy_async(line, modifiers, operands)
    if name == "wgmma":
        return multiply_async(line, modifiers, operands)
    if name == "fence" and modifiers[:2] == ["proxy", "async"]:
        return "fence_proxy();"
    if name == "fence" and modifiers[0] == "mbarrier_init":
        return "fence_mbarrier();"
    if name == "mbarrier":
        return use_mbarrier(line, modifiers, operands)
    if name in ("prefetch", "nanosleep"):
        return ";"
    if name in ("ldmatrix", "mma", "shfl", "vote", "elect", "setmaxnreg"):
        return meet(line, name, modifiers, operands)
    if name == "bra":
        return f"goto {operands[0].replace('$', '_')};"
    if name == "ret":
        return "return;"
    if name == "call":
        return call(operands)
    if name in ("bar", "barrier"):
        return reach_barrier(line, modifiers, operands)
    kind = modifiers.pop()
    if name in ("ld", "st"):
        return access(line, name, modifiers, kind, operands)
    if name == "mov":
        return move(kind, operands)
    if name == "cvt":
        return convert(modifiers, kind, operands)
    if name == "cvta":
        return write(operands[0], kind, read(operands[1], kind))
    if kind == "u32" and (name in ("addc", "subc", "madc") or "cc" in modifiers):
        return add_with_carry(name, modifiers, operands)
    if name == "setp" and len(operands) == 3:
        return write(operands[0], "pred", compare(modifiers, kind, operands[1:]))
    if name == "selp":
        return write(operands[0], kind, f"{read(operands[3], 'pred')} ? {read(operands[1], kind)} : {read(operands[2], kind)}")
    to = WIDER[kind] if "wide" in modifiers else kind
    return write(operands[0], to, compute(name, modifiers, kind, operands[1:]))


def write_line(number, text):
    """A line of the body of a kernel."""
    text = text.split("//")[0].strip()
    registers = re.fullmatch(r"\.reg \.(\w+)\s+([^<]+)(?:<(\d+)>)?;", text)
    if registers:
        kind, names, count = registers.groups()
        names = [f"{names}{number}" for number in range(int(count))] if count else names.split(", ")
        return f"{REGISTERS[kind]} {', '.join(variable(name) + ' = 0' for name in names)};"
    depot = re.fullmatch(r"\.local \.align (\d+) \.b8\s+(\w+)\[(\d+)\];", text)
    if depot:
        return f"_Alignas({depot[1]}) char {depot[2]}[{depot[3]}];"
    passed = re.fullmatch(r"\.param \.(\w+)\s+(\w+);", text)
    if passed:
        return f"{REGISTERS[passed[1]]} {passed[2]};"
    if re.fullmatch(r"[$\w]+:", text):
        return text.replace("$", "_") + ";"
    if text in ("", "{", "}") or text.startswith(".pragma"):
        return text.replace(".pragma", "//")
    # What LLVM unpacks of which it needs one half.
    text = re.sub(r"\{ \.reg \.b\d+ tmp; (.*) \}", lambda half: half[1].replace("tmp", "_"), text)
    instruction = re.fullmatch(r"(?:@(!?)(%?\w+)\s+)?([a-z][\w.:]*)\s*(.*);", text)
    operands = re.findall(r"\[[^]]*\]|\{[^}]*\}|\([^)]*\)|[^\s,][^,]*", instruction[4]) if instruction else []
    try:
        if not instruction:
            raise Unknown
        statement = translate(number, instruction[3], [operand.strip() for operand in operands])
        statement = name_registers(number, instruction[3], text) + statement
    except (Unknown, KeyError):
        return f'fail({number}, "instruction that ptx.py does not know", 0);'
    return f"if ({instruction[1]}{variable(instruction[2])}) {{ {statement} }}" if instruction[2] else statement


def is_whole(text):
    """Whether a line ends an instruction."""
    return not re.match(r"[@a-z]", text) or text.endswith((";", ":", "}"))


def name_labels(lines):
    """Labels of a block in braces, which are its own, by the line where it begins."""
    opened = []
    for number, line in enumerate(lines):
        if line.strip() == "{":
            opened.append(number)
        elif line.strip() == "}" and opened:
            begin = opened.pop()
            labels = [match[1] for text in lines[begin:number] if (match := re.fullmatch(r"\s*([$\w]+):", text))]
            for place in range(begin, number) if opened else ():
                for label in labels:
                    lines[place] = re.sub(rf"(?<![$\w]){re.escape(label)}(?![$\w])", f"{label}_of_{begin}", lines[place])
    return lines


def write_module(ptx):
    shared = re.search(r"\.extern \.shared \.align 1024 \.b8 (\w+)\[\];", ptx)
    # Halide's kernels name no shared memory: of their launch's bytes, the first 1024 are not theirs on some GPUs.
    is_halide = ".visible .entry _kernel_" in ptx
    yield f"enum {{ product_registers = {count_product_registers(ptx)} }};"
    yield f"enum {{ shared_begin = {1024 if shared or is_halide else 0}, shared_unused = {1024 if is_halide else 0} }};"
    yield '#include "machine.h"'
    # Kernels are long and run few times: compiling them well takes longer than running them as they are.
    yield '#pragma GCC optimize("O0")'
    if shared:
        yield f"#define {shared[1]} shared_begin"
    in_kernel = False
    begun, text = 0, ""  # an instruction of several lines
    for number, line in enumerate(name_labels(ptx.splitlines()), 1):
        table = re.match(r"\.const \.align (\d+) \.b8 (\w+)\[(\d+)\] = (\{.*\});", line)
        if table:
            yield f"static const _Alignas({table[1]}) uint8_t {table[2]}[{table[3]}] = {table[4]};"
        kernel = re.match(r"\.visible \.entry (\w+)\(", line)
        if kernel:
            yield f"void {kernel[1]}(void **arguments)"
        function = re.match(r"\.func  \(\.param \.\w+ func_retval0\) (\w+)\(", line)
        if function:
            yield f"static void {function[1]}(void **arguments, void *func_retval0)"
        in_kernel = in_kernel or line == "{"
        if in_kernel:
            begun = begun or number
            text += " " + line.split("//")[0].strip()
            if is_whole(text.strip()):
                yield write_line(begun, text)
                begun, text = 0, ""
        in_kernel = in_kernel and line != "}"


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    ptx, library = sys.argv[1:]
    with open(ptx) as file:
        code = "\n".join(write_module(file.read())) + "\n"
    subprocess.run([os.environ.get("CC", "cc"), "-std=gnu11", "-O1", "-fwrapv", "-ffp-contract=off", "-fno-strict-aliasing",
                    "-march=native", "-w", "-shared", "-fPIC", f"-I{HERE}", "-x", "c", "-", "-o", library, "-lm"],
                   input=code, text=True, check=True)
