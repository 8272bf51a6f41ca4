"""The cache, through LocalDagRunner: what is a hit, what is a miss, and what a miss says."""

import os
import time
from pathlib import Path

import pytest

from stoker.artifacts import Examples, Model
from stoker.components.example_gen.component import CsvExampleGen
from stoker.components.schema_gen import ImportSchemaGen
from stoker.components.trainer.component import Trainer
from stoker.dsl import (
    BaseComponent,
    BaseExecutor,
    ChannelParameter,
    ComponentSpec,
    ExecutorClassSpec,
    InputArtifact,
    OutputArtifact,
    Parameter,
    Pipeline,
    component,
)
from stoker.launchers.in_process import InProcess
from stoker.metadata.store import Store
from stoker.runner import LocalDagRunner

pytestmark = pytest.mark.slow

MODULE = """
import os
from neighbour import WORD
from package.inner import NUMBER

def run_fn(fn_args):
    os.makedirs(fn_args.serving_model_dir)
    with open(os.path.join(fn_args.serving_model_dir, "model"), "w") as file:
        file.write(f"{WORD} {NUMBER} {fn_args.train_steps}")
    if os.path.exists("plugin_folder"):
        __import__("sys").path.insert(0, "plugin_folder")
        __import__("importlib").import_module("plugin")
"""


def offset():
    return 1


