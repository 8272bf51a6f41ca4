# SPDX-License-Identifier: Apache-2.0
"""The runner for Airflow: it makes the DAG whose tasks are the steps of a pipeline.

DAG = AirflowDagRunner(AirflowPipelineConfig({"schedule": "@daily", …})).run(pipeline)

The scheduler executes the file for the DAG, and a task executes it again, by `stoker step`, in the
interpreter that has TensorFlow. Airflow's own needs little of it: Stoker without its dependencies
but for absl-py and isal.
"""

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from types import FrameType
from typing import Any

from stoker.any_python.modules import stop_loading_here
from stoker.dsl.component import Node
from stoker.dsl.pipeline import Pipeline
from stoker.errors import MissingPart
from stoker.orchestrators.kubeflow import choose_place, find_resources
from stoker.orchestrators.settings import find_program, refuse_secrets
from stoker.runner.endings import end_briefly
from stoker.runner.local_dag_runner import LocalDagRunner, is_started_by_command
from stoker.runner.step_list import StepOutline, find_parameters, make_command, outline_steps

_LEFT_OUT = 3
"""The exit code of a step that a condition leaves out: a task that Airflow shows as skipped."""
_RUN_ID, _PARAMETER = "STOKER_RUN_ID", "STOKER_PARAMETER_{}"
_TYPES = {int: "integer", float: "number", bool: "boolean", str: "string"}


class AirflowPipelineConfig:
    """What Airflow is told of a pipeline, and where its steps run."""

    def __init__(
        self,
        airflow_dag_config: Mapping[str, Any] | None = None,
        *,
        python: str | None = None,
        image: str | None = None,
        pipeline_file: str | None = None,
        env: Mapping[str, str] | None = None,
        ray_address: str | None = None,
        worker_pods: bool = False,
        **_: Any,
    ) -> None:
        """`airflow_dag_config` are arguments of Airflow's DAG, such as schedule and start_date.

        Steps are commands on the worker's machine, started by the `stoker` on its PATH, or by
        another interpreter: `python`. With an `image` they are pods, in which `pipeline_file` is
        where this file is. `env` are variables for all of them; `ray_address` is the cluster on
        which trainings with several workers run; with `worker_pods`, and where steps are pods, each
        worker is one.
        """
        self.dag_arguments = dict(airflow_dag_config or {})
        if "schedule_interval" in self.dag_arguments:  # as Airflow called it until 2.4
            self.dag_arguments["schedule"] = self.dag_arguments.pop("schedule_interval")
        self.python = python
        self.image = image
        self.pipeline_file = pipeline_file
        self.env = dict(env or {})
        self.ray_address = ray_address
        self.worker_pods = worker_pods


class AirflowDagRunner:
    """Makes a DAG of a pipeline for Airflow 2.10 or 3."""

    def __init__(self, config: AirflowPipelineConfig | Mapping[str, Any] | None = None) -> None:
        """A dict is that of AirflowPipelineConfig, as in TFX's first years."""
        given = None if isinstance(config, AirflowPipelineConfig) else config
        self._config = (
            config if isinstance(config, AirflowPipelineConfig) else AirflowPipelineConfig(given)
        )

    def run(self, pipeline: Pipeline, **_: Any) -> Any:
        """The DAG, for a variable of the file; a command of ours runs the pipeline instead."""
        stop_loading_here()
        if is_started_by_command():
            return LocalDagRunner().run(pipeline)
        with end_briefly():
            if find_spec("airflow") is None:
                raise MissingPart(
                    "AirflowDagRunner leaves a pipeline to Airflow, which is not here. To run it "
                    f"on this machine: stoker run {find_program()}",
                    name="airflow",
                )
            refuse_secrets(find_parameters(pipeline), {"The variables of env=": self._config.env})
            return _make_dag(pipeline, self._config, _find_file(sys._getframe(1)))


def _find_file(frame: FrameType | None) -> str:
    """The file that is being executed and has called us, perhaps by functions of other files."""
    while frame and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    if frame is None:
        raise ValueError(
            "AirflowDagRunner(…).run(pipeline) is for the top level of a file, which each task "
            "executes again. Give its DAG to a variable there: DAG = AirflowDagRunner(…).run(…)."
        )
    return os.path.abspath(frame.f_code.co_filename)


