# SPDX-License-Identifier: Apache-2.0
"""The runners for Kubeflow Pipelines and Vertex AI: they write the file that those run.

from tfx import v1 as tfx

tfx.orchestration.experimental.KubeflowV2DagRunner(
    config=tfx.orchestration.experimental.KubeflowV2DagRunnerConfig(default_image="IMAGE"),
    output_filename="pipeline.yaml",
).run(pipeline)

A step whose condition is false ends with 0 there (`--skip-ok`): what a condition asks about is in
our store, which the server cannot read, and those that come after such a step find it skipped.
"""

import io
import json
import os
import sys
import tarfile
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf import json_format
from google.protobuf.message import Message

from stoker.any_python.layout import is_remote
from stoker.any_python.lines import say
from stoker.any_python.modules import stop_loading_here
from stoker.components.container import ExecutorContainerSpec
from stoker.dsl.component import BaseComponent, Node
from stoker.dsl.pipeline import Pipeline
from stoker.dsl.resources import Resources
from stoker.errors import BadPipeline
from stoker.orchestrators.pipeline_spec import (
    RUN_ID,
    Container,
    Record,
    make_spec,
    refer_to_parameters,
)
from stoker.orchestrators.settings import (
    find_program,
    name_in_image,
    refuse_quoted_secrets,
    refuse_secrets,
)
from stoker.orchestrators.yaml_text import to_yaml
from stoker.runner.endings import end_briefly
from stoker.runner.local_dag_runner import LocalDagRunner, Run, is_started_by_command
from stoker.runner.step_list import find_parameters, make_command, outline_steps
from stoker.storage import places
from stoker.storage.files import write_whole
from stoker.task import Workers
from stoker.views.table import readable_path

DEFAULT_IMAGE_PATH_KEY = "default_image_path"
_SECRET_VARIABLE = "STOKER_PARAMETER_{}"


class KubeflowV2DagRunnerConfig:
    """Which image the steps run in, and how Stoker is started there."""

    def __init__(
        self,
        display_name: str | None = None,
        default_image: str | Mapping[str, str] | None = None,
        default_commands: Sequence[str] | None = None,
        use_pipeline_spec_2_1: bool = True,  # noqa: ARG002
        *,
        pipeline_file: str | None = None,
        env: Mapping[str, str] | None = None,
        secrets: Mapping[str, tuple[str, str]] | None = None,
        ray_address: str | None = None,
        volumes: Mapping[str, str] | None = None,
        worker_pods: bool = False,
        **_: Any,
    ) -> None:
        """`default_image` may name one for each step, by its id, beside that of all others.

        Beyond TFX's arguments: `pipeline_file` is where this file is in the image, if not as here;
        `env` are variables of every step; `secrets` are parameters, and variables of the
        environment, each by the name and the key of a Kubernetes secret; `ray_address` is the
        cluster on which trainings with several workers run; `volumes` are claims of persistent
        volumes, by the paths that they are mounted at in every step; with `worker_pods` each worker
        of a training has a pod of its own.
        """
        self.display_name = display_name
        self.default_image = default_image
        self.default_commands = list(default_commands or ("stoker",))
        self.pipeline_file = pipeline_file
        self.env = dict(env or {})
        self.secrets = dict(secrets or {})
        self.ray_address = ray_address
        self.volumes = dict(volumes or {})
        self.worker_pods = worker_pods

    def find_image(self, node_id: str) -> str:
        """The image of a step."""
        images = self.default_image
        if isinstance(images, Mapping):
            images = images.get(node_id) or images.get(DEFAULT_IMAGE_PATH_KEY)
        if not images:
            raise ValueError(
                f"There is no image for {node_id}. Name one that has Stoker and your files: "
                f"{type(self).__name__}({self.IMAGE}='IMAGE'); `stoker image context` prepares it. "
                f"To run the pipeline on this machine: stoker run {find_program()}"
            )
        return images

    IMAGE = "default_image"


class KubeflowDagRunnerConfig(KubeflowV2DagRunnerConfig):
    """What the files for Kubeflow Pipelines 1 need, by the arguments that its runner had."""

    IMAGE = "tfx_image"

    def __init__(
        self,
        pipeline_operator_funcs: Any = None,  # noqa: ARG002
        tfx_image: str | None = None,
        kubeflow_metadata_config: Any = None,  # noqa: ARG002
        supported_launcher_classes: Any = None,  # noqa: ARG002
        default_component_configs: Any = None,  # noqa: ARG002
        component_config_overrides: Any = None,  # noqa: ARG002
        **more: Any,
    ) -> None:
        """The store is the pipeline's own: `Pipeline(metadata_connection_config=…)`."""
        super().__init__(default_image=tfx_image, **more)


