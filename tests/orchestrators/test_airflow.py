# SPDX-License-Identifier: Apache-2.0
"""Pipelines in the hands of real Airflow: `airflow dags test` runs them to their end."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import airflow_envs
import pytest

from stoker.metadata.config import sqlite_metadata_connection_config
from stoker.metadata.standings import run_state
from stoker.metadata.store import Store

pytestmark = pytest.mark.envs

HERE = Path(__file__).parent
EXAMPLE = HERE.parents[1] / "examples" / "penguin"
FLAKY = """
import os

class Stops(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        marker = os.path.join(os.environ["HOME"], "failed")
        if batch == 14 and not os.path.exists(marker):
            open(marker, "w").close()
            raise OSError("the disk is full")
"""


class Airflow:
    """One edition of Airflow, in a home with one DAG."""

    def __init__(self, edition, home):
        self.home = home
        folder = airflow_envs.find(edition)
        programs = f"{Path(sys.executable).parent}:{folder}:{os.environ['PATH']}"
        self._program = folder / "airflow"
        self._environ = {
            **os.environ,
            "HOME": str(home),
            "PATH": programs,
            "AIRFLOW_HOME": str(home / "airflow"),
            "AIRFLOW__CORE__DAGS_FOLDER": str(home / "dags"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "STOKER_CHECKPOINT_SECONDS": "0",
        }
        self("db", "migrate")

    def __call__(self, *words):
        command = [self._program, *words]
        done = subprocess.run(
            command,
            env=self._environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
        )
        return done.returncode, done.stdout


@pytest.fixture(params=airflow_envs.WANTED)
def airflow(request, tmp_path):
    (tmp_path / "dags").mkdir()
    shutil.copy(HERE / "projects" / "penguin_airflow.py", tmp_path / "dags")
    shutil.copytree(EXAMPLE, tmp_path / "penguin")
    return Airflow(request.param, tmp_path)


def standings(home):
    file = home / "tfx/metadata/penguin_airflow/metadata.db"
    with Store(sqlite_metadata_connection_config(file)) as store:
        (run,) = store.runs()
        steps = {}
        for one in store.executions(run_id=run.run_id):
            steps.setdefault(one.node_id, []).append(one.standing)
        return run_state(run), steps


@pytest.mark.tf
def test_a_dag_runs_to_its_end(airflow):
    code, said = airflow("dags", "test", "penguin_airflow")
    assert code == 0, said
    assert standings(airflow.home) == (
        "complete",
        {name: ["complete"] for name in ("CsvExampleGen", "StatisticsGen", "SchemaGen", "Trainer")},
    )


@pytest.mark.tf
def test_a_failing_step_shows_its_traceback_and_a_retried_one_resumes(airflow):
    module = airflow.home / "penguin" / "module.py"
    text = module.read_text()
    last = "validation_steps=fn_args.eval_steps,"
    assert last in text
    module.write_text(text.replace(last, f"{last} callbacks=[Stops()],") + FLAKY)
    code, said = airflow("dags", "test", "penguin_airflow")
    assert "OSError: the disk is full" in said
    assert 'module.py", line' in said
    if standings(airflow.home)[0] == "failed":  # then it is for the user to start the task again
        code, said = airflow("dags", "test", "penguin_airflow")
    assert code == 0, said
    assert "Trainer: resuming from step" in said
    assert standings(airflow.home)[1]["Trainer"] == ["failed", "complete"]
