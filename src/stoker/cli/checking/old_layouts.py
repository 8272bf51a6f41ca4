# SPDX-License-Identifier: Apache-2.0
"""Paths inside artifacts as TFX before 0.29 laid them out: nothing is there today."""

import ast
import os
import re

_SPLITS = frozenset({"eval", "test", "train"})
_RENAMED = {
    "anomalies.pbtxt": "SchemaDiff.pb, which tfdv.load_anomalies_binary reads",
    "eval_model_dir": "Format-TFMA",
    "serving_model_dir": "Format-Serving",
    "stats_tfrecord": "FeatureStats.pb, which tfdv.load_stats_binary reads",
}
_OUTPUT_URI = re.compile(
    r"outputs(\.|\[['\"])(anomalies|examples|model|output|statistics|transformed_examples)\b.*\.uri$"
)
_MAX_DEPTH = 5


class OldLayouts:
    """What a file joins to the places of outputs."""

    def __init__(self, tree: ast.Module) -> None:
        self._values = {
            node.targets[0].id: node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        }

    def find_problem(self, call: ast.Call) -> str:
        """What is called otherwise today in the path that a call joins; empty if nothing is."""
        name = getattr(call.func, "attr", "")
        if name != "join" or len(call.args) < 2 or not self._is_output(call.args[0]):
            return ""
        texts = [arg.value for arg in call.args[1:] if isinstance(arg, ast.Constant)]
        parts = [part for text in texts if isinstance(text, str) for part in text.split(os.sep)]
        for part in parts[:1]:
            if part in _SPLITS:
                return f"the folder of a split is called Split-{part} since TFX 0.29: join that."
        for part in parts:
            if part in _RENAMED:
                return f"{part} is called {_RENAMED[part]} since TFX 0.29: join that."
        return ""

    def _is_output(self, node: ast.expr) -> bool:
        """Whether an expression is the URI of a component's output."""
        return _OUTPUT_URI.search(self._spell_out(node, 0)) is not None

    def _spell_out(self, node: ast.expr, depth: int) -> str:
        """An expression with the names in it replaced by what they were given."""
        match node:
            case ast.Name(id=name) if name in self._values and depth < _MAX_DEPTH:
                return self._spell_out(self._values[name], depth + 1)
            case ast.Attribute(value=value, attr=name):
                return f"{self._spell_out(value, depth)}.{name}"
        return ast.unparse(node)
