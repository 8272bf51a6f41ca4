# SPDX-License-Identifier: Apache-2.0
"""What cannot work is told before the first step runs, however late its own step is."""

import hashlib
import re

import pytest

from stoker.any_python.url_files import _PROXIES, PlaceError
from stoker.artifacts import Schema
from stoker.components import (
    CsvExampleGen,
    Evaluator,
    Importer,
    ImportSchemaGen,
    Pusher,
    SchemaGen,
    StatisticsGen,
    Trainer,
    Transform,
)
from stoker.dsl import Pipeline, RuntimeParameter, beam, component
from stoker.errors import BadPipeline, StokerError
from stoker.launchers.in_process import InProcess
from stoker.launchers.processes import Processes
from stoker.models.rewriting.targets import Target
from stoker.runner import LocalDagRunner, before_work
from stoker.runner.before_work import BeforeWork
from stoker.runner.plan import plan_steps
from stoker.task import Workers
from stoker.user_code.problems import find_problems


@pytest.fixture
def run(tmp_path):
    """Runs a pipeline of five steps with these texts as the modules of its last two."""

    def run(preprocessing, training):
        modules = {"preprocessing.py": preprocessing, "training.py": training}
        for name, text in modules.items():
            if text is not None:
                (tmp_path / name).write_text(text)
        gen = CsvExampleGen(str(tmp_path / "no data yet"))
        examples = gen.outputs["examples"]
        statistics = StatisticsGen(examples)
        schema_gen = SchemaGen(statistics.outputs["statistics"])
        schema = schema_gen.outputs["schema"]
        transform = Transform(examples, schema, module_file=str(tmp_path / "preprocessing.py"))
        trainer = Trainer(examples=examples, module_file=str(tmp_path / "training.py"))
        steps = [gen, statistics, schema_gen, transform, trainer]
        LocalDagRunner().run(Pipeline("p", str(tmp_path / "root"), components=steps))

    return run


def test_every_problem_is_told_at_once_and_nothing_has_run(run, tmp_path, capfd):
    with pytest.raises(StokerError) as raised:
        run(None, "import os\ndef run_fn(fn_args:\n  pass")

    assert "Nothing was run" in str(raised.value)
    assert "Transform: there is no module file" in str(raised.value)
    assert "Trainer: " in str(raised.value)
    assert "training.py, line 2: SyntaxError: '(' was never closed" in str(raised.value)
    assert not (tmp_path / "root" / "metadata.db").exists()
    assert "CsvExampleGen" not in "".join(capfd.readouterr())


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("def rum_fn(fn_args): ...", r"defines no run_fn; it has rum_fn\. Define run_fn there"),
        ("import no_such_package\nrun_fn = 1", "line 1: No module named 'no_such_package'"),
        (
            "import tensorflow_addons\nrun_fn = 1",
            "line 1: .*stoker env create tf-2.15, and Trainer",
        ),
        (
            "import sys\nsys.path.append('more')\nimport tensorflow_addons\nrun_fn = 1",
            "line 3: .*stoker env create tf-2.15",
        ),
        (
            "import os, sys\nsys.path.insert(0, os.path.dirname(__file__))\n"
            "import tensorflow_addons\nrun_fn = 1",
            "line 3: .*stoker env create tf-2.15",
        ),
        ("from no_such.part import x as run_fn", "line 1: No module named 'no_such'"),
        ("import neighbour\nrun_fn = 1", r"neighbour\.py, line 3: SyntaxError"),
    ],
)
def test_what_is_certain_to_fail(tmp_path, text, why):
    (tmp_path / "neighbour.py").write_text("\n\nx = = 1")
    (tmp_path / "module.py").write_text(text)
    (problem,) = find_problems(str(tmp_path / "module.py"), ["run_fn"])
    assert re.search(why, problem)


@pytest.mark.parametrize(
    "text",
    [
        "from elsewhere import *",
        "if True:\n  from neighbour import train as run_fn",
        "globals()['run_' + 'fn'] = print",
        "try:\n  import no_such_package\nexcept ImportError: pass\nrun_fn = 1",
        "import sys\nsys.path.append('more')\nimport in_more\nrun_fn = 1",
        "import sys\nsys.path.append('/opt/packages')\nimport tensorflow_addons\nrun_fn = 1",
        "import os, sys\nsys.path += [os.environ['MORE']]\nimport tensorflow_addons\nrun_fn = 1",
        "import site\nsite.addsitedir('more')\nimport tensorflow_addons\nrun_fn = 1",
        "import os\nos.system('pip install x')\nimport tensorflow_addons\nrun_fn = 1",
        "def run_fn(fn_args):\n  import no_such_package",
        "import tensorflow_data_validation, ml_metadata, kerastuner\nrun_fn = 1",
        "from . import neighbour\nrun_fn = 1",
    ],
)
def test_what_may_work_is_left_to_python(tmp_path, text):
    for name in ("elsewhere.py", "neighbour.py"):
        (tmp_path / name).write_text("train = 1")
    (tmp_path / "module.py").write_text(text)
    assert find_problems(str(tmp_path / "module.py"), ["run_fn"]) == []


