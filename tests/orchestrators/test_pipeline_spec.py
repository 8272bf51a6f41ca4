# SPDX-License-Identifier: Apache-2.0
"""Pipelines as files for Kubeflow: what is in them, and what is refused."""

import io
import json
import os
import tarfile

import pytest
import yaml

from stoker.artifacts import Examples
from stoker.components import Trainer
from stoker.components.container import create_container_component
from stoker.dsl import (
    Channel,
    Cond,
    OutputDict,
    Parameter,
    Pipeline,
    RuntimeParameter,
    component,
)
from stoker.dsl.resources import parse_quantity
from stoker.errors import BadPipeline
from stoker.orchestrators.kubeflow import (
    KubeflowDagRunner,
    KubeflowDagRunnerConfig,
    KubeflowV2DagRunner,
    KubeflowV2DagRunnerConfig,
    compile_pipeline,
)
from stoker.orchestrators.yaml_text import to_yaml
from stoker.storage import places
from stoker.task import Workers


@component
def first(value: Parameter[int]) -> OutputDict(out=int):
    return {"out": value}


@component
def second(value: int) -> OutputDict(out=int):
    return {"out": value}


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(tmp_path / "folder" / "runner.py"), "--size=3"])


def make_pipeline(*more, name="value", **parameter):
    one = first(value=RuntimeParameter(name, int, **parameter))
    two = second(value=one.outputs["out"])
    with Cond(one.outputs["out"].future()[0].value > 1):
        three = second(value=two.outputs["out"]).with_id("Second")
    return Pipeline("my_pipeline", "root", components=[one, two, three, *more])


def compile_it(pipeline=None, file="out.yaml", **config):
    config = {"default_image": "image", **config}
    runner = KubeflowV2DagRunner(KubeflowV2DagRunnerConfig(**config), output_filename=file)
    runner.run(pipeline or make_pipeline(default=1))
    with open(file) as text:
        spec, *platform = yaml.safe_load_all(text)
    return spec, platform[0]["platforms"]["kubernetes"] if platform else None


def container_of(spec, task):
    return spec["deploymentSpec"]["executors"][f"exec-{task}"]["container"]


def test_a_step_is_a_command_and_edges_are_those_of_the_data():
    spec, platform = compile_it()
    assert platform is None
    tasks = spec["root"]["dag"]["tasks"]
    assert {name: task.get("dependentTasks", []) for name, task in tasks.items()} == {
        "first": [],
        "second": ["first"],
        "second-2": ["first", "second"],
    }
    assert tasks["second-2"]["taskInfo"] == {"name": "Second"}
    container = container_of(spec, "second-2")
    assert [container["image"], *container["command"], *container["args"]] == [
        *("image", "stoker", "step", "folder/runner.py", "Second"),
        *("--run-id", "{{$.pipeline_job_uuid}}"),
        *("--param", "value={{$.inputs.parameters['value']}}"),
        *("--skip-ok", "--no-retries", "--", "--size=3"),
    ]
    assert spec["pipelineInfo"]["name"] == "my-pipeline"
    assert spec["root"]["inputDefinitions"]["parameters"] == {
        "value": {"parameterType": "NUMBER_INTEGER", "defaultValue": 1, "isOptional": True}
    }


def test_json_yaml_and_archives_say_the_same():
    spec, _ = compile_it()
    config = KubeflowV2DagRunnerConfig(default_image="image")
    KubeflowV2DagRunner(config).run(make_pipeline(default=1))
    with open("pipeline.json") as file:
        assert json.load(file) == spec
    older = KubeflowDagRunnerConfig(tfx_image="image")
    KubeflowDagRunner(config=older).run(make_pipeline(default=1))
    with tarfile.open("my_pipeline.tar.gz") as archive:
        assert yaml.safe_load(archive.extractfile("pipeline.yaml")) == spec


def test_the_runner_says_what_it_wrote_and_how_to_run_it_here(capsys):
    compile_it()
    said = capsys.readouterr().out
    assert "Written: out.yaml" in said
    assert "stoker run folder/runner.py" in said


def test_a_file_for_a_bucket_is_written_there_and_not_to_a_folder_of_that_name():
    config = KubeflowV2DagRunnerConfig(default_image="image")
    KubeflowV2DagRunner(config, "memory://bucket/files").run(make_pipeline(default=1))
    spec = json.loads(places.read("memory://bucket/files/pipeline.json"))
    assert spec["pipelineInfo"]["name"] == "my-pipeline"
    assert not os.path.exists("memory:")


