# SPDX-License-Identifier: Apache-2.0
import importlib.metadata
import json
import subprocess
import sys
from types import SimpleNamespace

import pytest

from stoker.cli.tfx_command import main

PIPELINE = """
import os

from absl import app
from tfx import v1 as tfx

from stoker.launchers.in_process import InProcess

HERE = os.path.dirname(os.path.abspath(__file__))


def main(_):
    example_gen = tfx.components.CsvExampleGen(
        input_base=tfx.dsl.experimental.RuntimeParameter("data", str, "data")
    )
    statistics_gen = tfx.components.StatisticsGen(examples=example_gen.outputs["examples"])
    schema_gen = tfx.components.SchemaGen(statistics=statistics_gen.outputs["statistics"])
    tfx.orchestration.LocalDagRunner(InProcess()).run(
        tfx.dsl.Pipeline(
            pipeline_name="numbers",
            pipeline_root=os.path.join(HERE, "root"),
            components=[example_gen, statistics_gen, schema_gen],
        )
    )


if __name__ == "__main__":
    app.run(main)
"""


@pytest.fixture
def tfx(capsys, monkeypatch, here):
    """Calls the command as a shell does; what it keeps of pipelines is in the test's folder."""
    monkeypatch.setenv("LOCAL_HOME", str(here / "home"))
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    monkeypatch.setattr(sys, "path", list(sys.path))

    def run(*words):
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main([str(word) for word in words])
        captured = capsys.readouterr()
        return SimpleNamespace(code=left.value.code or 0, out=captured.out, err=captured.err)

    return run


@pytest.fixture
def project(here):
    folder = here / "project"
    for name in ("data", "more"):
        (folder / name).mkdir(parents=True)
        (folder / name / "data.csv").write_text("x,y\n" + "1,2\n" * 30)
    (folder / "pipeline.py").write_text(PIPELINE)
    return folder


def test_templates_are_listed_and_copied_under_the_name_of_the_pipeline(tfx, here):
    assert tfx("template", "list").out == "Available templates:\n- penguin\n- taxi\n"

    words = ("--pipeline_name=birds", "--destination-path=birds", "--model=penguin")
    assert tfx("template", "copy", *words).code == 0

    assert 'PIPELINE_NAME = "birds"' in (here / "birds" / "pipeline" / "configs.py").read_text()
    names = {path.name for path in (here / "birds").rglob("*")}
    assert {"local_runner.py", "data.csv", "model.py", "data_validation.ipynb"} <= names
    assert not [name for name in names if "pycache" in name]


def test_what_was_changed_since_is_not_overwritten(tfx, here):
    words = ("template", "copy", "--pipeline_name=b", "--destination_path=b", "--model=penguin")
    tfx(*words)
    assert tfx(*words).code == 0
    (here / "b" / "local_runner.py").write_text("mine")

    result = tfx(*words)

    assert result.code == 1
    assert "b/local_runner.py exists, and is not what the template has" in result.err
    assert (here / "b" / "local_runner.py").read_text() == "mine"


def test_a_template_that_is_not_there_names_those_that_are(tfx):
    words = ("template", "copy", "--pipeline_name=b", "--destination_path=b", "--model=iris")
    assert "There is no template 'iris'; there is penguin, taxi." in tfx(*words).err


