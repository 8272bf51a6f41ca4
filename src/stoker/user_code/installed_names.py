# SPDX-License-Identifier: Apache-2.0
"""The names that installed packages have, read from their text, and what to do without one.

`stoker check` asks before a run, and whoever tells how a program or a step failed asks after it.
"""

import ast
import functools
import os
import re
from importlib.metadata import packages_distributions, version
from types import ModuleType

from stoker.any_python.lines import did_you_mean
from stoker.user_code.imports import find_module
from stoker.user_code.keras_choice import uses_keras_2
from stoker.user_code.known_packages import find_package

PARTS = ("", "nn", "summary", "train")
"""The modules of TensorFlow, by their names below it, in which those of TensorFlow 1 are found."""
_TENSORFLOW_2 = "tensorflow._api.v2"
_TENSORFLOW_1 = f"{_TENSORFLOW_2}.compat.v1"
_KERAS = "tensorflow.keras"
_KERAS_2, _KERAS_3 = "tf_keras.api._v2.keras", "keras._tf_keras.keras"
_INNER_KERAS = "tensorflow.python.keras"
_PUBLIC = {
    _TENSORFLOW_2: "tensorflow",
    _INNER_KERAS: _INNER_KERAS,
    _KERAS_2: _KERAS,
    _KERAS_3: _KERAS,
}
"""What the user calls the modules that a library names in its errors."""
_TOLD = ("keras", "tensorflow", "tensorflow_transform", "tf_keras", "tfx_bsl")
"""The packages whose versions are not those that the user's code was written for."""
_NOT_IMPORTED = re.compile(r"cannot import name '(\w+)'")
_NO_ATTRIBUTE = re.compile(r"module '([\w.]+)' has no attribute '(\w+)'")


@functools.cache
def is_found_in_compat(name: str) -> bool:
    """Whether TensorFlow has a name only in compat.v1, where a user's code finds it."""
    module, _, last = name.rpartition(".")
    part = module.removeprefix("tensorflow").removeprefix("._api.v2").removeprefix(".")
    is_tensorflow = module.partition(".")[0] == "tensorflow" and part in PARTS
    return (
        is_tensorflow
        and last not in (read_names(module) or (last,))
        and find_module(name) is None
        and _is_of_tensorflow_1(f"tensorflow.{part}.{last}".replace("..", "."))
    )


def describe_missing_member(module: str, name: str) -> str:
    """That a module of ours lacks a name, and what to do."""
    return f"Stoker has no {module}.{name}. Leave it out, or write what it does."


def describe_missing(name: str) -> str:
    """What to do about a name that a package does not have, or about the package."""
    top = name.partition(".")[0]
    if find_module(top) is None:
        return find_package(top).describe(top)
    where = f"{top.replace('_', '-')} {_find_version(top)}"
    if top != "tensorflow":
        owner, _, last = name.rpartition(".")
        near = did_you_mean(last, read_names(owner) or ())
        return (
            f"{name} is not in {where}, which is installed here.{near} Use another name of "
            f"{owner}, or a Python with the version that has it: Trainer(python=PATH)."
        )
    public = name.replace("tensorflow._api.v2.", "tensorflow.")
    first = public.split(".")[1]
    if first == "contrib" or (_is_of_tensorflow_1(public) and not _find_proved(public)):
        return (
            f"{public} is of TensorFlow 1: use tensorflow.compat.v1, or the environment that has "
            "it: stoker env create tf-1.15, and Trainer(python='tf-1.15')."
        )
    owner, _, last = public.rpartition(".")
    known = read_names(owner) or read_names(owner.replace("tensorflow", _TENSORFLOW_2, 1)) or ()
    near = did_you_mean(last, known)
    return (
        f"{public} is not in {where}, which is installed here.{near} {advise_replacement(public)}, "
        "or the environment of its time: stoker env create tf-2.15, and Trainer(python='tf-2.15')."
    )


def missing_name_hint(error: BaseException, line: str = "") -> str:
    """What to do about a name that today's TensorFlow or Keras lacks, or an empty string.

    `line` is the user's that named it.
    """
    module, name = find_missing(error)
    if module.partition(".")[0] not in _TOLD or name.startswith("_"):
        return ""
    public = _complete(_make_public(f"{module}.{name}" if name else module), line)
    is_keras_3 = not (module.startswith("tf_keras") or uses_keras_2(os.environ))
    if is_keras_3 and public.startswith(f"{_KERAS}.") and _has(public, _KERAS_2):
        instead = _find_proved(public)
        way = f"Use {instead}, or set" if instead else "Set"
        return (
            f"{public} is of Keras 2, and this ran with Keras 3. {way} TF_USE_LEGACY_KERAS=1 for "
            "the program, or Trainer(keras=2) for its module."
        )
    return describe_missing(public)