def test_what_a_step_asks_for_is_told():
    step = first(value=1).with_id("big")
    step.with_resources(cpu=2, memory="8Gi", gpus=1, node_selector={"pool": "gpu"})
    step.retries = 2
    platform = first(value=1).with_id("old")
    platform.with_platform_config({"cpu_limit": 4.0, "memory_limit": 16, "accelerator": {}})
    group = first(value=1).with_id("group")
    group.workers = Workers(2, cpus_each=3, gpus_each=1)
    spec, kubernetes = compile_it(make_pipeline(step, platform, group, default=1))
    assert container_of(spec, "big")["resources"] == {
        "cpuLimit": 2.0,
        "resourceCpuLimit": "2",
        "memoryLimit": 8.589934592,
        "resourceMemoryLimit": "8Gi",
        "accelerator": {
            **{"type": "nvidia.com/gpu", "count": "1"},
            **{"resourceType": "nvidia.com/gpu", "resourceCount": "1"},
        },
    }
    assert spec["root"]["dag"]["tasks"]["big"]["retryPolicy"] == {"maxRetryCount": 2}
    assert container_of(spec, "old")["resources"]["resourceMemoryLimit"] == "16G"
    assert container_of(spec, "group")["resources"]["resourceCpuLimit"] == "6"
    assert container_of(spec, "group")["resources"]["accelerator"]["count"] == "2"
    executors = kubernetes["deploymentSpec"]["executors"]
    assert executors == {"exec-big": {"nodeSelector": {"labels": {"pool": "gpu"}}}}


def test_json_has_no_place_for_node_selectors():
    step = first(value=1).with_id("big").with_resources(node_selector={"pool": "gpu"})
    with pytest.raises(ValueError, match=r"Give the file a name that ends in \.yaml"):
        compile_it(make_pipeline(step, default=1), "out.json")


@pytest.mark.parametrize("wrong", [{"cpu": "much"}, {"memory": "8 GB"}, {"gpus": -1}])
def test_resources_are_quantities(wrong):
    with pytest.raises(ValueError, match=r"with_resources\("):
        first(value=1).with_resources(**wrong)


def test_workers_run_in_their_pod_or_on_ray():
    group = first(value=1).with_id("group")
    group.workers = Workers(2, cpus_each=3)
    spec, _ = compile_it(make_pipeline(group, default=1), ray_address="ray:6379")
    assert "--on ray --address ray:6379" in " ".join(container_of(spec, "group")["args"])
    assert "resources" not in container_of(spec, "group")  # which are Ray's
    spec, _ = compile_it(make_pipeline(group, default=1))
    assert "--on" not in container_of(spec, "group")["args"]
    spec, _ = compile_it(make_pipeline(group, default=1), worker_pods=True)
    assert container_of(spec, "group")["args"][-4:-2] == ["--on", "pods"]
    assert "resources" not in container_of(spec, "group")
    in_bucket = Pipeline("p", "gs://bucket/root", components=[group])
    with pytest.raises(BadPipeline, match="runs in pods of its workers, which see no files in gs:"):
        compile_it(in_bucket, worker_pods=True)
    group.workers = Workers(2, bind="0.0.0.0")
    with pytest.raises(BadPipeline, match="a step is one pod"):
        compile_it(make_pipeline(group, default=1))


def test_an_image_for_each_step():
    images = {"default_image_path": "all", "first": "one"}
    spec, _ = compile_it(default_image=images)
    assert [container_of(spec, task)["image"] for task in ("first", "second")] == ["one", "all"]
    with pytest.raises(ValueError, match=r"There is no image for first\. Name one"):
        compile_it(default_image=None)


def test_a_parameter_without_a_default_has_to_be_given():
    spec, _ = compile_it(make_pipeline())
    wanted = spec["root"]["inputDefinitions"]["parameters"]["value"]
    assert wanted == {"parameterType": "NUMBER_INTEGER"}


