# SPDX-License-Identifier: Apache-2.0
"""A pipeline as Kubeflow's PipelineSpec, which Kubeflow Pipelines 2 and Vertex AI run.

The message is written as it is documented, not with the SDK: its builders make components of Python
functions, of which we have none, and rename them.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from stoker.dsl.parameters import RuntimeParameter
from stoker.dsl.resources import Resources, parse_quantity
from stoker.runner.step_list import StepOutline

Record = dict[str, Any]
RUN_ID = "{{$.pipeline_job_uuid}}"
"""What Kubeflow and Vertex replace by the id of the run."""
_TYPES = {int: "NUMBER_INTEGER", float: "NUMBER_DOUBLE", bool: "BOOLEAN"}
_GPU = "nvidia.com/gpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """What one step's container is."""

    image: str
    command: Sequence[str]
    args: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    resources: Resources | None = None
    secrets: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Variables of the environment, each by the name and key of a Kubernetes secret."""
    volumes: Mapping[str, str] = field(default_factory=dict)
    """Claims of persistent volumes, by the paths that they are mounted at."""


def make_spec(
    name: str,
    steps: Sequence[StepOutline],
    containers: Mapping[str, Container],
    parameters: Mapping[str, RuntimeParameter],
) -> tuple[Record, Record]:
    """The PipelineSpec, and what only Kubernetes is told; the second may be empty."""
    tasks = name_tasks([step.id for step in steps])
    inputs = {key: _describe_parameter(one) for key, one in sorted(parameters.items())}
    given = {key: {"componentInputParameter": key} for key in inputs}
    declared = {key: {"parameterType": one["parameterType"]} for key, one in inputs.items()}
    spec: Record = {
        "pipelineInfo": {"name": make_name(name)},
        "schemaVersion": "2.1.0",
        "sdkVersion": f"stoker-{version('stoker')}",
        "components": {
            f"comp-{task}": {
                "executorLabel": f"exec-{task}",
                **_if_any("inputDefinitions", {"parameters": declared} if declared else {}),
            }
            for task in tasks.values()
        },
        "deploymentSpec": {
            "executors": {
                f"exec-{tasks[step.id]}": {"container": _describe(containers[step.id])}
                for step in steps
            }
        },
        "root": {
            **_if_any("inputDefinitions", {"parameters": inputs} if inputs else {}),
            "dag": {
                "tasks": {tasks[step.id]: _describe_task(step, tasks, given) for step in steps}
            },
        },
    }
    platform = {
        f"exec-{tasks[node_id]}": told
        for node_id, container in containers.items()
        if (told := _describe_for_kubernetes(container))
    }
    if not platform:
        return spec, {}
    return spec, {"platforms": {"kubernetes": {"deploymentSpec": {"executors": platform}}}}


def make_name(name: str) -> str:
    """A name that Kubeflow takes: small letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "pipeline"


def name_tasks(node_ids: Iterable[str]) -> dict[str, str]:
    """A task's name for each step, no two alike."""
    names: dict[str, str] = {}
    for node_id in node_ids:
        name, number = make_name(node_id), 2
        while name in names.values():
            name, number = f"{make_name(node_id)}-{number}", number + 1
        names[node_id] = name
    return names


def _if_any(key: str, value: Any) -> Record:
    return {key: value} if value else {}


def _describe_parameter(parameter: RuntimeParameter) -> Record:
    kind = _TYPES.get(parameter.ptype or str, "STRING")
    if parameter.default is None:
        return {"parameterType": kind}
    return {"parameterType": kind, "defaultValue": parameter.default, "isOptional": True}


def _describe_task(step: StepOutline, tasks: Mapping[str, str], given: Record) -> Record:
    return {
        "taskInfo": {"name": step.id},
        "componentRef": {"name": f"comp-{tasks[step.id]}"},
        "cachingOptions": {},  # what is unchanged is for the step itself to see
        **_if_any("dependentTasks", sorted(tasks[one] for one in step.after)),
        **_if_any("inputs", {"parameters": given} if given else {}),
        **_if_any("retryPolicy", {"maxRetryCount": step.retries} if step.retries else {}),
    }


def _describe(container: Container) -> Record:
    return {
        "image": container.image,
        "command": list(container.command),
        "args": list(container.args),
        **_if_any("env", [{"name": name, "value": text} for name, text in container.env.items()]),
        **_if_any("resources", _describe_resources(container.resources)),
    }


def _describe_resources(resources: Resources | None) -> Record:
    """Each quantity twice: older servers read the numbers, newer ones the texts."""
    record: Record = {}
    if resources and resources.cpu:
        record |= {"cpuLimit": parse_quantity(resources.cpu), "resourceCpuLimit": resources.cpu}
    if resources and resources.memory:
        gigabytes = parse_quantity(resources.memory) / 1e9
        record |= {"memoryLimit": gigabytes, "resourceMemoryLimit": resources.memory}
    if resources and resources.gpus:
        kind, count = resources.gpu_type or _GPU, str(resources.gpus)
        record["accelerator"] = {
            **{"type": kind, "count": count},
            **{"resourceType": kind, "resourceCount": count},
        }
    return record


def _describe_for_kubernetes(container: Container) -> Record:
    selector = container.resources.node_selector if container.resources else {}
    by_secret: dict[str, list[Record]] = {}
    for variable, (secret, key) in container.secrets.items():
        by_secret.setdefault(secret, []).append({"secretKey": key, "envVar": variable})
    secrets = [
        {
            "secretName": secret,
            "secretNameParameter": {"runtimeValue": {"constant": secret}},
            "keyToEnv": keys,
        }
        for secret, keys in by_secret.items()
    ]
    claims = [
        {
            "constant": claim,
            "pvcNameParameter": {"runtimeValue": {"constant": claim}},
            "mountPath": path,
        }
        for path, claim in container.volumes.items()
    ]
    return {
        **_if_any("nodeSelector", {"labels": dict(selector)} if selector else {}),
        **_if_any("secretAsEnv", secrets),
        **_if_any("pvcMount", claims),
    }


def refer_to_parameters(names: Collection[str]) -> list[str]:
    """NAME=VALUE of each parameter, whose value the server fills in."""
    return [f"{name}={{{{$.inputs.parameters['{name}']}}}}" for name in sorted(names)]
