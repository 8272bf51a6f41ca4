# SPDX-License-Identifier: Apache-2.0
"""What a call fetches from the network when it runs, which is after the steps before it."""

import ast
import re

_WEIGHTS = re.compile(r"(^|\.)applications\.([A-Z]\w+|\w+\.[A-Z]\w+)$")
_DATASET = re.compile(r"(^|\.)datasets\.\w+\.load_data$")
_HUB = re.compile(r"(^|\.)(KerasLayer|hub\.load|hub\.resolve)$")


def describe_download(call: ast.Call) -> str | None:
    """What to know about a call that needs the network; None for other calls."""
    name = ast.unparse(call.func)
    if _WEIGHTS.search(name) and not _is_without_weights(call):
        return f"{name} downloads its weights, unless ~/.keras/models has them: fetch them first."
    if _DATASET.search(name):
        return f"{name} downloads its data, unless ~/.keras/datasets has it: fetch it first."
    if _HUB.search(name) and call.args and _is_address(call.args[0]):
        return f"{name} downloads a model: fetch it first, and name its folder or TFHUB_CACHE_DIR."
    if name.split(".")[-1] == "urlretrieve":
        return "urlretrieve needs the network: put the file there first, and leave the line out."
    return None


def _is_without_weights(call: ast.Call) -> bool:
    """Whether the weights are the model's own, at random, or from a file that is named."""
    return any(
        keyword.arg == "weights"
        and not (isinstance(keyword.value, ast.Constant) and keyword.value.value == "imagenet")
        for keyword in call.keywords
    )


def _is_address(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.startswith(("http://", "https://"))
    )
