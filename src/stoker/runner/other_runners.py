# SPDX-License-Identifier: Apache-2.0
"""Runners of other orchestrators, as files that make a pipeline for Airflow or Kubeflow name them.

With Python alone such a file is told what to do; `stoker run` runs its pipeline on this machine.
"""

import sys
from typing import Any, ClassVar

from stoker.any_python.modules import stop_loading_here
from stoker.dsl.pipeline import Pipeline
from stoker.errors import MissingPart
from stoker.runner.local_dag_runner import LocalDagRunner, Run, is_started_by_command
from stoker.views.table import readable_path


class Settings:
    """What an orchestrator is told: taken, whatever it is, since nothing here is meant by it.

    Fields are there when they are asked for, as in messages: `config.mysql_db_name.value = "db"`.
    """

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __getattr__(self, name: str) -> "Settings":
        if name.startswith("__"):
            raise AttributeError(name)
        field = Settings()
        setattr(self, name, field)
        return field


class _OtherRunner:
    ORCHESTRATOR: ClassVar[str]

    def __init__(self, *_: Any, **__: Any) -> None:
        """Any settings are accepted: they say how the orchestrator should run the pipeline."""

    def run(self, pipeline: Pipeline, *_: Any, **__: Any) -> Run:
        """Run a pipeline on this machine, if `stoker run` has started the file."""
        stop_loading_here()
        if not is_started_by_command():
            file = readable_path(sys.argv[0]) if sys.argv[0].endswith(".py") else "FILE"
            raise MissingPart(
                f"{type(self).__name__} leaves a pipeline to {self.ORCHESTRATOR}, which is not "
                f"here. To run it on this machine: stoker run {file}",
                name=type(self).__name__,
            )
        return LocalDagRunner().run(pipeline)


class AirflowDagRunner(_OtherRunner):
    """Made a DAG of a pipeline for Airflow."""

    ORCHESTRATOR = "Airflow"


class KubeflowDagRunner(_OtherRunner):
    """Made a workflow of a pipeline for Kubeflow Pipelines."""

    ORCHESTRATOR = "Kubeflow"


class KubeflowV2DagRunner(_OtherRunner):
    """Made a job of a pipeline for Vertex AI."""

    ORCHESTRATOR = "Vertex AI"


def make_settings(*_: Any, **__: Any) -> Settings:
    """Settings, as TFX would fill them in."""
    return Settings()


def make_operator_funcs(*_: Any, **__: Any) -> list[Any]:
    """The functions that TFX would change a workflow's steps with: none."""
    return []
