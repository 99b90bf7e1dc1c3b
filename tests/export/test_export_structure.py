"""The structural check sees every fault it is there for."""

import shutil

import onnx
import pytest
from onnx import helper

from export.verify.structure import check_structure


@pytest.fixture
def folder(tiny_export, tmp_path):
    return shutil.copytree(tiny_export[1], tmp_path / "package")


def problems_after(folder, spec, change, name="decoder.fp32.onnx"):
    model = onnx.load(folder / name, load_external_data=False)
    change(model)
    (folder / name).write_bytes(model.SerializeToString())
    kind, precision = name.split(".")[:2]
    return "\n".join(check_structure(folder / name, kind, precision, spec).problems)


def add_control_flow(model):
    nothing = helper.make_graph([], "nothing", [], [])
    model.graph.node.append(helper.make_node("If", ["x"], [], name="branch", then_branch=nothing, else_branch=nothing))


def transpose_weight(model):
    model.graph.node.append(helper.make_node("Transpose", [model.graph.initializer[0].name], ["y"], name="turn"))


def project_sources(model):
    model.graph.node.append(helper.make_node("Gemm", ["cross_k.0", "w"], ["y"], name="again"))


def embed_weight(model):
    model.graph.initializer.append(helper.make_tensor("inside", onnx.TensorProto.FLOAT, [1], [1.0]))


def repeat_weight(model):
    copy = model.graph.initializer.add()
    copy.CopyFrom(model.graph.initializer[0])
    copy.name = "copy"


def reach_beyond_the_file(model):
    for entry in model.graph.initializer[0].external_data:
        if entry.key == "offset":
            entry.value = str(1 << 40)


def rename_output(model):
    model.graph.output[0].name = "other"


def fix_row_count(model):
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 4


def raise_versions(model):
    model.ir_version = 11
    model.opset_import[0].version = 22


def grow_layer(model):
    extra = [helper.make_node("Neg", ["x"], [f"y{i}"], name=f"decoder/0/extra.{i}") for i in range(40)]
    model.graph.node.extend(extra)


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (add_control_flow, "branch: If is control flow"),
        (transpose_weight, "turn: transposes a weight"),
        (project_sources, "again: Gemm works on whole sources"),
        (embed_weight, "inside: is not in weights.bin"),
        (repeat_weight, "copy: equals"),
        (repeat_weight, "copy: is not used"),
        (reach_beyond_the_file, "lies beyond the end"),
        (rename_output, "output other"),
        (fix_row_count, "input token"),
        (raise_versions, "IR version 11"),
        (raise_versions, "operator sets"),
        (grow_layer, "layer 0 has"),
    ],
)
def test_a_fault_is_named(folder, tiny_export, change, part):
    assert part in problems_after(folder, tiny_export[0].spec, change)


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_exported_graphs_have_no_fault(tiny_export, kind, precision):
    pair, folder = tiny_export
    found = check_structure(folder / f"{kind}.{precision}.onnx", kind, precision, pair.spec)
    assert found.problems == ()
    assert found.num_nodes == sum(found.operators.values())