class KubeflowV2DagRunner:
    """Writes a pipeline as a file for Kubeflow Pipelines 2 or Vertex AI."""

    _FILE = "pipeline.json"
    _CONFIG: type[KubeflowV2DagRunnerConfig] = KubeflowV2DagRunnerConfig

    def __init__(
        self,
        config: KubeflowV2DagRunnerConfig | None = None,
        output_dir: str | None = None,
        output_filename: str | None = None,
        **_: Any,
    ) -> None:
        """A name that ends in .yaml is that of a YAML file, .tar.gz of one that is packed."""
        self._config = config or self._CONFIG()
        self._output_dir = output_dir or os.getcwd()
        self._output_filename = output_filename

    def run(
        self,
        pipeline: Pipeline,
        parameter_values: Mapping[str, Any] | None = None,
        write_out: bool = True,
        **_: Any,
    ) -> Record | Run:
        """Write the file, and give what is in it; a command of ours runs the pipeline instead.

        `parameter_values` become the defaults of RuntimeParameters.
        """
        stop_loading_here()
        if is_started_by_command():
            return LocalDagRunner().run(pipeline)
        with end_briefly():
            spec, platform = compile_pipeline(pipeline, self._config, parameter_values or {})
        if write_out:
            name = self._output_filename or self._FILE.format(pipeline.pipeline_name)
            path = os.path.join(self._output_dir, name)
            write_spec(path, spec, platform)
            say(
                f"Written: {readable_path(path)}, for Kubeflow Pipelines or Vertex AI. To run the "
                f"pipeline on this machine: stoker run {find_program()}"
            )
        return spec

    compile = run


class KubeflowDagRunner(KubeflowV2DagRunner):
    """Writes a pipeline as a file for Kubeflow Pipelines, under the name of its first edition."""

    _FILE = "{}.tar.gz"
    _CONFIG = KubeflowDagRunnerConfig

    def __init__(
        self,
        output_dir: str | None = None,
        output_filename: str | None = None,
        config: KubeflowV2DagRunnerConfig | None = None,
        pod_labels_to_attach: Any = None,  # noqa: ARG002
        **_: Any,
    ) -> None:
        super().__init__(config, output_dir, output_filename)


def compile_pipeline(
    pipeline: Pipeline,
    config: KubeflowV2DagRunnerConfig,
    parameter_values: Mapping[str, Any] | None = None,
) -> tuple[Record, Record]:
    """A pipeline as PipelineSpec, and what only Kubernetes is told besides."""
    file = name_in_image(config.pipeline_file)
    nodes = {node.id: node for node in pipeline.steps}
    parameters = {
        name: one for name, one in find_parameters(pipeline).items() if name not in config.secrets
    }
    for name, value in (parameter_values or {}).items():
        if name in parameters:
            one = parameters[name]
            parameters[name] = type(one)(one.name, one.ptype, value, one.description)
    refuse_secrets(
        parameters,
        {
            "The variables of env=": config.env,
            "The file's own arguments": sys.argv[1:],
            "The images": config.default_image,
            "The words of default_commands=": config.default_commands,
        },
    )
    by_reference = find_parameters(pipeline).keys() & config.secrets.keys()
    secrets = {
        _SECRET_VARIABLE.format(name.upper()) if name in by_reference else name: place
        for name, place in config.secrets.items()
    }
    containers = {}
    steps = outline_steps(pipeline)
    for step in steps:
        node = nodes[step.id]
        _refuse_other_pods_in_bucket(node, pipeline, config)
        place = choose_place(node, config)
        options = ["--skip-ok", "--no-retries", *place]
        for name in sorted(by_reference):
            options += ["--param-env", f"{name}={_SECRET_VARIABLE.format(name.upper())}"]
        words = make_command(
            file,
            step.id,
            run_id=RUN_ID,
            parameters=refer_to_parameters(parameters),
            options=options,
            arguments=sys.argv[1:],
        )[1:]
        containers[step.id] = Container(
            image=config.find_image(step.id),
            command=config.default_commands,
            args=words,
            env=config.env,
            resources=find_resources(node, has_workers=not place),
            secrets=secrets,
            volumes=config.volumes,
        )
    name = config.display_name or pipeline.pipeline_name
    return make_spec(name, steps, containers, parameters)


