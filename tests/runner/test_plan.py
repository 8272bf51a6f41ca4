# SPDX-License-Identifier: Apache-2.0
"""What is decided about a step before anything is started."""

import pytest

from stoker.artifacts import Examples
from stoker.components.statistics_gen import StatisticsGen
from stoker.components.trainer.component import Trainer
from stoker.components.tuner.component import Tuner
from stoker.dsl import RuntimeParameter, as_channel
from stoker.runner.plan import plan_steps

EXAMPLES = as_channel([Examples()])


@pytest.fixture
def home(tmp_path, monkeypatch):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "__init__.py").touch()
    (tmp_path / "parts" / "far.py").write_text("import tensorflow as tf\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def plan(node, **given):
    plans, _ = plan_steps([node], given)
    return plans[node.id]


def test_the_users_file_is_the_module_that_was_given_or_that_of_a_dotted_name(home):
    file = str(home / "parts" / "far.py")
    assert plan(Trainer(examples=EXAMPLES, module_file=file)).user_file == file
    assert plan(Trainer(examples=EXAMPLES, run_fn="parts.far.run_fn")).user_file == file
    assert plan(Tuner(examples=EXAMPLES, tuner_fn="parts.far.tuner_fn")).user_file == file


def test_the_users_file_may_be_a_runtime_parameter(home):
    file = str(home / "parts" / "far.py")
    trainer = Trainer(examples=EXAMPLES, module_file=RuntimeParameter("module", str))
    planned = plan(trainer, module=file)
    assert (planned.user_file, planned.needs.keras) == (file, 2)
    assert planned.parameters["module_file"] == file


def test_our_own_steps_load_no_file_of_the_users():
    assert plan(StatisticsGen(examples=EXAMPLES)).user_file is None