def _complete(name: str, line: str) -> str:
    """A name with what follows it in a line: an error knows only the first part that is missing."""
    last = re.escape(name.rpartition(".")[2])
    found = re.search(rf"\.{last}((?:\.\w+)+)|\.{last} import (\w+)", line)
    if not found:
        return name
    return name + (found[1] or f".{found[2]}")


def find_missing(error: BaseException) -> tuple[str, str]:
    """The module in which a name is missing, and the name, which is empty for the module itself."""
    if isinstance(error, AttributeError) and isinstance(error.obj, ModuleType):
        return error.obj.__name__, error.name or ""
    if isinstance(error, AttributeError) and (said := _NO_ATTRIBUTE.fullmatch(str(error))):
        return said[1], said[2]
    if isinstance(error, ModuleNotFoundError):
        return error.name or "", ""
    if isinstance(error, ImportError) and (found := _NOT_IMPORTED.match(str(error))):
        return error.name or "", found[1]
    return "", ""


def _make_public(name: str) -> str:
    for module, public in _PUBLIC.items():
        if f"{name}.".startswith(f"{module}."):
            return public + name.removeprefix(module)
    return name


def advise_replacement(name: str) -> str:
    """What to use instead of a name of TensorFlow's: of its own files, or of an experiment."""
    if f"{name}.".startswith(f"{_INNER_KERAS}."):
        return f"Use {name.replace(_INNER_KERAS, _KERAS)}"
    proved = _find_proved(name)
    return f"Use {proved}" if proved else "Use what replaced it"


def _find_proved(name: str) -> str:
    """Where an experiment is that proved itself: it lost that word alone; else an empty string."""
    proved = re.sub(r"\.experimental(\.preprocessing)?\b", "", name)
    return proved if proved != name and _has(proved) else ""


def _has(public: str, keras: str = _KERAS_3) -> bool:
    """Whether TensorFlow has a public name; of what is in a class, the class."""
    owner = "tensorflow"
    for part in public.split(".")[1:]:
        if owner == "tensorflow" and part == "keras":
            owner = keras
            continue
        names = read_names(owner)
        if names is None:
            return find_module(owner) is None  # a class, or a function
        owner = names.get(part, f"{owner}.{part}")
        if part not in names and find_module(owner) is None:
            return False
    return True


def _find_version(package: str) -> str:
    names = packages_distributions().get(package) or [package]
    return version(names[0])


def _is_of_tensorflow_1(public: str) -> bool:
    *modules, name = public.split(".")[1:]
    names = read_names(".".join([_TENSORFLOW_1, *modules]))
    return bool(names) and name in (names or ())


@functools.cache
def read_names(module: str) -> dict[str, str] | None:
    """The names at the top of a module's text, each with where it is from.

    None if the text does not say all: there is no such file, or names come from elsewhere.
    """
    path = find_module(module)
    if path is None or not path.endswith(".py") or path.endswith("_pb2.py"):
        return None  # protobuf makes its classes when it is imported
    with open(path, "rb") as file:
        tree = ast.parse(file.read())
    package = module if os.path.basename(path) == "__init__.py" else module.rpartition(".")[0]
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(names=[ast.alias(name="*")]):
                more = read_names(_resolve(node, package))
                if more is None:
                    return None
                names.update(more)
            case ast.ImportFrom():
                home = _resolve(node, package)
                names.update({one.asname or one.name: f"{home}.{one.name}" for one in node.names})
            case ast.Import():
                names.update(
                    {one.asname or one.name.partition(".")[0]: one.name for one in node.names}
                )
            case ast.FunctionDef(name="__getattr__"):
                return None
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names[name] = f"{module}.{name}"
            case ast.Name(id=name, ctx=ast.Store()):
                names[name] = f"{module}.{name}"
            case ast.Call(func=ast.Name(id="setattr"), args=[_, ast.Constant(value=str(name)), *_]):
                names[name] = f"{module}.{name}"
    return names


def _resolve(statement: ast.ImportFrom, package: str) -> str:
    if not statement.level:
        return statement.module or ""
    parts = package.split(".")
    kept = parts[: len(parts) - statement.level + 1]
    return ".".join([*kept, statement.module] if statement.module else kept)
