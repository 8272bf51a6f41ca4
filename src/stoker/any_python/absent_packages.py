# SPDX-License-Identifier: Apache-2.0
"""`tfx`, `tfx_bsl`, TFDV and TFMA for an interpreter that lacks them.

A real package that is installed there is left alone. Where there is none, the modules below stand
in for it, with the names that a module file uses; any other name says that it is not there.
"""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Mapping, NamedTuple

from . import dataset, eval_export, fileio, fn_args, io_utils, layout


class TunerFnResult(NamedTuple):
    """What a `tuner_fn` returns; a module that has one may be trained without tuning."""

    tuner: Any
    fit_kwargs: Mapping[str, Any]


class SchemaReader:
    """Reads schemas."""

    def read(self, schema_path: str) -> Any:
        """The schema in a text file."""
        return io_utils.read_newer_schema(schema_path)


def _names_of(module: ModuleType) -> dict[str, Any]:
    return {name: getattr(module, name) for name in module.__all__}


_FN_ARGS = _names_of(fn_args)
_TUNER = {"TunerFnResult": TunerFnResult}
_OPTIONS = {
    "TensorFlowDatasetOptions": dataset.TensorFlowDatasetOptions,
    "RecordBatchesOptions": dataset.RecordBatchesOptions,
}
_PARSE = {"parse_pbtxt_file": io_utils.parse_newer_pbtxt_file}

_SCHEMA_TEXT = {"load_schema_text": io_utils.read_newer_schema}

MODULES: dict[str, Mapping[str, Any]] = {
    "tfx.components.trainer.executor": {"TrainerFnArgs": fn_args.FnArgs},
    "tfx.components.trainer.fn_args_utils": _FN_ARGS,
    "tfx.components.tuner.component": _TUNER,
    "tfx.dsl.io.fileio": _names_of(fileio),
    "tfx.utils.io_utils": {**_names_of(io_utils), **_PARSE, "SchemaReader": SchemaReader},
    "tfx.utils.path_utils": _names_of(layout),
    "tfx.v1.components": {**_FN_ARGS, **_TUNER},
    "tfx.v1.dsl.io.fileio": _names_of(fileio),
    "tfx.v1.utils": _PARSE,
    "tfx_bsl.public.tfxio": _OPTIONS,
    "tfx_bsl.tfxio.dataset_options": _OPTIONS,
    "tensorflow_data_validation": _SCHEMA_TEXT,
    "tensorflow_data_validation.utils.schema_util": _SCHEMA_TEXT,
    "tensorflow_model_analysis.export": _names_of(eval_export),
}
"""The names in each module; the packages above them hold nothing else."""


def install() -> None:
    """Let the modules be imported, for each package that this interpreter does not have."""
    packages = {name.partition(".")[0] for name in MODULES}
    missing = {package for package in packages if not _is_installed(package)}
    for name, content in MODULES.items():
        if name.partition(".")[0] in missing:
            vars(_make_module(name)).update(content)


def _is_installed(package: str) -> bool:
    """A folder without a file of Python's, such as one with data, is not a package."""
    found = importlib.util.find_spec(package)
    return found is not None and found.origin not in (None, "namespace")


def _make_module(name: str) -> ModuleType:
    """The module of a name, as if it had been imported, in the packages that it is in."""
    if name not in sys.modules:
        module = sys.modules[name] = _StandIn(name)
        module.__spec__ = ModuleSpec(name, None, is_package=True)
        module.__path__ = []
        package, _, last = name.rpartition(".")
        if package:
            setattr(_make_module(package), last, module)
    return sys.modules[name]


class _StandIn(ModuleType):
    """A module of the table, or a package above one."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        known = sorted(one for one in vars(self) if not one.startswith("__"))
        raise ImportError(
            f"{self.__name__}.{name} is not there for a module that runs in another interpreter. "
            f"It has {', '.join(known)} in {self.__name__}.",
            name=f"{self.__name__}.{name}",
        )
