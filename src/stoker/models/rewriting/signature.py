# SPDX-License-Identifier: Apache-2.0
"""The signature of a SavedModel that is to be rewritten, and the graph behind it."""

from typing import Any

from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from stoker.errors import ModelRejected, RewriteFailed
from stoker.models.inputs import Arrays
from stoker.models.saved_model import choose_graph, read_graphs
from stoker.models.serving_model import LOAD_ERRORS, ServingModel, first_line


class FlatSignature:
    """A loaded signature, also as one flat graph: constants for variables, and no calls."""

    def __init__(self, path: str, model: ServingModel) -> None:
        self.path = path
        self.key = model.signature_name
        self.signature = model.signature
        self.frozen = flatten(model.function)
        """The signature's function as one flat graph."""
        self._model = model  # whose tables live as long as it does

    def __call__(self, arrays: Arrays) -> Arrays:
        """What the signature answers, output by output."""
        return self._model.call(arrays)

    @property
    def is_plain(self) -> bool:
        """Whether it takes and gives numbers only, and looks nothing up."""
        tensors = (*self.signature.inputs.values(), *self.signature.outputs.values())
        return not self.tables and not any(one.dtype == "string" for one in tensors)

    @property
    def arguments(self) -> dict[str, Any]:
        """The placeholders of the flat graph by the names of the inputs."""
        there = {tensor.name: tensor for tensor in self.frozen.inputs}
        named = zip(self.signature.inputs, self._model.function.inputs, strict=False)
        return {name: there[tensor.name] for name, tensor in named if tensor.name in there}

    @property
    def tables(self) -> dict[str, Any]:
        """What the flat graph takes besides: its tables, by the names of their placeholders."""
        there = {tensor.name for tensor in self.frozen.inputs}
        function = self._model.function
        captured = zip(reversed(function.inputs), reversed(function.captured_inputs), strict=False)
        return {inner.name: outer for inner, outer in captured if inner.name in there}


def flatten(function: Any) -> Any:
    """A concrete function as one graph: with constants for variables, and without calls."""
    return convert_variables_to_constants_v2(
        function, lower_control_flow=False, aggressive_inlining=True
    )


def load_signature(path: str, key: str | None = None) -> FlatSignature:
    """The signature of that name; by default the one for serving, or the only one."""
    try:
        graph = choose_graph(read_graphs(path), "serve")
        return FlatSignature(path, ServingModel(path, key or "", graph.tags))
    except ModelRejected as error:
        raise RewriteFailed(str(error)) from error
    except LOAD_ERRORS as error:
        raise RewriteFailed(
            f"{path} cannot be loaded as a SavedModel: {first_line(error)} Save it again with this "
            "TensorFlow."
        ) from error
