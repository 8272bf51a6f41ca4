# SPDX-License-Identifier: Apache-2.0
"""A module that cannot work is told before the first step runs, however late its own step is."""

import re

import pytest

from stoker.components import CsvExampleGen, SchemaGen, StatisticsGen, Trainer, Transform
from stoker.dsl import Pipeline, RuntimeParameter
from stoker.errors import StokerError
from stoker.runner import LocalDagRunner
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


def test_a_function_by_its_dotted_name_needs_its_package(tmp_path):
    examples = CsvExampleGen(RuntimeParameter("data", ptype=str)).outputs["examples"]
    trainer = Trainer(examples=examples, run_fn="no_such_package.training.run_fn")
    pipeline = Pipeline("p", str(tmp_path), components=[*trainer.upstream_nodes, trainer])
    with pytest.raises(StokerError, match=r"no module for run_fn='no_such_package"):
        LocalDagRunner().run(pipeline, parameters={"data": "data"})