@pytest.mark.parametrize(
    ("missing", "preprocessing", "training", "told"),
    [
        ("tensorflow_transform", "def preprocessing_fn(inputs): ...", "", "Transform: .*transform"),
        (
            "tensorflow_estimator",
            "",
            "import tensorflow as tf\ntf.estimator",
            "Trainer: .*estimator",
        ),
    ],
)
def test_a_step_that_needs_an_extra_says_which(
    run, monkeypatch, missing, preprocessing, training, told
):
    found = before_work.is_importable
    monkeypatch.setattr(before_work, "is_importable", lambda name: name != missing and found(name))
    with pytest.raises(BadPipeline, match=rf"{told} is not installed: pip install 'stoker\[") as it:
        run(preprocessing, training + "\ndef run_fn(fn_args): ...")
    assert str(it.value).count(missing) == 1


def test_a_function_by_its_dotted_name_needs_its_package(tmp_path):
    examples = CsvExampleGen(RuntimeParameter("data", ptype=str)).outputs["examples"]
    trainer = Trainer(examples=examples, run_fn="no_such_package.training.run_fn")
    pipeline = Pipeline("p", str(tmp_path), components=[*trainer.upstream_nodes, trainer])
    with pytest.raises(StokerError, match=r"no module for run_fn='no_such_package"):
        LocalDagRunner().run(pipeline, parameters={"data": "data"})


@component
def Download() -> None:
    """A step of the user's own, which may make files."""


@pytest.fixture
def gen(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "rows.csv").write_text("age,city,tip\n1,a,0\n")
    return CsvExampleGen(str(tmp_path / "data"))


