# SPDX-License-Identifier: Apache-2.0
"""The launcher that the docstring of `Launcher` shows, as it stands there."""

import inspect
import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

from stoker.dsl import Pipeline, component
from stoker.dsl.function_component import OutputDict
from stoker.launchers import Launcher
from stoker.runner import LocalDagRunner
from stoker.task import Outcome


@component
def say_where() -> OutputDict(pid=int):
    return {"pid": os.getpid()}


@pytest.mark.slow
def test_the_example_runs_a_pipeline_in_other_processes(tmp_path):
    step = say_where()
    names = {
        "LocalDagRunner": LocalDagRunner,
        "Outcome": Outcome,
        "pipeline": Pipeline("example", str(tmp_path), components=[step]),
        "subprocess": subprocess,
        "sys": sys,
        "tempfile": tempfile,
    }
    text = inspect.getdoc(Launcher)
    exec(textwrap.dedent(text[text.index("    class ") :]), names)
    (value,) = Path(tmp_path, step.id, "pid").glob("*/value")
    assert int(value.read_text()) != os.getpid()
