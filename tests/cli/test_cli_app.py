# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess
import sys

import click
import pytest

from stoker.cli.app import COMMANDS
from stoker.cli.app import stoker as group

HEAVY = ["tensorflow", "pyarrow", "sqlalchemy", "rich", "numpy", "google.protobuf"]


def python(code, **environ):
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environ},
    )
    return done.stdout


def test_the_import_is_light():
    code = (
        f"import json, sys, stoker.cli; print(json.dumps([m for m in {HEAVY} if m in sys.modules]))"
    )
    assert json.loads(python(code)) == []


@pytest.mark.slow
def test_help_takes_less_than_a_third_of_a_second():
    code = """
import time, atexit, sys
atexit.register(lambda: print(time.process_time(), file=sys.stdout))
from stoker.cli import main
main(["--help"])
"""
    assert min(float(python(code).split()[-1]) for _ in range(3)) < 0.3


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_of_its_own(stoker, name):
    result = stoker(name, "--help")
    assert result.code == 0
    assert result.out.startswith(f"Usage: stoker {name}")


@pytest.mark.parametrize(
    "name",
    sorted(set(COMMANDS) - {"run", "step", "env", "image", "logs", "store", "tensorboard", "ui"}),
)
def test_every_command_that_prints_data_can_print_json(name):
    command = group.get_command(click.Context(group), name)
    assert "--json" in [word for parameter in command.params for word in parameter.opts]


def test_help_lists_the_commands_and_the_exit_codes(stoker):
    out = stoker("--help").out
    assert all(name in out for name in COMMANDS)
    assert "130  stopped by Ctrl-C" in out
    assert '\n    zsh   eval "$(_STOKER_COMPLETE=zsh_source stoker)"\n' in out


def test_an_unknown_command_is_wrong_usage_in_one_line(stoker):
    result = stoker("rum")
    assert result.code == 2
    first, second = result.err.splitlines()
    assert first == "stoker: There is no command 'rum'. Did you mean 'run'?"
    assert second == "See stoker --help."


def test_a_missing_argument_is_wrong_usage(stoker):
    result = stoker("show")
    assert (result.code, result.out) == (2, "")
    assert "stoker show --help" in result.err


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("show co", ["plain,count"]),
        ("show la", ["plain,last"]),
        ("explain w", ["plain,write"]),
        ("runs n", ["plain,notes"]),
        ("run pipeline.py --force c", ["plain,count"]),
        ("explain z", []),
    ],
)
def test_the_shell_completes_steps_runs_and_pipelines(run, words, found):
    told = python(
        "from stoker.cli import main\nmain([])",
        _STOKER_COMPLETE="bash_complete",
        COMP_WORDS=f"stoker {words}",
        COMP_CWORD=str(len(words.split())),
    )
    assert told.split() == found


def test_the_shell_completes_nothing_where_there_is_no_store(here):
    environ = {"_STOKER_COMPLETE": "zsh_complete", "COMP_WORDS": "stoker show ", "COMP_CWORD": "2"}
    assert python("from stoker.cli import main\nmain([])", **environ).strip() == ""


def test_the_shell_completes_commands_without_loading_them():
    out = python(
        f"import sys\nfrom stoker.cli import main\ntry: main([])\n"
        f"finally: print([m for m in {HEAVY} if m in sys.modules])",
        _STOKER_COMPLETE="bash_complete",
        COMP_WORDS="stoker ru",
        COMP_CWORD="1",
    )
    assert out.split() == ["plain,run", "plain,runs", "[]"]
