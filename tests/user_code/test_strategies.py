# SPDX-License-Identifier: Apache-2.0
"""Modules that several processes can train together, and those that are refused beforehand."""

import pytest

from stoker.task import ProcessNeeds, Workers
from stoker.user_code.strategies import cluster_for

TWO = Workers(2)
KERAS_2 = ProcessNeeds(tensorflow=True, keras=2)
KERAS_3 = ProcessNeeds(tensorflow=True, keras=3)


def ask(tmp_path, text, workers=TWO, needs=KERAS_2):
    file = tmp_path / "module.py"
    file.write_text(text)
    return cluster_for(workers, str(file), needs)


@pytest.mark.parametrize(
    ("text", "workers", "cluster"),
    [
        ("strategy = tf.distribute.MultiWorkerMirroredStrategy()", Workers(2), "all-reduce"),
        ("tf.distribute.experimental.MultiWorkerMirroredStrategy()", Workers(2), "all-reduce"),
        ("from tensorflow.distribute import MultiWorkerMirroredStrategy", Workers(2), "all-reduce"),
        ("getattr(tf.distribute, 'MultiWorkerMirroredStrategy')()", Workers(2), "all-reduce"),
        ("tf.distribute.ParameterServerStrategy(resolver)", Workers(2, ps=1), "servers"),
        ("config = os.environ['TF_CONFIG']", Workers(2), "own"),
        ("tf.distribute.MirroredStrategy()", Workers(1), None),
        ("tf.distribute.MirroredStrategy()", None, None),
    ],
)
def test_the_module_says_how_its_processes_work_together(tmp_path, text, workers, cluster):
    assert ask(tmp_path, text, workers) == cluster


def test_of_two_strategies_parameter_servers_decide(tmp_path):
    text = "MultiWorkerMirroredStrategy() if small else ParameterServerStrategy(resolver)"
    assert ask(tmp_path, text) == "all-reduce"
    assert ask(tmp_path, text, Workers(2, ps=1)) == "servers"


def test_a_neighbour_may_make_the_strategy(tmp_path):
    (tmp_path / "setup_strategy.py").write_text("tf.distribute.MultiWorkerMirroredStrategy()")
    assert ask(tmp_path, "import setup_strategy") == "all-reduce"


def test_estimators_read_their_cluster_themselves(tmp_path):
    needs = ProcessNeeds(tensorflow=True, keras=2, estimators=True)
    workers = Workers(2, ps=1, evaluator=True)
    assert ask(tmp_path, "tf.estimator.RunConfig()", workers, needs) == "estimator"
    with pytest.raises(ValueError, match=r"Have one: Workers\(2, ps=1, evaluator=True\)"):
        ask(tmp_path, "tf.estimator.RunConfig()", Workers(2, ps=1), needs)


@pytest.mark.parametrize(
    ("text", "workers", "needs", "advice"),
    [
        ("tf.distribute.MirroredStrategy()", Workers(2), KERAS_2, "names MirroredStrategy.*2 sep"),
        ("x = 1", Workers(3), KERAS_2, "no strategy.*3 separate.*MultiWorkerMirroredStrategy"),
        ('"""MultiWorkerMirroredStrategy"""', Workers(2), KERAS_2, "no strategy"),
        ("ParameterServerStrategy(r)", Workers(2, ps=1), KERAS_3, r"Trainer\(keras=2\)"),
        ("ParameterServerStrategy(r)", Workers(2), KERAS_2, r"Workers\(2, ps=1\)"),
        ("MultiWorkerMirroredStrategy()", Workers(2, ps=1), KERAS_2, "leave ps out"),
        ("MultiWorkerMirroredStrategy()", Workers(2, evaluator=True), KERAS_2, "only Estimators"),
        (
            "MultiWorkerMirroredStrategy(); model.compile(jit_compile=True)",
            Workers(2),
            KERAS_3,
            "jit_compile=True",
        ),
    ],
)
def test_what_cannot_work_is_refused_with_what_does(tmp_path, text, workers, needs, advice):
    with pytest.raises(ValueError, match=rf"Workers\(\d.* with module.py: .*{advice}"):
        ask(tmp_path, text, workers, needs)


def test_xla_is_no_obstacle_to_keras_2(tmp_path):
    assert ask(tmp_path, "MultiWorkerMirroredStrategy(); m.compile(jit_compile=True)")
