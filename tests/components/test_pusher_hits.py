# SPDX-License-Identifier: Apache-2.0
"""A cached push: the server must have the model, whatever happened to its folder meanwhile."""

import shutil
from pathlib import Path

import pytest

from stoker.artifacts import Model, ModelBlessing
from stoker.components.pusher import Executor, Pusher, push
from stoker.dsl import ExecutorClassSpec, OutputArtifact, Parameter, Pipeline, component
from stoker.launchers.in_process import InProcess
from stoker.metadata.store import Store
from stoker.runner import LocalDagRunner

pytestmark = pytest.mark.slow


@component
def train(model: OutputArtifact[Model], weights: Parameter[str]):
    folder = Path(model.uri, "Format-Serving")
    (folder / "variables").mkdir(parents=True)
    (folder / "assets").mkdir()
    (folder / "saved_model.pb").write_text("graph")
    (folder / "variables" / "weights").write_text(weights)


@component
def judge(blessing: OutputArtifact[ModelBlessing], blessed: Parameter[int]):
    blessing.set_int_custom_property("blessed", blessed)


class ElsewhereExecutor(Executor):
    """Pushes to what is no folder of this machine."""

    def Do(self, input_dict, output_dict, exec_properties):
        self._MarkPushed(output_dict["pushed_model"][0], "projects/p/models/m/versions/7", "7")


class Project:
    """A pipeline that is run again and again, and the folder that a server watches."""

    def __init__(self, folder: Path) -> None:
        self.root, self.base = folder / "root", folder / "served"

    def run(self, weights: str = "a", blessed: int = 1, **pusher_arguments) -> str:
        """Run the pipeline; says why the Pusher ran, or that it did not."""
        trainer, judged = train(weights=weights), judge(blessed=blessed)
        pusher = Pusher(
            model=trainer.outputs["model"],
            model_blessing=judged.outputs["blessing"],
            push_destination={"filesystem": {"base_directory": str(self.base)}},
            **pusher_arguments,
        )
        pipeline = Pipeline(
            "serving", str(self.root), components=[trainer, judged, pusher], enable_cache=True
        )
        LocalDagRunner(InProcess()).run(pipeline)
        with Store(pipeline.store_config(str(self.root))) as store:
            *_, last = store.executions(pipeline_name="serving", node_id="Pusher")
        return str(last.properties["cache_explanation"])

    def push(self, model: Path) -> None:
        """Add a model to the folder that the pipeline has not made."""
        record = str(self.root / "last.txt")
        push(str(model), str(self.base), last_push=record, scratch_dir=str(self.root))

    def versions(self) -> list[int]:
        return sorted(int(one.name) for one in self.base.iterdir())

    def newest(self) -> Path:
        return self.base / str(self.versions()[-1])

    def served(self) -> str:
        """The weights that a server has: TensorFlow Serving takes the highest version."""
        return (self.newest() / "variables" / "weights").read_text()


@pytest.fixture
def project(tmp_path) -> Project:
    return Project(tmp_path)


def test_no_version_is_added_while_the_model_is_served(project):
    project.run()
    assert project.run().startswith("hit")
    assert len(project.versions()) == 1


def test_code_that_is_reverted_brings_its_model_back(project):
    for weights in ("a", "b", "a"):
        project.run(weights)
        assert project.served() == weights
    assert len(project.versions()) == 3
    assert project.run("a").startswith("hit")
    assert len(project.versions()) == 3


def test_a_folder_that_was_emptied_gets_the_model_again(project):
    project.run()
    shutil.rmtree(project.base)
    assert project.run() == f"miss: there is no version in {project.base} any more"
    assert project.served() == "a"


def test_a_version_that_was_deleted_gets_a_higher_number(project):
    project.run("b")
    project.run("a")
    deleted = project.newest()
    shutil.rmtree(deleted)
    assert project.served() == "b"

    assert project.run("a").startswith("miss")

    assert project.served() == "a"
    assert int(project.newest().name) > int(deleted.name)


@pytest.mark.parametrize("how", ["weights", "more", "assets"])
def test_a_version_that_was_changed_is_followed_by_a_good_one(project, how):
    project.run()
    if how == "weights":
        (project.newest() / "variables" / "weights").write_text("z")
    elif how == "more":
        (project.newest() / "variables" / "more").touch()
    else:
        (project.newest() / "assets").rmdir()

    why = project.run()

    assert "the highest version, is not the model that was pushed" in why
    assert how in why
    assert (len(project.versions()), project.served()) == (2, "a")


def test_versions_of_others_count_by_what_they_are(project, tmp_path):
    project.run("a")
    shutil.copytree(project.newest(), tmp_path / "same")
    shutil.copytree(project.newest(), tmp_path / "other")
    (tmp_path / "other" / "variables" / "weights").write_text("o")

    project.push(tmp_path / "same")
    assert project.run("a").startswith("hit")

    project.push(tmp_path / "other")
    assert project.run("a").startswith("miss")
    assert (len(project.versions()), project.served()) == (4, "a")


def test_a_version_that_nobody_can_load_does_not_win(project):
    project.run("a")
    (project.base / "99999999999").mkdir()
    project.run("a")
    assert (project.newest().name, project.served()) == ("100000000000", "a")


def test_requests_to_warm_up_the_server_are_no_other_model(project):
    project.run()
    (project.newest() / "assets.extra").mkdir()
    (project.newest() / "assets.extra" / "tf_serving_warmup_requests").touch()
    assert project.run().startswith("hit")


def test_what_was_not_to_be_pushed_is_not(project):
    project.run(blessed=0)
    assert project.run(blessed=0).startswith("hit")
    assert not project.base.exists()


def test_what_an_executor_of_ones_own_pushed_elsewhere_is_taken_for_served(project):
    elsewhere = ExecutorClassSpec(ElsewhereExecutor)
    project.run(custom_executor_spec=elsewhere)
    assert project.run(custom_executor_spec=elsewhere).startswith("hit")
