"""Copies to shared memory that run beside threads, and the mbarriers that count them."""

import re

from registers import Unknown, address_of, parts, read, write


def copy_tensor(line, modifiers, operands):
    """cp.async.bulk.tensor, whose coordinates begin with the innermost."""
    rank = re.fullmatch(r"([1-5])d", modifiers[3])
    rest = [modifier for modifier in modifiers[4:] if modifier != "tile"]
    if rest[0] not in ("shared::cluster", "shared::cta") or rest[1:3] != ["global", "mbarrier::complete_tx::bytes"]:
        raise Unknown
    tensor, place = re.fullmatch(r"\[([^,]+),\s*(\{.*\})\]", operands[1]).groups()
    coordinates = ", ".join(read(part, "s32") for part in parts(place))
    return (f"start_tensor_copy({line}, {address_of(operands[0])}, {read(tensor, 'b64')}, {rank[1]}, "
            f"(int32_t[]){{{coordinates}}}, {address_of(operands[2])});")


def copy_async(line, modifiers, operands):
    """cp.async, of which the number of bytes that are read may be less than that of those written."""
    if modifiers[1:3] == ["bulk", "tensor"]:
        return copy_tensor(line, modifiers, operands)
    if modifiers[1:] == ["commit_group"]:
        return "commit_copies();"
    if modifiers[1:] == ["wait_group"]:
        return f"wait_for_copies({line}, {operands[0]});"
    if modifiers[1:] == ["wait_all"]:
        return f"commit_copies(); wait_for_copies({line}, 0);"
    if modifiers[2:] != ["shared", "global"]:
        raise Unknown
    to, source, size = operands[:3]
    read_bytes = read(operands[3], "u32") if len(operands) > 3 else size
    return f"start_copy({line}, {address_of(to)}, {address_of(source)}, {size}, {read_bytes});"


def use_mbarrier(line, modifiers, operands):
    """mbarrier, of which arrivals give the number of the phase as a state."""
    name = modifiers[0]
    address = address_of(operands[0 if name in ("init", "expect_tx") else 1])
    if name == "init":
        return f"init_mbarrier({line}, {address}, {read(operands[1], 'u32')});"
    if name == "expect_tx":
        return f"expect_bytes({line}, {address}, {read(operands[1], 'u32')});"
    if name == "arrive":
        number = read(operands[2], "u32") if len(operands) > 2 else "1"
        count, copied = ("1", number) if "expect_tx" in modifiers else (number, "0")
        arrival = f"arrive_at({line}, {address}, {count}, {copied})"
        return f"{arrival};" if operands[0] == "_" else write(operands[0], "b64", arrival)
    if name in ("try_wait", "test_wait"):
        return write(operands[0], "pred", f"wait_for_phase({line}, {address}, {read(operands[2], 'u32')})")
    raise Unknown
