# SPDX-License-Identifier: Apache-2.0
"""Files that make a pipeline for another orchestrator, in the manner of their years."""

import runpy
import subprocess
import sys
import textwrap

import pytest

from stoker.errors import MissingPart

STEP = """
import os
from tfx.dsl.component.experimental.annotations import OutputArtifact
from tfx.dsl.component.experimental.decorators import component
from tfx.orchestration import metadata, pipeline
from tfx.types.standard_artifacts import Model

@component
def write(model: OutputArtifact[Model]):
    with open(os.path.join(model.uri, "note"), "w") as file:
        file.write("hello")

made = pipeline.Pipeline(
    pipeline_name="notes", pipeline_root="root", components=[write()],
    metadata_connection_config=metadata.sqlite_metadata_connection_config("root/metadata.db"),
)
"""
RUNNERS = {
    "airflow": """
        import datetime
        from tfx.orchestration.airflow.airflow_dag_runner import (
            AirflowDagRunner, AirflowPipelineConfig)
        config = {"schedule_interval": None, "start_date": datetime.datetime(2019, 1, 1)}
        DAG = AirflowDagRunner(AirflowPipelineConfig(config)).run(made)
        """,
    "airflow of 0.14": """
        from tfx.orchestration.airflow.airflow_runner import AirflowDAGRunner
        airflow_pipeline = AirflowDAGRunner({"schedule_interval": None}).run(made)
        """,
    "kubeflow": """
        from tfx.orchestration.kubeflow import kubeflow_dag_runner
        from tfx.orchestration.kubeflow.proto import kubeflow_pb2
        metadata_config = kubeflow_dag_runner.get_default_kubeflow_metadata_config()
        metadata_config.mysql_db_service_host.environment_variable = "MYSQL_HOST"
        kubeflow_pb2.KubeflowMetadataConfig().mysql_db_name.value = "metadb"
        runner_config = kubeflow_dag_runner.KubeflowDagRunnerConfig(
            kubeflow_metadata_config=metadata_config, tfx_image="gcr.io/x/y",
            pipeline_operator_funcs=kubeflow_dag_runner.get_default_pipeline_operator_funcs())
        pod_labels = kubeflow_dag_runner.get_default_pod_labels()
        pod_labels.update({"env": "notes"})
        kubeflow_dag_runner.KubeflowDagRunner(
            config=runner_config, pod_labels_to_attach=pod_labels).run(made)
        """,
    "vertex": """
        from tfx import v1 as tfx
        experimental = tfx.orchestration.experimental
        runner = experimental.KubeflowV2DagRunner(
            config=experimental.KubeflowV2DagRunnerConfig(default_image="x/y"),
            output_filename="pipeline.json")
        runner.run(made, write_out=True)
        """,
}


@pytest.fixture(params=RUNNERS)
def file(here, request):
    path = here / "runner.py"
    path.write_text(STEP + textwrap.dedent(RUNNERS[request.param]))
    return path


def test_python_alone_makes_what_the_other_needs_or_says_what_is_missing(file, here, monkeypatch):
    monkeypatch.setattr("sys.argv", [str(file)])
    if "airflow" in file.read_text():
        with pytest.raises(MissingPart, match=r"Runner leaves .*: stoker run runner\.py$"):
            runpy.run_path(str(file), run_name="__main__")
    else:
        runpy.run_path(str(file), run_name="__main__")
        assert (here / "notes.tar.gz").exists() or (here / "pipeline.json").exists()
    assert not (here / "root").exists()


@pytest.mark.parametrize(
    ("runner", "lack"), [("airflow", "to Airflow, which is not here"), ("kubeflow", "no image for")]
)
def test_a_program_that_lacks_something_ends_with_one_line(here, runner, lack):
    text = textwrap.dedent(RUNNERS[runner]).replace('tfx_image="gcr.io/x/y"', "tfx_image=None")
    (here / "runner.py").write_text(STEP + text)
    ended = subprocess.run([sys.executable, "runner.py"], capture_output=True, text=True)
    (line,) = ended.stderr.splitlines()
    assert line.startswith("stoker: ")
    assert lack in line
    assert line.endswith("on this machine: stoker run runner.py")


@pytest.mark.slow
def test_stoker_run_runs_it_on_this_machine(file, here, stoker, monkeypatch):
    monkeypatch.setattr("sys.path", list(sys.path))
    assert stoker("run", file).code == 0
    assert (here / "root/write/model/1/note").read_text() == "hello"
