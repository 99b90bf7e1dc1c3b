"""Makes a processor without 16-bit arithmetic round as one with it does, for checks of 16-bit graphs.

ONNX Runtime computes 16-bit products on such a processor in 32 bits, and drops the casts between them: what would be
rounded, or too large, on the processor that the graph is for would not show.
"""

import onnx
from onnx import TensorProto, helper

# An operator with a 16-bit kernel of its own; of one input it is the identity.
_KEEPS = "Max"


def with_rounded_halves(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with every cast to 16 bits, and every 16-bit product, really made; unchanged where there are none."""
    halves = {tensor.name for tensor in model.graph.initializer if tensor.data_type == TensorProto.FLOAT16}
    nodes = []
    for node in model.graph.node:
        nodes.append(node)
        if _gives_half(node, halves):
            (name,) = node.output
            node.output[0] = f"{name}~unrounded"
            nodes.append(helper.make_node(_KEEPS, [node.output[0]], [name], name=f"{name}~rounded"))
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


def _gives_half(node: onnx.NodeProto, halves: set[str]) -> bool:
    if node.op_type == "Cast":
        return any(attribute.i == TensorProto.FLOAT16 for attribute in node.attribute if attribute.name == "to")
    return node.op_type == "Gemm" and not halves.isdisjoint(node.input)