class TestSecrets:
    """The compiled file is for many eyes."""

    @component
    def login(key: Parameter[str]) -> OutputDict(out=int):
        return {"out": 1}

    def make(self, default=None):
        key = RuntimeParameter("api_key", str, default)
        return Pipeline("secretive", "root", components=[TestSecrets.login(key=key)])

    def test_a_default_that_is_a_secret_is_refused(self):
        with pytest.raises(ValueError, match="default of the parameter 'api_key' is a secret"):
            compile_it(self.make("s3cr3t-0123"))

    def test_a_parameter_may_be_a_secret_of_the_cluster(self):
        spec, platform = compile_it(self.make("s3cr3t-0123"), secrets={"api_key": ("keys", "api")})
        assert "s3cr3t" not in json.dumps([spec, platform])
        arguments = container_of(spec, "login")["args"]
        assert "--param-env api_key=STOKER_PARAMETER_API_KEY" in " ".join(arguments)
        (told,) = platform["deploymentSpec"]["executors"]["exec-login"]["secretAsEnv"]
        assert told["secretName"] == "keys"
        assert told["keyToEnv"] == [{"secretKey": "api", "envVar": "STOKER_PARAMETER_API_KEY"}]

    @pytest.mark.parametrize(
        "config",
        [
            {"env": {"DB_PASSWORD": "postgres"}},
            {"env": {"STOKER_STORE": "postgresql://me:s3cr3t-0123@host/db"}},
            {"env": {"OPTIONS": "--api_key=s3cr3t-0123"}},
            {"default_image": "https://me:s3cr3t-0123@host/image"},
            {"default_commands": ["stoker", "--store", "mysql://me:s3cr3t-0123@host/db"]},
        ],
    )
    def test_settings_with_a_secret_are_refused_without_telling_it(self, config):
        with pytest.raises(ValueError, match=r"hold a secret.*\*\*\*") as refused:
            compile_it(self.make(), **config)
        assert "s3cr3t" not in str(refused.value)

    @pytest.mark.parametrize(
        "words", [["--db_password=s3cr3t-0123"], ["--token", "s3cr3t-0123"], ["db://a:s3cr3t@b"]]
    )
    def test_arguments_of_the_file_with_a_secret_are_refused(self, words, monkeypatch):
        monkeypatch.setattr("sys.argv", ["runner.py", *words])
        with pytest.raises(ValueError, match="The file's own arguments hold a secret"):
            compile_it(self.make())

    def test_a_default_is_a_secret_by_its_own_form_too(self):
        url = RuntimeParameter("address", str, "postgresql://me:s3cr3t-0123@host/db")
        pipeline = Pipeline("secretive", "root", components=[TestSecrets.login(key=url)])
        with pytest.raises(ValueError, match="default of the parameter 'address' is a secret"):
            compile_it(pipeline)
        config = KubeflowV2DagRunnerConfig(default_image="image")
        with pytest.raises(ValueError, match="default of the parameter 'api_key' is a secret"):
            compile_pipeline(self.make(), config, {"api_key": "s3cr3t-0123"})

    def test_what_steps_are_told_in_the_pipeline_file_is_not_in_the_compiled_one(self, monkeypatch):
        monkeypatch.setenv("STOKER_STORE", "postgresql://me:s3cr3t-0123@host/db")
        trainer = Trainer(
            examples=Channel(type=Examples),
            module_file="module.py",
            custom_config={"password": "s3cr3t-0123"},
        )
        container = create_container_component(
            name="Boxed", image="box", command=["sh", "-c", "curl -H 'X-Token: s3cr3t-0123' host"]
        )
        pipeline = Pipeline(
            "secretive",
            "root",
            components=[trainer, container(), TestSecrets.login(key="s3cr3t-0123")],
            beam_pipeline_args=["--runner=DirectRunner", "--password=s3cr3t-0123"],
        )
        assert "s3cr3t" not in json.dumps(compile_it(pipeline))

    def test_what_the_environment_keeps_secret_is_not_quoted(self, monkeypatch):
        monkeypatch.setenv("REGISTRY_PASSWORD", "s3cr3t-0123")
        with pytest.raises(ValueError, match="would hold a secret of this environment"):
            compile_it(default_image="user:s3cr3t-0123@host/image")


def test_the_file_has_to_be_in_the_image(monkeypatch, tmp_path):
    monkeypatch.setattr("sys.argv", ["/elsewhere/runner.py"])
    with pytest.raises(ValueError, match="is not below this folder"):
        compile_it()
    spec, _ = compile_it(pipeline_file="/app/runner.py")
    assert container_of(spec, "first")["args"][1] == "/app/runner.py"


def test_yaml_is_what_others_read():
    record = {
        "plain": {"nested": [{"a": [], "b": {}}, [1, [2, "x: y"]], "- no"]},
        "on": True,
        "it's": "line\nline: é",
        "empty": None,
        "1": 1.5,
    }
    assert yaml.safe_load(io.StringIO(to_yaml(record))) == record
    assert list(yaml.safe_load_all(to_yaml(record, [1]))) == [record, [1]]


@pytest.mark.parametrize(
    ("text", "number"), [("500m", 0.5), ("8Gi", 8 * 2**30), ("2", 2), ("1.5G", 1.5e9)]
)
def test_quantities(text, number):
    assert parse_quantity(text) == number