def _make_dag(pipeline: Pipeline, config: AirflowPipelineConfig, file: str) -> Any:
    dag_class, param_class = _import_dag()
    parameters = find_parameters(pipeline)
    params = {
        name: param_class(one.default, type=_TYPES[one.ptype or str])
        if one.default is not None
        else param_class(type=_TYPES[one.ptype or str])
        for name, one in parameters.items()
    }
    given = config.dag_arguments
    dag = dag_class(
        pipeline.pipeline_name, **{**given, "params": {**params, **given.get("params", {})}}
    )
    dag.fileloc = file  # and not ours, which Airflow would show
    nodes = {node.id: node for node in pipeline.steps}
    tasks: dict[str, Any] = {}
    for step in outline_steps(pipeline):
        make_task = _make_pod if config.image else _make_command_task
        tasks[step.id] = make_task(dag, config, file, step, nodes[step.id], list(parameters))
        for one in step.after:
            tasks[one].set_downstream(tasks[step.id])
    return dag


def _import_dag() -> tuple[Any, Any]:
    """Airflow's DAG and Param, of whichever edition is here."""
    if find_spec("airflow.sdk"):
        sdk = import_module("airflow.sdk")
        return sdk.DAG, sdk.Param
    return import_module("airflow").DAG, import_module("airflow.models.param").Param


def _make_common(dag: Any, step: StepOutline) -> dict[str, Any]:
    """What every task has; a step that was skipped does not skip those after it: they see."""
    return {
        "dag": dag,
        "task_id": step.id,
        "trigger_rule": "none_failed",
        "skip_on_exit_code": [_LEFT_OUT],
        "doc_md": f"`stoker logs {step.id}` prints its log, `stoker ui` shows its run.",
        **({"retries": step.retries} if step.retries is not None else {}),
    }


def _make_environment(config: AirflowPipelineConfig, parameters: Sequence[str]) -> dict[str, str]:
    """Values that Airflow fills in: by variables, since a shell would read more into them."""
    values = {
        _PARAMETER.format(number): f"{{{{ params[{name!r}] }}}}"
        for number, name in enumerate(parameters)
    }
    return {**config.env, _RUN_ID: "{{ run_id }}", **values}


def _make_command_task(
    dag: Any,
    config: AirflowPipelineConfig,
    file: str,
    step: StepOutline,
    node: Node,
    parameters: Sequence[str],
) -> Any:
    words = make_command(file, step.id)
    start = [config.python, "-m", "stoker"] if config.python else ["stoker"]
    options = [
        f"--param-env {shlex.quote(f'{name}={_PARAMETER.format(number)}')}"
        for number, name in enumerate(parameters)
    ]
    step_words = shlex.join([*start, *words[1:-1]])
    place = shlex.join(choose_place(node, config) if config.ray_address else [])
    command = " ".join([step_words, f'"${_RUN_ID}"', "--no-retries", *options, place]).rstrip()
    return _import_operator("bash", "BashOperator")(
        **_make_common(dag, step),
        bash_command=f"exec {command}",  # a signal is for the step, not for the shell
        env=_make_environment(config, parameters),
        append_env=True,
        cwd=os.path.dirname(file),
    )


def _import_operator(module: str, name: str) -> Any:
    place = "airflow.providers.standard.operators"
    found = place if find_spec("airflow.sdk") else "airflow.operators"
    return getattr(import_module(f"{found}.{module}"), name)


def _make_pod(
    dag: Any,
    config: AirflowPipelineConfig,
    file: str,
    step: StepOutline,
    node: Node,
    parameters: Sequence[str],
) -> Any:
    try:
        pod = import_module("airflow.providers.cncf.kubernetes.operators.pod")
        models = import_module("kubernetes.client.models")
    except ImportError as error:
        raise MissingPart(
            "Steps as pods need Airflow's provider for Kubernetes: leave image= out, or pip "
            "install apache-airflow-providers-cncf-kubernetes.",
            name="kubernetes",
        ) from error
    words = make_command(config.pipeline_file or os.path.basename(file), step.id)
    options = [f"--param-env={name}={_PARAMETER.format(n)}" for n, name in enumerate(parameters)]
    place = choose_place(node, config)
    asked = find_resources(node, has_workers=not place)
    limits = {
        "cpu": asked and asked.cpu,
        "memory": asked and asked.memory,
        (asked and asked.gpu_type) or "nvidia.com/gpu": asked and str(asked.gpus or ""),
    }
    return pod.KubernetesPodOperator(
        **_make_common(dag, step),
        image=config.image,
        cmds=words[:1],
        arguments=[
            *(*words[1:-1], "{{ run_id }}", "--no-retries", *options),
            *place,
        ],
        env_vars=_make_environment(config, parameters),
        container_resources=models.V1ResourceRequirements(
            limits={name: value for name, value in limits.items() if value}
        ),
        node_selector=dict(asked.node_selector) if asked else None,
    )
