"""Exports every module of modules.py to ONNX, and computes in float64 what it gives.

usage: export.py [CASE...]

Needs PyTorch 2.15, onnx and onnxscript. Each case becomes CASE.npz beside this script, with
inputs and results, and CASE.EXPORTER.FORM.onnx. What an exporter refuses is listed in
refused.txt, with what it gets wrong: a trace holds the sizes it was taken with.
"""

import contextlib
import io
import pathlib
import sys
import warnings
import zlib

import numpy as np
import onnx
import onnx.reference
import torch

from modules import CASES

HERE = pathlib.Path(__file__).parent
# The sizes that models are exported with, and others for those with open dimensions.
SIZES = [(2, 4, 6), (3, 7, 5)]


def cast(inputs, dtype):
    return [x.to(dtype) if x.is_floating_point() else x for x in inputs.values()]


def compute(module, inputs, dtype):
    with torch.no_grad():
        results = module.to(dtype)(*cast(inputs, dtype))
    return results if isinstance(results, tuple) else (results,)


def round_values(tensor):
    """To bfloat16's values, which take less room in a repository."""
    return tensor.to(torch.bfloat16).float() if tensor.is_floating_point() else tensor


def round_weights(module):
    with torch.no_grad():
        for tensor in module.state_dict().values():
            tensor.copy_(round_values(tensor))


def make_data(case, module):
    """For each of SIZES: inputs, float64 results, and the error of plain float32."""
    data = {}
    for index, sizes in enumerate(SIZES):
        inputs = {name: round_values(x) for name, x in case.inputs(*sizes).items()}
        exact, plain = (compute(module, inputs, t) for t in (torch.float64, torch.float32))
        data |= {f"{index}.in.{name}": x.numpy() for name, x in inputs.items()}
        for name, e, p in zip(case.outputs, exact, plain, strict=True):
            data[f"{index}.out.{name}"] = e.numpy()
            data[f"{index}.plain.{name}"] = (e - p.double()).abs().max().numpy()
    return data


def export(case, module, exporter, form, path):
    inputs = case.inputs(*SIZES[0])
    dims = {n: {i: d for i, d in enumerate(names) if d} for n, names in case.dims.items()}
    options = {"input_names": list(inputs), "output_names": case.outputs}
    if exporter == "dynamo":
        options |= {"dynamo": True, "external_data": False, "opset_version": 23}
        if form == "dynamic":
            symbols = {d: torch.export.Dim(d) for names in dims.values() for d in names.values()}
            options["dynamic_shapes"] = tuple(
                {i: symbols[d] for i, d in names.items()} for names in dims.values())
    else:
        options |= {"dynamo": False, "opset_version": 20}
        if form == "dynamic":
            options["dynamic_axes"] = dims
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, tuple(inputs.values()), str(path), **options)
    strip(path)


def check(path, data):
    """ONNX's own evaluator finds what the model is meant to give."""
    model = onnx.reference.ReferenceEvaluator(str(path))
    for index in ("0", "1") if ".dynamic." in path.name else ("0",):
        inputs = {k.split(".")[2]: data[k] for k in data if k.startswith(f"{index}.in.")}
        for name, result in zip(model.output_names, model.run(None, inputs), strict=True):
            np.testing.assert_allclose(result, data[f"{index}.out.{name}"], rtol=1e-3, atol=1e-5)


def strip(path):
    """Takes out what says where in PyTorch a node came from."""
    model = onnx.load(path)
    del model.graph.value_info[:], model.functions[:], model.metadata_props[:]
    model.graph.name = path.name.split(".")[0]
    for part in (model.graph, *model.graph.node, *model.graph.input, *model.graph.output,
                 *model.graph.initializer):
        del part.metadata_props[:]
        part.ClearField("doc_string")
    onnx.save(model, path)


def main():
    refused = []
    for name in sys.argv[1:] or CASES:
        case = CASES[name]
        torch.manual_seed(zlib.crc32(name.encode()))
        module = case.build().eval()
        round_weights(module)
        data = make_data(case, module)
        np.savez_compressed(HERE / f"{name}.npz", **data)
        for exporter in ("dynamo", "torchscript"):
            for form in ("static", "dynamic"):
                path = HERE / f"{name}.{exporter}.{form}.onnx"
                try:
                    export(case, module.float(), exporter, form, path)
                    check(path, data)
                except Exception as error:
                    path.unlink(missing_ok=True)
                    line = str(error).strip().splitlines()[0][:100]
                    refused.append(f"{path.name}: {type(error).__name__}: {line}")
                    print("refused", refused[-1], file=sys.stderr)
        print(name, flush=True)
    if not sys.argv[1:]:
        (HERE / "refused.txt").write_text("\n".join(refused) + "\n")


if __name__ == "__main__":
    main()