@component
def count(examples: InputArtifact[Examples], model: OutputArtifact[Model], by: Parameter[int] = 1):
    Path(model.uri, "rows").write_text(str(len(os.listdir(examples.uri)) * by + offset()))


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A user's folder: data, a schema, a module with a neighbour and a package, and more."""
    files = {
        "data/rows.csv": "a,b\n1,x\n2,y\n3,z\n4,x\n5,y\n",
        "schema.pbtxt": 'feature { name: "a" type: INT }',
        "module.py": MODULE,
        "neighbour.py": "WORD = 'word'",
        "package/__init__.py": "",
        "package/inner.py": "NUMBER = 1",
        "unrelated.py": "OTHER = 1",
        "plugin_folder/plugin.py": "DO = 1",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
        old = time.time() - 60
        os.utime(tmp_path / name, (old, old))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(project, *, steps=1, by=1, force=(), enable_cache=True, cache_trainer=None):
    examples = CsvExampleGen(input_base=str(project / "data"))
    schema = ImportSchemaGen(schema_file=str(project / "schema.pbtxt"))
    trainer = Trainer(
        module_file=str(project / "module.py"),
        examples=examples.outputs["examples"],
        schema=schema.outputs["schema"],
        train_args={"num_steps": steps},
        check=False,
        enable_cache=cache_trainer,
    )
    counting = count(examples=examples.outputs["examples"], by=by)
    pipeline = Pipeline(
        "cached",
        str(project / "root"),
        components=[examples, schema, trainer, counting],
        enable_cache=enable_cache,
    )
    LocalDagRunner().run(pipeline, force=force)
    with Store(pipeline.store_config(str(project / "root"))) as store:
        newest = {one.node_id: one for one in store.executions(pipeline_name="cached")}
    return {node: str(one.properties["cache_explanation"]) for node, one in newest.items()}


def nodes_that_ran(explanations):
    return {node for node, text in explanations.items() if text.startswith("miss")}


def test_a_second_run_reuses_everything_and_starts_no_process(project, monkeypatch):
    first = run(project)
    assert set(first.values()) == {"miss: no earlier run of this step ended well"}
    monkeypatch.setattr("stoker.launchers.processes.subprocess.Popen", None)
    second = run(project)
    assert nodes_that_ran(second) == set()
    assert second["Trainer"] == "hit: nothing changed since execution 3"


@pytest.mark.parametrize(
    ("file", "text", "node", "why"),
    [
        ("module.py", MODULE + "\n# edited", "Trainer", "miss: file module.py changed"),
        ("neighbour.py", "WORD = 'other'", "Trainer", "miss: file neighbour.py changed"),
        ("package/inner.py", "NUMBER = 2", "Trainer", "miss: file package/inner.py changed"),
        ("schema.pbtxt", "# edited", "Trainer", "miss: input schema changed"),
    ],
)
def test_an_edit_is_a_miss_that_names_the_file(project, file, text, node, why):
    run(project)
    (project / file).write_text(text)
    explanations = run(project)
    assert explanations[node] == why
    assert explanations["count"].startswith("hit")


def test_one_csv_row_is_a_miss_that_names_the_file(project):
    run(project)
    data = project / "data" / "rows.csv"
    data.write_text(data.read_text().replace("5,y", "6,y"))
    explanations = run(project)
    assert explanations["CsvExampleGen"] == f"miss: data file {data} changed"
    assert explanations["Trainer"] == "miss: input examples changed"
    assert explanations["ImportSchemaGen"].startswith("hit")


def test_a_parameter_is_a_miss_that_names_it(project):
    run(project)
    explanations = run(project, steps=2, by=3)
    assert explanations["Trainer"] == "miss: parameter train_args changed"
    assert explanations["count"] == "miss: parameter by changed"


class Writer(BaseExecutor):
    def Do(self, input_dict, output_dict, exec_properties):
        for name, (artifact,) in output_dict.items():
            Path(artifact.uri, "name").write_text(name)
            Path(artifact.uri, "flags").write_text(" ".join(self._beam_pipeline_args))


class Writing(BaseComponent):
    """Its outputs are what it is asked for, as those of the Rewriter are."""

    SPEC_CLASS = ComponentSpec
    EXECUTOR_SPEC = ExecutorClassSpec(Writer)

    def __init__(self, *wanted):
        outputs = {name: ChannelParameter(type=Model) for name in wanted}
        super().__init__(type("Spec", (ComponentSpec,), {"OUTPUTS": outputs})())


def test_other_outputs_are_a_miss(tmp_path):
    def write(*wanted):
        pipeline = Pipeline("p", str(tmp_path), components=[Writing(*wanted)], enable_cache=True)
        made = LocalDagRunner(InProcess()).run(pipeline).outputs["Writing"]
        return {name: one.uri for name, (one,) in made.items()}

    first = write("one", "two")
    assert write("one", "two") == first
    other = write("three")
    assert set(other) == {"three"}
    assert Path(other["three"], "name").read_text() == "three"
    assert write("one", "two") == first


def test_a_beam_flag_that_users_code_may_read_is_a_miss_and_where_it_runs_is_not(tmp_path):
    def write(*flags):
        pipeline = Pipeline(
            "p",
            str(tmp_path),
            components=[Writing("model")],
            enable_cache=True,
            beam_pipeline_args=list(flags),
        )
        (made,) = LocalDagRunner(InProcess()).run(pipeline).outputs["Writing"]["model"]
        return Path(made.uri, "flags").read_text()

    assert write("--limit=1") == "--limit=1"
    assert write("--limit=2", "--runner=DirectRunner") == "--limit=2 --runner=DirectRunner"
    assert write("--limit=2", "--direct_num_workers=2") == "--limit=2 --runner=DirectRunner"


def test_unrelated_edits_and_touching_are_hits(project):
    run(project)
    (project / "unrelated.py").write_text("OTHER = 2")
    for name in ("module.py", "data/rows.csv", "schema.pbtxt", "neighbour.py"):
        os.utime(project / name)
    assert nodes_that_ran(run(project)) == set()


def test_a_file_that_was_seen_to_be_loaded_counts_too(project):
    run(project)
    (project / "plugin_folder" / "plugin.py").write_text("DO = 2")
    why = run(project)["Trainer"]
    assert why.startswith("miss: file ")
    assert why.endswith("plugin.py changed")


def test_going_back_to_an_earlier_version_is_a_hit(project):
    run(project)
    run(project, steps=2)
    assert nodes_that_ran(run(project)) == set()


def test_outputs_that_are_gone_or_resized_are_a_miss_that_says_so(project):
    run(project)
    model = project / "root" / "Trainer" / "model" / "3" / "Format-Serving" / "model"
    model.write_text("longer than it was published")
    assert "resized: 28 bytes, was 8" in run(project)["Trainer"]
    (project / "root" / "count" / "model" / "4" / "rows").unlink()
    assert run(project)["count"].endswith("rows: missing")


def test_a_step_can_be_forced(project):
    run(project)
    explanations = run(project, force=["Trainer"])
    assert nodes_that_ran(explanations) == {"Trainer"}
    assert explanations["Trainer"] == "miss: asked for with --force"
    with pytest.raises(ValueError, match=r"no step 'Trainr' to force; .*Did you mean 'Trainer'"):
        run(project, force=["Trainr"])


def test_without_enable_cache_everything_runs(project):
    run(project)
    assert set(run(project, enable_cache=False).values()) == {"miss: Pipeline(enable_cache=False)"}


def test_a_step_may_say_for_itself_whether_it_is_cached(project):
    run(project)
    explanations = run(project, cache_trainer=False)
    assert nodes_that_ran(explanations) == {"Trainer"}
    assert explanations["Trainer"] == "miss: Trainer(enable_cache=False)"
    run(project, cache_trainer=True, enable_cache=False)
    again = run(project, cache_trainer=True, enable_cache=False)
    assert nodes_that_ran(again) == {"CsvExampleGen", "ImportSchemaGen", "count"}


def test_the_in_process_launcher_uses_the_cache_too(project):
    step = CsvExampleGen(input_base=str(project / "data"))
    pipeline = Pipeline("one", str(project / "r"), components=[step], enable_cache=True)
    first, second = (LocalDagRunner(InProcess()).run(pipeline) for _ in range(2))
    assert first.outputs["CsvExampleGen"]["examples"][0].id == (
        second.outputs["CsvExampleGen"]["examples"][0].id
    )
