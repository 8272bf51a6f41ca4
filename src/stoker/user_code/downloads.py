# SPDX-License-Identifier: Apache-2.0
"""What a user's code fetches from the network when it runs, which is after the steps before it."""

import ast
import hashlib
import os
import re
import tempfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

_WEIGHTS = re.compile(r"(^|\.)applications\.([A-Z]\w+|\w+\.[A-Z]\w+)$")
_DATASET = re.compile(r"(^|\.)datasets\.\w+\.load_data$")
_HUB = re.compile(r"(^|\.)(KerasLayer|hub\.load|hub\.resolve)$")
_TFDS = re.compile(r"(^|\.)(tfds|tensorflow_datasets)\.(load|builder)$")
_OF_A_URL = frozenset(
    {"get_file", "read_csv", "read_excel", "read_json", "read_parquet", "urlopen"}
)
"""Functions that fetch what their URL names, if they are given one."""
_OF_KERAS = "storage.googleapis.com"
_MAY_BE_LEFT = (ast.If, ast.For, ast.While, ast.Try, ast.Match)
_HIDDEN = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """One call that needs the network."""

    line: int
    message: str
    """What to know about it."""
    server: str | None
    """Which server it asks, where the text tells."""


def find_downloads(tree: ast.Module) -> Iterator[tuple[ast.Call, Download]]:
    """The calls of a module that fetch something, by its text."""
    texts = find_texts(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (found := read_download(node, texts)):
            yield node, found


def find_sure_calls(
    trees: Collection[ast.Module], functions: Collection[str]
) -> frozenset[ast.Call]:
    """The calls that are made whenever the modules are loaded and `functions` are called.

    What stands under an `if`, in a loop or after what may return early is in doubt; so is what is
    called by anything but the name of a function of these modules.
    """
    bodies = {one.name: one.body for tree in trees for one in _list_functions(tree)}
    sure: set[ast.Call] = set()
    waiting = [tree.body for tree in trees]
    waiting += [bodies.pop(name) for name in functions if name in bodies]
    while waiting:
        for call in _find_calls(waiting.pop()):
            sure.add(call)
            if isinstance(call.func, ast.Name) and call.func.id in bodies:
                waiting.append(bodies.pop(call.func.id))
    return frozenset(sure)


def _list_functions(tree: ast.Module) -> list[ast.FunctionDef]:
    return [node for node in tree.body if isinstance(node, ast.FunctionDef)]


def _find_calls(body: list[ast.stmt]) -> Iterator[ast.Call]:
    """The calls that statements make whatever happens."""
    for statement in body:
        if isinstance(statement, ast.If) and _is_main(statement.test):
            yield from _find_calls(statement.body)
        elif isinstance(statement, ast.With):
            yield from _find_calls([ast.Expr(item.context_expr) for item in statement.items])
            yield from _find_calls(statement.body)
        elif isinstance(statement, _MAY_BE_LEFT):
            if any(isinstance(node, ast.Return | ast.Raise) for node in ast.walk(statement)):
                return
        elif not isinstance(statement, _HIDDEN):
            yield from _list_calls(statement)


def _list_calls(node: ast.AST) -> Iterator[ast.Call]:
    if isinstance(node, ast.Call):
        yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (*_HIDDEN, ast.IfExp, ast.BoolOp, ast.comprehension)):
            yield from _list_calls(child)


def _is_main(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and ast.unparse(test.left) == "__name__"


def find_texts(tree: ast.Module) -> dict[str, str]:
    """The names that are given to texts, wherever that is."""
    return {
        node.targets[0].id: node.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    }


def read_download(call: ast.Call, texts: Mapping[str, str]) -> Download | None:
    """What a call fetches; None for one that needs no network, or has what it would fetch."""
    name = ast.unparse(call.func)
    address = _find_address(call, texts)
    server = urlsplit(address).hostname if address else None
    if _WEIGHTS.search(name):
        if _is_without_weights(call) or _is_kept_by_keras("models", name.split(".")[-1]):
            return None
        message = (
            f"{name} downloads its weights, unless ~/.keras/models has them: fetch them first."
        )
        server = _OF_KERAS
    elif _DATASET.search(name):
        if _is_kept_by_keras("datasets", name.split(".")[-2]):
            return None
        message = f"{name} downloads its data, unless ~/.keras/datasets has it: fetch it first."
        server = _OF_KERAS
    elif _HUB.search(name) and address:
        if _has_hub_model(address):
            return None
        message = (
            f"{name} downloads a model: fetch it first, and name its folder or TFHUB_CACHE_DIR."
        )
    elif name.split(".")[-1] == "urlretrieve":
        message = "urlretrieve needs the network: put the file there first, and leave the line out."
    elif _TFDS.search(name):
        message = f"{name} downloads its data, unless its data_dir has it: prepare it there first."
    elif name.split(".")[-1] in _OF_A_URL and address:
        message = f"{name} downloads {address}: fetch it first, and name the file instead."
    else:
        return None
    return Download(line=call.lineno, message=message, server=server)


def _is_kept_by_keras(kind: str, name: str) -> bool:
    """Whether Keras has fetched a model's weights before, of whatever size, or a dataset."""
    folder = os.path.expanduser(os.path.join(os.environ.get("KERAS_HOME", "~/.keras"), kind))
    kept = os.listdir(folder) if os.path.isdir(folder) else []
    return any(_normalize(name) in _normalize(one) for one in kept)


def _normalize(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _has_hub_model(address: str) -> bool:
    """Whether TensorFlow Hub has fetched a model before: its folders are called by a digest."""
    folder = os.environ.get("TFHUB_CACHE_DIR") or os.path.join(
        tempfile.gettempdir(), "tfhub_modules"
    )
    digest = hashlib.sha1(address.encode(), usedforsecurity=False).hexdigest()
    return os.path.isdir(os.path.join(folder, digest))


def _is_without_weights(call: ast.Call) -> bool:
    """Whether the weights are the model's own, at random, or from a file that is named."""
    if any(isinstance(one, ast.Constant) and one.value is None for one in call.args):
        return True  # the second of most models, the fourth of others
    return any(
        keyword.arg == "weights"
        and not (isinstance(keyword.value, ast.Constant) and keyword.value.value == "imagenet")
        for keyword in call.keywords
    )


def _find_address(call: ast.Call, texts: Mapping[str, str]) -> str | None:
    """The URL among the arguments, or one that they are names of."""
    for given in (*call.args, *(keyword.value for keyword in call.keywords)):
        text = texts.get(given.id) if isinstance(given, ast.Name) else getattr(given, "value", None)
        if isinstance(text, str) and text.startswith(("http://", "https://")):
            return text
    return None
