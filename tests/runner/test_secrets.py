# SPDX-License-Identifier: Apache-2.0
"""A step gets its secrets; nothing that a run prints, records or shows has them."""

import hashlib
import os
import sys
from pathlib import Path

import pytest

from stoker.artifacts import Artifact
from stoker.components.importer import Importer
from stoker.dsl import OutputArtifact, Parameter, Pipeline, component
from stoker.errors import BadData, StepFailed
from stoker.launchers.in_process import InProcess
from stoker.metadata.records import ExecutionState
from stoker.metadata.store import Store
from stoker.runner import LocalDagRunner
from stoker.views.artifact_views import html_page

pytestmark = pytest.mark.slow

SECRET = "hunter2-hunter2"


class Note(Artifact):
    TYPE_NAME = "SecretNote"


@component
def log_in(
    note: OutputArtifact[Note], config: Parameter[str], how: Parameter[str] = "quietly"
) -> None:
    """Uses the secret in `config`, and is as careless with it as `how` says."""
    secret = config.rpartition(" ")[2]
    Path(note.uri, "digest").write_text(hashlib.sha256(secret.encode()).hexdigest())
    if how == "prints":
        print(f"logging in with {secret}", flush=True)
        print(f"retrying with {secret}", file=sys.stderr, flush=True)
    elif how == "prints in pieces":
        os.write(1, f"logging in with {secret[:4]}".encode())
        os.write(1, f"{secret[4:]} again".encode())
    elif how == "raises":
        raise RuntimeError(f"401: cannot log in as me with {secret!r}")
    elif how == "raises about data":
        raise BadData(f"wrong value {secret} in the feature \x1b[31mred\x1b[0m")


@pytest.fixture
def run(tmp_path):
    def run(*components, launcher=None):
        root = str(tmp_path / "root")
        pipeline = Pipeline("logins", root, components=components, enable_cache=True)
        return LocalDagRunner(launcher).run(pipeline)

    return run


def assert_kept(tmp_path, captured):
    assert SECRET not in captured.out + captured.err
    for file in (tmp_path / "root").rglob("*"):
        assert not file.is_file() or SECRET.encode() not in file.read_bytes(), file


def get_executions(tmp_path):
    from stoker.metadata.config import sqlite_metadata_connection_config

    with Store(sqlite_metadata_connection_config(str(tmp_path / "root/metadata.db"))) as store:
        return store.executions()


@pytest.mark.parametrize("how", ["prints", "prints in pieces", "raises", "raises about data"])
def test_what_quotes_a_parameters_secret_is_masked(how, run, tmp_path, capfd):
    step = log_in(config=f"Authorization: Bearer {SECRET}", how=how)
    if how.startswith("raises"):
        with pytest.raises(StepFailed) as failed:
            run(step)
        assert SECRET not in f"{failed.value}{failed.value.traceback}"
        assert "***" in str(failed.value)
        assert "***" in get_executions(tmp_path)[0].error
    else:
        result = run(step)
        (note,) = result.outputs["log_in"]["note"]
        real = hashlib.sha256(SECRET.encode()).hexdigest()
        assert Path(note.uri, "digest").read_text() == real  # the step had the real one
        assert SECRET not in html_page(note)
    captured = capfd.readouterr()
    assert "***" in captured.out + captured.err
    assert_kept(tmp_path, captured)


def test_a_secret_of_the_environment_is_masked(run, tmp_path, capfd, monkeypatch):
    monkeypatch.setenv("WANDB_API_KEY", SECRET)
    with pytest.raises(StepFailed, match=r"with '\*\*\*'"):
        run(log_in(config=f"as the environment says: {SECRET}", how="raises"))
    captured = capfd.readouterr()
    assert SECRET not in captured.out + captured.err
    assert SECRET not in get_executions(tmp_path)[0].error


def test_the_step_runs_again_when_its_secret_changes(run, tmp_path):
    for config in (f"token={SECRET}-1", f"token={SECRET}-1", f"token={SECRET}-2"):
        run(log_in(config=config), launcher=InProcess())
    states = [execution.state for execution in get_executions(tmp_path)]
    complete, cached = ExecutionState.COMPLETE, ExecutionState.CACHED
    assert states == [complete, cached, complete]


def test_an_importers_address_is_recorded_without_its_password(run, tmp_path, capfd):
    folder = tmp_path / "notes"
    folder.mkdir()
    importer = Importer(str(folder), Note, custom_properties={"db": f"x://me:{SECRET}@host"})
    run(importer)
    (execution,) = get_executions(tmp_path)
    assert SECRET not in str(execution.properties)


def test_harmless_words_stay_in_what_is_recorded(run, tmp_path):
    text = "passenger_count=3, author=Ann, max_tokens=12"
    run(log_in(config=text), launcher=InProcess())
    assert get_executions(tmp_path)[0].properties["config"] == text


def test_control_characters_of_data_are_shown_escaped(run, capfd):
    with pytest.raises(StepFailed) as failed:
        run(log_in(config="x", how="raises about data"))
    assert r"the feature \x1b[31mred\x1b[0m" in str(failed.value)
    captured = capfd.readouterr()
    assert "\x1b" not in captured.out + captured.err


@component
def print_in_colours() -> None:
    print("\x1b[32mepoch 1\x1b[0m", flush=True)


def test_the_users_own_colours_pass(run, capfd):
    run(print_in_colours())
    assert "\x1b[32mepoch 1\x1b[0m" in capfd.readouterr().out
