# SPDX-License-Identifier: Apache-2.0
"""Apache Beam for the steps that ask for it: on this machine, or where a flag sends it."""

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stoker.any_python.modules import PIPELINE_MODULE, is_installed
from stoker.any_python.own_code import OUR_PLACES
from stoker.any_python.url_files import PlaceError, require_server

_DIRECT_RUNNERS = ("directrunner", "switchingdirectrunner", "bundlebaseddirectrunner")
_DATAFLOW = ("dataflowrunner", "testdataflowrunner")
_DATAFLOW_SERVER = "dataflow.googleapis.com"
_OF_JAVA = ("flinkrunner", "sparkrunner")
_INSTEAD = "leave the flag out to compute on this machine."
_IN_MEMORY = "--runner=FnApiRunner"  # DirectRunner would try to download another one first


@dataclass(frozen=True, slots=True, kw_only=True)
class BeamFlags:
    """What `beam_pipeline_args` say about where to run."""

    project: str
    runner: str
    direct_num_workers: int | None
    direct_running_mode: str

    @property
    def names_a_runner(self) -> bool:
        """Whether there is a `--runner`, and it is not a direct one."""
        return self._runner_name not in ("", *_DIRECT_RUNNERS)

    @property
    def leaves_this_process(self) -> bool:
        """Whether the user's functions will be called in other processes than this one."""
        here = ("", "fnapirunner", *_DIRECT_RUNNERS)
        return self._runner_name not in here or self.direct_running_mode == "multi_processing"

    def find_lack(self) -> str:
        """Why the runner that is named cannot be asked from here; empty if it may be."""
        if self._runner_name in _DATAFLOW and not self.project:  # all else has defaults
            return f"--runner={self.runner} needs --project too, or {_INSTEAD}"
        return find_lack_of_runner(self.runner)

    @property
    def _runner_name(self) -> str:
        return self.runner.rpartition(".")[2].lower()


def parse_flags(beam_pipeline_args: Sequence[str]) -> BeamFlags:
    """The flags that decide where a Beam pipeline runs; the others are Beam's own to read."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--project", default="")
    parser.add_argument("--runner", default="")
    parser.add_argument("--direct_num_workers", type=int)
    parser.add_argument("--direct_running_mode", default="in_memory")
    try:
        known, _ = parser.parse_known_args(list(beam_pipeline_args))
    except argparse.ArgumentError as error:
        raise ValueError(f"beam_pipeline_args {list(beam_pipeline_args)}: {error}.") from error
    return BeamFlags(**vars(known))


def find_lack_of_runner(runner: str) -> str:
    """Why a runner of other machines cannot be asked from here; empty if it may be."""
    name = runner.rpartition(".")[2].lower()
    if name in _DATAFLOW:
        try:
            require_server(_DATAFLOW_SERVER)
        except PlaceError as error:
            return f"--runner={runner} cannot be asked: {error} Or {_INSTEAD}"
    if name in _OF_JAVA and not shutil.which("java"):
        return f"--runner={runner} needs Java, which is not here: install it, or {_INSTEAD}"
    return ""


def make_pipeline(beam_pipeline_args: Sequence[str]) -> Any:
    """A Beam pipeline with these flags: in this process, unless they say otherwise."""
    import apache_beam

    flags = parse_flags(beam_pipeline_args)
    if flags.leaves_this_process:
        _send_by_value()
    extra = [] if flags.names_a_runner else [_IN_MEMORY]
    return apache_beam.Pipeline(argv=[*beam_pipeline_args, *extra])


def _send_by_value() -> None:
    """Let the functions of the user's own files be sent to Beam's workers, not looked up there."""
    from apache_beam.internal.cloudpickle import cloudpickle

    for name, module in list(sys.modules.items()):  # other threads may be importing
        if name.startswith(PIPELINE_MODULE) or _is_users(module):
            cloudpickle.register_pickle_by_value(module)


def _is_users(module: Any) -> bool:
    file = getattr(module, "__file__", None)
    path = os.path.abspath(file or "")
    return bool(file) and not is_installed(path) and not path.startswith(OUR_PLACES)
