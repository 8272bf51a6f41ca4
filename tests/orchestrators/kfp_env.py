# SPDX-License-Identifier: Apache-2.0
"""The SDK of Kubeflow Pipelines in an environment of its own, made on first use in `.envs/kfp/`.

As a program in that environment it loads compiled files, or runs one:

    python kfp_env.py load FILE…
    python kfp_env.py run FILE ROOT [PARAMETERS]    the containers' commands as subprocesses
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HOME = Path(__file__).parents[2] / ".envs" / "kfp"
PACKAGES = ["kfp>=2.14,<3", "kfp-kubernetes", "docker", "google-cloud-aiplatform"]


def python() -> str:
    """The interpreter that can import kfp, and knows nothing of Stoker."""
    inside = str(HOME / "bin" / "python")
    if not (HOME / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", HOME], check=True)
        uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
        assert uv, "uv is not here to make the environment with"
        install = [uv, "pip", "install", "--quiet", "--python", inside, *PACKAGES]
        subprocess.run(install, check=True)
        (HOME / "ready").touch()
    return inside


def load(path: str) -> dict:
    """What the SDK makes of a file; it raises for one that is not valid."""
    from kfp import components
    from kfp.dsl import pipeline_task

    component = components.load_component_from_file(path)
    spec = component.pipeline_spec
    assert pipeline_task
    return {
        "name": spec.pipeline_info.name,
        "tasks": {name: sorted(task.dependent_tasks) for name, task in spec.root.dag.tasks.items()},
        "parameters": sorted(component.component_spec.inputs or {}),
        "platform": bool(component.platform_spec.platforms),
    }


def load_for_vertex(path: str) -> dict:
    """What Vertex AI's own client makes of a file, before it sends it."""
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import aiplatform

    job = aiplatform.PipelineJob(
        display_name="job",
        template_path=path,
        pipeline_root="gs://bucket/root",
        project="project",
        location="us-central1",
        credentials=AnonymousCredentials(),
    )
    spec = job.to_dict()["pipelineSpec"]
    return {"tasks": sorted(spec["root"]["dag"]["tasks"])}


def run(path: str, root: str, parameters: dict) -> None:
    """Run a file with kfp's own orchestrator; what would be a container is a subprocess."""
    from kfp import components, local
    from kfp.local import docker_task_handler, status

    def run_command(handler) -> status.Status:
        words = [word.replace("\n", " ") for word in handler.full_command]
        print("$", *words, flush=True)
        done = subprocess.run(handler.full_command, env={**os.environ, **handler.env_vars})
        return status.Status.SUCCESS if done.returncode == 0 else status.Status.FAILURE

    docker_task_handler.DockerTaskHandler.run = run_command
    local.init(runner=local.DockerRunner(), pipeline_root=root, raise_on_error=True)
    components.load_component_from_file(path)(**parameters)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["load", *paths]:
            print(json.dumps([load(path) for path in paths]))
        case ["vertex", *paths]:
            print(json.dumps([load_for_vertex(path) for path in paths]))
        case ["run", path, root, *given]:
            run(path, root, json.loads(given[0]) if given else {})
