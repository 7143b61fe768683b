"""Instructions that the lanes of a warp, or a warpgroup, do together."""

import re

from registers import Unknown, address_of, parts, read, variable, write

# The numbers of registers that products of a warpgroup name, which they hold until they are waited for.
PRODUCT_REGISTERS = {}


def count_product_registers(ptx):
    """Numbers the registers that products of a module name."""
    for product in re.findall(r"wgmma\.mma_async[^;]*;", ptx):
        for register in re.findall(r"%\w+", " ".join(re.findall(r"\{[^}]*\}", product))):
            PRODUCT_REGISTERS.setdefault(register, len(PRODUCT_REGISTERS))
    return len(PRODUCT_REGISTERS)


def name_registers(line, opcode, text):
    """Statements that tell of registers of products in an instruction that is none."""
    if not PRODUCT_REGISTERS or opcode.startswith("wgmma"):
        return ""
    named = [PRODUCT_REGISTERS[name] for name in re.findall(r"%\w+", text) if name in PRODUCT_REGISTERS]
    return "".join(f"name_register({line}, {number}); " for number in named)


def values(operand, kind="b32"):
    """An array in C of the registers in braces."""
    return "(uint32_t[]){" + ", ".join(read(part, kind) for part in parts(operand)) + "}"


def results(operand, statement):
    """A statement that makes an array `r`, and its copies to registers in braces."""
    registers = parts(operand)
    copies = " ".join(write(register, "b32", f"r[{i}]") for i, register in enumerate(registers))
    return f"{{ uint32_t r[{len(registers)}]; {statement} {copies} }}"


def meet(line, name, modifiers, operands):
    """What the lanes of a warp do together."""
    if name == "ldmatrix" and modifiers[2] == "m8n8" and modifiers[-2:] == ["shared", "b16"]:
        count, turned = modifiers[3].strip("x"), int("trans" in modifiers)
        return results(operands[0], f"ldmatrix({line}, {address_of(operands[1])}, {count}, {turned}, r);")
    if name == "mma" and modifiers[2:5] == ["m16n8k16", "row", "col"] and modifiers[5] == modifiers[8] == "f32":
        a, b, c = (values(operand) for operand in operands[1:])
        return results(operands[0], f"mma({line}, {a}, {b}, {c}, r, {int(modifiers[6] == 'bf16')});")
    if name == "setmaxnreg":
        return f"meet_for_registers({line});"
    if operands[-1] != "-1":
        raise Unknown
    if name == "elect":
        leader, _, is_leader = operands[0].partition("|")
        first = "" if leader == "_" else write(leader, "b32", "0")
        return f"{first} {write(is_leader, 'pred', f'elect({line})')}"
    if name == "shfl":
        to, _, inside = operands[0].partition("|")
        value, by, within = (read(operand, "b32") for operand in operands[1:4])
        shuffled = write(to, "b32", f"shuffle({line}, '{modifiers[1][0]}', {value}, {by}, {within}, &inside)")
        return f"{{ int inside; {shuffled} {write(inside, 'pred', 'inside') if inside else ''} }}"
    if name == "vote" and modifiers[1] in ("any", "all", "ballot"):
        compared = {"any": " != 0", "all": " == 0xffffffff", "ballot": ""}[modifiers[1]]
        bits = f"ballot({line}, {read(operands[1], 'pred')})"
        return write(operands[0], modifiers[2], bits + compared)
    raise Unknown


def named(operand):
    return "{" + ", ".join(f"{{{PRODUCT_REGISTERS[part]}, &{variable(part)}}}" for part in parts(operand)) + "}"


def multiply_async(line, modifiers, operands):
    """wgmma, whose left operand is in registers or in shared memory."""
    if modifiers[0] == "fence":
        return "fence_registers();"
    if modifiers[0] == "commit_group":
        return "commit_products();"
    if modifiers[0] == "wait_group":
        return f"wait_for_products({line}, {operands[0]});"
    shape, sums, left, right = modifiers[3:]
    if not re.fullmatch(r"m64n\d+k16", shape) or sums != "f32" or left != right:
        raise Unknown
    has_registers = operands[1].startswith("{")
    signs, turns = operands[4:6], operands[6:]
    if signs != ["1", "1"]:
        raise Unknown
    fields = {"line": line, "sum_count": len(parts(operands[0])), "sums": named(operands[0]),
              "is_bf16": int(left == "bf16"), "adds": read(operands[3], "pred"),
              "right_matrix": f"{{{read(operands[2], 'b64')}, {turns[-1]}}}"}
    if has_registers:
        fields |= {"left_count": 4, "left": named(operands[1])}
    else:
        fields["left_matrix"] = f"{{{read(operands[1], 'b64')}, {turns[0]}}}"
    return "start_product((started_product){" + ", ".join(f".{field} = {value}" for field, value in fields.items()) + "});"