def _refuse_other_pods_in_bucket(
    node: Node, pipeline: Pipeline, config: KubeflowV2DagRunnerConfig
) -> None:
    """Pods that a step starts get paths: those of a volume that they share with the step's own."""
    spec = node.executor_spec if isinstance(node, BaseComponent) else None
    what = "in pods of its workers" if "pods" in choose_place(node, config) else ""
    if isinstance(spec, ExecutorContainerSpec):
        what = f"in the image {spec.image!r}"
    root = str(pipeline.pipeline_root)
    if what and is_remote(root):
        raise BadPipeline(
            f"{node.id} runs {what}, which see no files in {root}. Put the root on a volume of the "
            "cluster: …Config(volumes={'/mnt/root': 'CLAIM'})."
        )


def choose_place(node: Node, config: Any) -> list[str]:
    """Where a step's workers run: those of a group in its own pod, or on the config's cluster."""
    workers = node.workers if isinstance(node, BaseComponent) else None
    if not (workers and workers.is_group):
        return []
    if config.ray_address:
        return ["--on", "ray", "--address", config.ray_address]
    if config.worker_pods:
        return ["--on", "pods"]
    if workers.bind:
        raise BadPipeline(
            f"{node.id}: Workers(bind={workers.bind!r}) is for several machines, and a step is one "
            f"pod. Leave bind out, and {workers.count} workers share it; or spread them: "
            f"{type(config).__name__}(worker_pods=True), or ray_address='HOST:PORT'."
        )
    return []


def find_resources(node: Node, *, has_workers: bool) -> Resources | None:
    """What a step asks for: by `with_resources`, TFX's `with_platform_config`, or its workers."""
    if node.resources:
        return node.resources
    if node.platform_config is not None:
        return _read_platform_config(node)
    workers = node.workers if isinstance(node, BaseComponent) else None
    return _sum_up(workers) if workers and has_workers else None


def _sum_up(workers: Workers) -> Resources | None:
    cpus = workers.cpus_each * workers.count if workers.cpus_each else None
    gpus = workers.gpus_each * workers.count
    return Resources(cpu=str(cpus) if cpus else None, gpus=gpus) if cpus or gpus else None


def _read_platform_config(node: Node) -> Resources | None:
    """What TFX's users say: the ResourceSpec of kfp.pipeline_spec, or the same as a dict."""
    said = node.platform_config
    if isinstance(said, Message):
        said = json_format.MessageToDict(said, preserving_proto_field_name=True)
    if not isinstance(said, dict) or not said.keys() & {"cpu_limit", "memory_limit", "accelerator"}:
        kind = type(node.platform_config).__name__
        warnings.warn(
            f"{node.id}: Kubeflow is told nothing of its platform_config, a {kind} without "
            "cpu_limit, memory_limit or accelerator. Use .with_resources(cpu=…, memory=…, gpus=…).",
            stacklevel=2,
        )
        return None
    accelerator = said.get("accelerator") or {}
    memory = said.get("memory_limit")
    return Resources(
        cpu=f"{said['cpu_limit']:g}" if said.get("cpu_limit") else None,
        memory=f"{memory:g}G" if memory else None,
        gpus=int(accelerator.get("count") or 0),
        gpu_type=accelerator.get("type") or None,
    )


def write_spec(path: str, spec: Record, platform: Record) -> None:
    """Write the file whole, in the format that its name says."""
    if path.endswith(".json"):
        if platform:
            raise ValueError(
                f"{readable_path(path)}: node selectors, secrets and volumes are a second "
                "document, which JSON has no place for. Give the file a name that ends in .yaml."
            )
        text = json.dumps(spec, indent=2, sort_keys=True) + "\n"
    else:
        text = to_yaml(spec, platform) if platform else to_yaml(spec)
    refuse_quoted_secrets(text, readable_path(path))
    data = _pack(text) if path.endswith((".tar.gz", ".tgz")) else text.encode()
    if is_remote(path):
        places.write(path, data)
        return
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with write_whole(path) as file:
        file.write(data)


def _pack(text: str) -> bytes:
    """An archive with one file, as the runner of Kubeflow's first edition wrote."""
    packed, data = io.BytesIO(), text.encode()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        entry = tarfile.TarInfo("pipeline.yaml")
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    return packed.getvalue()