@pytest.fixture
def module(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(
        "import tensorflow as tf\ntf.distribute.MultiWorkerMirroredStrategy\nrun_fn = 1"
    )
    return str(path)


def check(*steps, launcher=None):
    plans, unplanned = plan_steps(steps, {})
    looking = BeforeWork(plans=plans, given={}, launcher=launcher or Processes())
    return looking.check(steps, unplanned)


def evaluate(gen, module, **model_spec):
    trainer = Trainer(examples=gen.outputs["examples"], module_file=module)
    config = {
        "model_specs": [model_spec],
        "slicing_specs": [{}, {"feature_keys": ["citty"]}],
        "metrics_specs": [{"metrics": [{"class_name": "AUC"}]}],
    }
    evaluator = Evaluator(
        examples=gen.outputs["examples"], model=trainer.outputs["model"], eval_config=config
    )
    return check(gen, trainer, evaluator)


def test_a_pattern_that_matches_nothing(tmp_path):
    with pytest.raises(BadPipeline, match=r"CsvExampleGen: No file matches '.*gone'"):
        check(CsvExampleGen(str(tmp_path / "gone")))


def test_files_with_other_headers(tmp_path):
    (tmp_path / "a.csv").write_text("age,city\n1,a\n")
    (tmp_path / "b.csv").write_text("age,town\n1,a\n")
    with pytest.raises(
        BadPipeline, match=r"b\.csv has the columns \['age', 'town'\], but .*a\.csv"
    ):
        check(CsvExampleGen(str(tmp_path)))
    (tmp_path / "b.csv").write_text("age,city\n2,b\n")
    assert check(CsvExampleGen(str(tmp_path))) == []


@pytest.mark.parametrize("mark", [";", "\t"])
def test_cells_without_commas_between_them(tmp_path, mark):
    (tmp_path / "rows.csv").write_text(f"age{mark}city\n1{mark}a\n")
    (doubt,) = check(CsvExampleGen(str(tmp_path)))
    assert doubt.startswith("CsvExampleGen: warning: ")
    assert doubt.endswith(f"rows.csv has one column: write commas between its cells, not {mark!r}.")


def test_what_a_step_of_the_users_own_may_make_is_awaited(tmp_path):
    download = Download()
    gen = CsvExampleGen(str(tmp_path / "gone"))
    trainer = Trainer(examples=gen.outputs["examples"], module_file=str(tmp_path / "gone.py"))
    gen.add_upstream_node(download)
    assert check(download, gen, trainer) == []


def refuse(server):
    raise PlaceError(f"{server} is not found.")


class TestDownloads:
    """What run_fn fetches from servers that have no address here."""

    @pytest.fixture(autouse=True)
    def _without_proxies(self, monkeypatch, tmp_path):
        for proxy in _PROXIES:
            monkeypatch.delenv(proxy, raising=False)
        monkeypatch.setenv("TFHUB_CACHE_DIR", str(tmp_path / "hub"))

    def check(self, gen, path):
        examples = gen.outputs["examples"]
        schema = ImportSchemaGen(schema_file=str(path))
        transform = Transform(examples, schema.outputs["schema"], module_file=str(path))
        trainer = Trainer(examples=examples, module_file=str(path))
        return check(gen, schema, transform, trainer)

    @pytest.fixture
    def write(self, tmp_path):
        def write_module(*body):
            path = tmp_path / "module.py"
            lines = [f"    {line}" for line in body]
            head = ["URL = 'https://hub.invalid/model'", "def preprocessing_fn(inputs): ..."]
            build = ["def build():", "    return hub.KerasLayer(URL)", "def run_fn(fn_args):"]
            path.write_text("\n".join([*head, *build, *lines]))
            return path

        return write_module

    def test_one_that_must_be_made_is_refused(self, gen, write):
        path = write("with strategy.scope():", "    model = build()")
        with pytest.raises(BadPipeline, match=r"line 4: hub\.invalid is not found") as refused:
            self.check(gen, path)
        assert str(refused.value).startswith("Trainer: ")
        assert str(refused.value).endswith("name its folder or TFHUB_CACHE_DIR.")

    @pytest.mark.parametrize(
        "body",
        [
            ("if fn_args.base_model: build()",),
            ("if fn_args.base_model: return", "build()"),
            ("other(build)",),
        ],
    )
    def test_one_that_may_not_be_made_is_told_once(self, gen, write, body):
        (doubt,) = self.check(gen, write(*body))
        assert doubt.startswith("Trainer: warning: ")
        assert "module.py, line 4: hub.invalid is not found" in doubt

    def test_one_that_goes_on_without_its_data_is_told_and_not_refused(
        self, gen, write, monkeypatch
    ):
        monkeypatch.setattr(before_work, "require_server", refuse)
        _, doubt = self.check(gen, write("nltk.download('no-such-corpus')"))
        assert doubt.endswith("downloads no-such-corpus, unless nltk_data has it: fetch it first.")

    def test_a_variable_that_is_not_set_is_told_where_it_must_be_asked(self, gen, write):
        ask = "os.environ['MY_TEST_BUCKET']"
        _, doubt = self.check(gen, write(f"bucket = {ask}"))
        assert "line 6: the environment variable MY_TEST_BUCKET is not set: export" in doubt
        told = self.check(gen, write(f"if fn_args.base_model: bucket = {ask}"))
        assert "MY_TEST_BUCKET" not in str(told)

    def test_one_that_was_made_before_is_not_told(self, gen, write, tmp_path):
        digest = hashlib.sha1(b"https://hub.invalid/model").hexdigest()
        (tmp_path / "hub" / digest).mkdir(parents=True)
        assert self.check(gen, write("build()")) == []


class TestBeamRunners:
    """Transform with flags for runners on other machines."""

    @pytest.fixture(autouse=True)
    def _without_network(self, monkeypatch):
        for proxy in _PROXIES:
            monkeypatch.delenv(proxy, raising=False)
        monkeypatch.setattr(beam, "_DATAFLOW_SERVER", "dataflow.invalid")
        monkeypatch.setattr(beam.shutil, "which", lambda _: None)

    def check(self, gen, tmp_path, *flags, of_step=()):
        path = tmp_path / "module.py"
        path.write_text("def preprocessing_fn(inputs): ...")
        schema = ImportSchemaGen(schema_file=str(path))
        transform = Transform(
            gen.outputs["examples"], schema.outputs["schema"], module_file=str(path)
        )
        if of_step:
            transform.with_beam_pipeline_args(list(of_step))
        steps = [gen, schema, transform]
        plans, unplanned = plan_steps(steps, {})
        looking = BeforeWork(
            plans=plans, given={}, launcher=Processes(), beam_pipeline_args=list(flags)
        )
        return looking.check(steps, unplanned)

    @pytest.mark.parametrize(
        ("flags", "told"),
        [
            (["--runner=DataflowRunner"], "needs --project too"),
            (
                ["--runner=DataflowRunner", "--project=p"],
                "cannot be asked: dataflow.invalid is not found",
            ),
            (["--runner", "FlinkRunner"], "needs Java"),
        ],
    )
    def test_one_that_cannot_be_asked_is_refused(self, gen, tmp_path, flags, told):
        with pytest.raises(BadPipeline, match=told) as refused:
            self.check(gen, tmp_path, *flags)
        assert str(refused.value).startswith("Transform: --runner=")
        assert str(refused.value).endswith("leave the flag out to compute on this machine.")
        with pytest.raises(BadPipeline, match=told):
            self.check(gen, tmp_path, of_step=flags)

    def test_those_of_this_machine_are_not(self, gen, tmp_path):
        assert self.check(gen, tmp_path, "--runner=DirectRunner", "--project=p") == []
        assert self.check(gen, tmp_path, "--runner=DataflowRunner", of_step=["--x"]) == []


def test_a_label_that_is_no_column(gen, module):
    with pytest.raises(BadPipeline, match=r"Evaluator: label_key='tipp' .* Did you mean 'tip'\?"):
        evaluate(gen, module, label_key="tipp")
    with pytest.raises(BadPipeline, match=r"example_weight_key='wait'"):
        evaluate(gen, module, label_key="tip", example_weight_key="wait")


def test_a_slice_that_is_no_column_is_told_and_the_run_goes_on(gen, module):
    (doubt,) = evaluate(gen, module, label_key="tip")
    assert doubt.startswith("Evaluator: warning: the slicing_spec of 'citty' is no feature")
    assert "Did you mean 'city'?" in doubt


def test_a_label_that_is_text_is_told_before_anything_is_trained(gen, module):
    with open(module, "a", encoding="utf-8") as text:
        text.write("\ndef serve(raw): transformed_features = layer(raw)")
    (told, _) = evaluate(gen, module, label_key="city")
    assert told.startswith("Evaluator: warning: label_key='city' is text, such as '")
    assert len(told) < 240
    assert evaluate(gen, module, label_key="city", preprocessing_function_names=["make"]) == []


def test_a_label_that_the_model_may_make_is_awaited(gen, module, tmp_path):
    assert evaluate(gen, module, label_key="xf", preprocessing_function_names=["make"]) == []
    (tmp_path / "module.py").write_text("SIGNATURE = 'transformed_labels'\nrun_fn = 1")
    assert evaluate(gen, module, label_key="xf") == []


def test_gpus_and_interpreters_that_are_not_there_are_told_together(gen, module, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    examples = gen.outputs["examples"]
    workers = Workers(2, gpus_each=1)
    many = Trainer(examples=examples, module_file=module, workers=workers)
    other = Trainer(examples=examples, module_file=module, python="/nowhere/python").with_id("O")
    with pytest.raises(BadPipeline) as raised:
        check(gen, many, other)
    first, gpus, python = str(raised.value).splitlines()
    assert first == "Nothing was run."
    assert "Trainer: Workers(2, gpus_each=1) needs 2 GPUs" in gpus
    assert "O: There is no Python at /nowhere/python" in python
    assert check(gen, many, launcher=InProcess()) == []


def test_what_steps_share_is_told_once(gen, tmp_path):
    module = str(tmp_path / "shared.py")
    (tmp_path / "shared.py").write_text("import no_such_package\npreprocessing_fn = run_fn = 1")
    schema = ImportSchemaGen(schema_file=str(tmp_path / "shared.py")).outputs["schema"]
    transform = Transform(gen.outputs["examples"], schema, module_file=module)
    trainer = Trainer(examples=gen.outputs["examples"], module_file=module)
    with pytest.raises(BadPipeline) as raised:
        check(gen, transform, trainer)
    told = str(raised.value)
    assert told.startswith("Transform, Trainer: ")
    assert told.count("no_such_package") == 1


def test_more_workers_than_processors_are_told(gen, module):
    trainer = Trainer(examples=gen.outputs["examples"], module_file=module, workers=Workers(999))
    (doubt,) = check(gen, trainer)
    assert "its 999 workers share" in doubt


def test_files_and_folders_that_steps_are_given(gen, module, tmp_path):
    trainer = Trainer(examples=gen.outputs["examples"], module_file=module)
    model = trainer.outputs["model"]
    filesystem = {"base_directory": str(tmp_path / "data" / "rows.csv" / "models")}
    with pytest.raises(BadPipeline) as raised:
        check(
            gen,
            Importer(str(tmp_path / "gone"), Schema),
            ImportSchemaGen(str(tmp_path / "gone.pbtxt")),
            trainer,
            Evaluator(gen.outputs["examples"], model, module_file=str(tmp_path / "gone.py")),
            Pusher(model, push_destination={"filesystem": filesystem}),
        )
    _, importer, schema, evaluator, pusher = str(raised.value).splitlines()
    assert "Importer: there is nothing at source_uri=" in importer
    assert "gone.pbtxt. Check schema_file." in schema
    assert "Evaluator: there is no module file" in evaluator
    assert "rows.csv is no folder" in pusher


def test_a_format_whose_packages_are_not_installed():
    target = Target(rewriter="", folder="", summary="", extra="onnx", packages=("no_such_package",))
    assert target.find_missing() == (
        "no_such_package is not installed: pip install 'stoker[onnx]'."
    )
