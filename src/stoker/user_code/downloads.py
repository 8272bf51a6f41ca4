# SPDX-License-Identifier: Apache-2.0
"""What a user's code fetches from the network when it runs, which is after the steps before it."""

import ast
import re
from collections.abc import Iterator, Mapping
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """One call that needs the network."""

    line: int
    message: str
    """What to know about it."""
    server: str | None
    """Which server it asks, where the text tells."""


def find_downloads(tree: ast.Module) -> Iterator[Download]:
    """The calls of a module that fetch something, by its text."""
    texts = find_texts(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (found := read_download(node, texts)):
            yield found


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
    """What a call fetches; None for one that needs no network."""
    name = ast.unparse(call.func)
    address = _find_address(call, texts)
    server = urlsplit(address).hostname if address else None
    if _WEIGHTS.search(name) and not _is_without_weights(call):
        message = (
            f"{name} downloads its weights, unless ~/.keras/models has them: fetch them first."
        )
        server = _OF_KERAS
    elif _DATASET.search(name):
        message = f"{name} downloads its data, unless ~/.keras/datasets has it: fetch it first."
        server = _OF_KERAS
    elif _HUB.search(name) and address:
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


def _is_without_weights(call: ast.Call) -> bool:
    """Whether the weights are the model's own, at random, or from a file that is named."""
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