def test_a_pipeline_is_created_run_looked_at_and_deleted(tfx, here, project):
    path = project / "pipeline.py"
    created = tfx("pipeline", "create", "--engine", "local", "--pipeline-path", path)
    assert created.out == 'Pipeline "numbers" created successfully.\n'
    assert not (project / "root").exists()
    assert json.loads((here / "home" / "numbers" / "pipeline_args.json").read_text()) == {
        "pipeline_name": "numbers",
        "pipeline_root": str(project / "root"),
        "pipeline_dsl_path": str(path),
        "metadata_path": str(project / "root" / "metadata.db"),
    }
    assert tfx("pipeline", "list").out == "numbers\n"
    assert "was created already" in tfx("pipeline", "create", "--pipeline_path", path).err
    assert tfx("pipeline", "update", "--pipeline_path", path).code == 0
    name = "--pipeline_name=numbers"
    assert "has not been run" in tfx("run", "list", name).err
    assert "has not been run" in tfx("pipeline", "schema", name).err

    given = "--runtime_parameter=data=more"
    assert tfx("run", "create", "--engine=local", name, given).code == 0

    listed = tfx("run", "list", name).out.splitlines()
    assert len(listed) == 2
    assert "complete" in listed[1]
    run_id = listed[1].split()[0]
    assert run_id in tfx("run", "status", name, "--run_id", run_id).out
    assert "has no run 'x'" in tfx("run", "status", name, "--run_id=x").err
    shown = tfx("pipeline", "schema", name).out
    assert 'name: "x"' in shown
    assert (here / "schema.pbtxt").read_text() in shown
    assert "press Ctrl-C" in tfx("run", "terminate", "--run_id", run_id).err
    assert "stoker clean" in tfx("run", "delete", "--run_id", run_id).err
    assert tfx("pipeline", "delete", name).code == 0
    assert (project / "root" / "metadata.db").exists()
    assert "There is no pipeline 'numbers'; there is none" in tfx("run", "create", name).err


def test_a_file_for_another_engine_is_created_for_this_machine(tfx, project):
    path = project / "kubeflow_runner.py"
    kubeflow = "orchestration.experimental.KubeflowDagRunner()"
    path.write_text(PIPELINE.replace("orchestration.LocalDagRunner(InProcess())", kubeflow))
    created = tfx("pipeline", "create", "--engine=local", f"--pipeline_path={path}")
    assert created.out == 'Pipeline "numbers" created successfully.\n'


@pytest.mark.parametrize("engine", ["kubeflow", "vertex", "airflow"])
def test_another_engine_says_what_to_use_instead(tfx, project, engine):
    words = ("pipeline", "create", f"--engine={engine}", f"--pipeline_path={project}/pipeline.py")
    result = tfx(*words, "--endpoint=https://kfp", "-n", "kubeflow", "--build-image")
    assert result.code == 2
    assert "Use --engine=local: it runs the file's pipeline on this machine" in result.err


def test_a_file_that_runs_no_pipeline_is_refused(tfx, here):
    (here / "empty.py").write_text("")
    result = tfx("pipeline", "create", "--pipeline_path=empty.py")
    assert "empty.py ran no pipeline" in result.err


def test_where_tfx_itself_is_installed_its_own_command_answers(monkeypatch):
    called = []
    script = SimpleNamespace(load=lambda: lambda: called.append("tfx"))
    points = SimpleNamespace(select=lambda **_: [script])

    def distributions(name):
        return [SimpleNamespace(entry_points=points)] if name == "tfx" else []

    monkeypatch.setattr(importlib.metadata, "distributions", distributions)
    main(["template", "list"])
    assert called == ["tfx"]


def copy_and_run(tfx, here, model, *words):
    """A template, copied, and Python run in its folder."""
    tfx("template", "copy", "--pipeline_name=p", f"--destination_path={here}", f"--model={model}")
    command = [sys.executable, *words]
    done = subprocess.run(command, cwd=here, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.tf
@pytest.mark.slow
def test_a_template_runs_from_its_data_to_a_pushed_model(tfx, here):
    copy_and_run(tfx, here, "penguin", "local_runner.py")
    versions = [path.name for path in (here / "serving_model" / "p").iterdir()]
    assert max(map(int, versions)) > 0


@pytest.mark.slow
def test_a_larger_template_declares_its_pipeline_and_tests_its_features(tfx, here):
    compile_it = "from stoker.cli.tfx_command import main; main()"
    words = ("pipeline", "compile", "--pipeline_path=local_runner.py")
    shown = copy_and_run(tfx, here, "taxi", "-c", compile_it, *words)
    assert shown == "Pipeline compiled successfully.\n"
    copy_and_run(tfx, here, "taxi", "-m", "unittest", "models.features_test")
