# SPDX-License-Identifier: Apache-2.0
"""`tfx`, `tfx_bsl` and `tensorflow_model_analysis` for an interpreter that lacks them.

A real package that is installed there is left alone. Where there is none, the modules below stand
in for it, with the names that a module file uses; any other name says that it is not there.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Mapping, NamedTuple, Sequence

from . import dataset, eval_export, fileio, fn_args, io_utils, path_utils


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

MODULES: dict[str, Mapping[str, Any]] = {
    "tfx.components.trainer.executor": {"TrainerFnArgs": fn_args.FnArgs},
    "tfx.components.trainer.fn_args_utils": _FN_ARGS,
    "tfx.components.tuner.component": _TUNER,
    "tfx.dsl.io.fileio": _names_of(fileio),
    "tfx.utils.io_utils": {**_names_of(io_utils), **_PARSE, "SchemaReader": SchemaReader},
    "tfx.utils.path_utils": _names_of(path_utils),
    "tfx.v1.components": {**_FN_ARGS, **_TUNER},
    "tfx.v1.dsl.io.fileio": _names_of(fileio),
    "tfx.v1.utils": _PARSE,
    "tfx_bsl.public.tfxio": _OPTIONS,
    "tfx_bsl.tfxio.dataset_options": _OPTIONS,
    "tensorflow_model_analysis.export": _names_of(eval_export),
}
"""The names in each module; the packages above them hold nothing else."""


def install() -> None:
    """Let the modules be found, for each package that this interpreter does not have."""
    missing = {name.partition(".")[0] for name in MODULES}
    missing = {name for name in missing if not _is_installed(name)}
    sys.meta_path.insert(0, _Finder({one for one in MODULES if one.partition(".")[0] in missing}))


def _is_installed(package: str) -> bool:
    """A folder without a file of Python's, such as one with data, is not a package."""
    found = importlib.util.find_spec(package)
    return found is not None and found.origin not in (None, "namespace")


class _Finder(MetaPathFinder):
    """Finds the modules and the packages that they are in."""

    def __init__(self, modules: set[str]) -> None:
        self._names = {name for module in modules for name in _prefixes(module)}

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, _Maker(), is_package=True) if fullname in self._names else None


def _prefixes(name: str) -> list[str]:
    """A module and the packages that it is in."""
    parts = name.split(".")
    return [".".join(parts[:depth]) for depth in range(1, len(parts) + 1)]


class _Maker(Loader):
    """Makes a module from the table."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(MODULES.get(module.__name__, {}))


class _StandIn(ModuleType):
    """A module of the table, or a package above one; modules below it come with their names."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        below = f"{self.__name__}.{name}"
        if any(f"{one}.".startswith(f"{below}.") for one in MODULES):
            return importlib.import_module(below)
        raise ImportError(
            f"{below} is not there for a module that runs in another interpreter. It has "
            f"{', '.join(_names_in(self.__name__))} in {self.__name__}.",
            name=below,
        )


def _names_in(module: str) -> list[str]:
    prefix = f"{module}."
    below = {one[len(prefix) :].partition(".")[0] for one in MODULES if one.startswith(prefix)}
    return sorted({*below, *MODULES.get(module, ())})
