# SPDX-License-Identifier: Apache-2.0
"""Modules for TensorFlow 1.15 and 2.15, each in a Python of its own; we load and serve the models.

The environments are made on first use under `.envs/`.
"""

import glob
import os
from pathlib import Path

import estimator_blocks
import old_keras_block
import pytest
from tfx import v1 as tfx
from tfx.dsl.component.experimental.annotations import InputArtifact, OutputDict
from tfx.dsl.component.experimental.decorators import component
from tfx.types.standard_artifacts import Examples, Model
from training import write

from stoker.launchers.interpreters.finding import find_python
from stoker.launchers.interpreters.venvs import RECIPES, create

pytestmark = [pytest.mark.tf, pytest.mark.slow, pytest.mark.envs, pytest.mark.usefixtures("warm")]

HOME = str(Path(__file__).parents[2] / ".envs")


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("interpreters")


@pytest.fixture
def environment(monkeypatch):
    """The name of an environment, once it is made; skips where its Python is missing."""
    monkeypatch.setenv("STOKER_HOME", HOME)

    def environment(name):
        recipe = RECIPES[name]
        if find_python(recipe.pythons) is None:
            pytest.skip(f"{name} needs Python {' or '.join(recipe.pythons)}")
        create(recipe)
        return name

    return environment


@component
def serve(model: InputArtifact[Model], examples: InputArtifact[Examples]) -> OutputDict(
    answers=int, distinct=int
):
    """Load a model as a server of today's would, and ask it about every eval example."""
    import numpy as np
    import tensorflow as tf

    loaded = tf.saved_model.load(os.path.join(model.uri, "Format-Serving"), tags=["serve"])
    signature = loaded.signatures["serving_default"]
    ((name, wanted),) = signature.structured_input_signature[1].items()
    if wanted.dtype == tf.string:
        files = tf.io.gfile.glob(os.path.join(examples.path(split="eval"), "*"))
        records = tf.data.TFRecordDataset(files, compression_type="GZIP").as_numpy_iterator()
        asked = tf.constant(list(records))
    else:
        asked = tf.random.uniform([50, *wanted.shape[1:]])
    answers = next(iter(signature(**{name: asked}).values())).numpy()
    return {"answers": len(answers), "distinct": len(np.unique(answers))}


def run(root, data, python, modules, *, steps=40, warm=False):
    """Train each module in another Python, behind a Transform of ours, and serve its model."""
    example_gen = tfx.components.CsvExampleGen(input_base=data)
    examples = example_gen.outputs["examples"]
    statistics_gen = tfx.components.StatisticsGen(examples=examples)
    schema_gen = tfx.components.SchemaGen(statistics=statistics_gen.outputs["statistics"])
    schema = schema_gen.outputs["schema"]
    transform = tfx.components.Transform(
        examples=examples,
        schema=schema,
        module_file=write(root, "preprocessing", estimator_blocks.PREPROCESSING),
        force_tf_compat_v1=True,
        disable_statistics=True,
    )
    steps_before = [example_gen, statistics_gen, schema_gen, transform]
    given = {
        "estimator": {
            "examples": transform.outputs["transformed_examples"],
            "transform_graph": transform.outputs["transform_graph"],
        },
        "keras": {"examples": examples},
    }
    if warm:
        latest = tfx.dsl.Resolver(
            strategy_class=tfx.dsl.experimental.LatestArtifactStrategy,
            model=tfx.dsl.Channel(type=Model, producer_component_id="estimator"),
        ).with_id("latest")
        steps_before.append(latest)
        given["estimator"]["base_model"] = latest.outputs["model"]
    trainers = [
        tfx.components.Trainer(
            module_file=write(root, name, text),
            schema=schema,
            train_args=tfx.proto.TrainArgs(num_steps=steps),
            eval_args=tfx.proto.EvalArgs(num_steps=2),
            python=python,
            **given[name],
        ).with_id(name)
        for name, text in modules.items()
    ]
    servers = [
        serve(model=trainer.outputs["model"], examples=examples).with_id(f"serve_{trainer.id}")
        for trainer in trainers
    ]
    return tfx.orchestration.LocalDagRunner().run(
        tfx.dsl.Pipeline(
            pipeline_name=python or "here",
            pipeline_root=str(root / "root"),
            components=[*steps_before, *trainers, *servers],
            enable_cache=True,
        )
    )


def first_loss(run):
    """The loss before the first step of a training, from its TensorBoard events."""
    import tensorflow as tf

    folder = os.path.join(run.outputs["estimator"]["model_run"][0].uri, "Format-Serving")
    (events,) = glob.glob(os.path.join(folder, "events.out.*"))
    return next(
        value.simple_value
        for event in tf.compat.v1.train.summary_iterator(events)
        for value in event.summary.value
        if value.tag == "loss"
    )


def checked(run, name):
    return run.outputs[name]["model"][0].get_string_custom_property("model_check")


def test_the_guides_trainer_fn_trains_and_warm_starts_in_tensorflow_2_15(
    root, penguins, environment
):
    modules = {"estimator": estimator_blocks.MODULE}
    first, second = (
        run(root, penguins, environment("tf-2.15"), modules, steps=150, warm=True) for _ in range(2)
    )
    for one in (first, second):
        assert checked(one, "estimator").endswith("Format-TFMA loads.")
        assert one.outputs["serve_estimator"]["answers"][0].value == 140
    assert first.outputs["latest"]["model"] == []
    assert first_loss(second) < 0.8 * first_loss(first)  # that of a guess, ln 3


PACKAGES = """
import tensorflow as tf
import tensorflow_addons as tfa
import tensorflow_decision_forests as tfdf
import tensorflow_hub
import tensorflow_ranking
import tensorflow_recommenders
import tensorflow_text


def run_fn(fn_args):
  x = tf.random.uniform([64, 2])
  y = tf.cast(x[:, :1] > x[:, 1:], tf.int64)
  forest = tfdf.keras.RandomForestModel(num_trees=2, verbose=0)
  forest.fit(tf.data.Dataset.from_tensor_slices((x, y)).batch(64))
  model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=[2])])
  model.compile(tfa.optimizers.AdamW(weight_decay=1e-4), tfa.losses.SigmoidFocalCrossEntropy())
  model.fit(x, y, verbose=0)
  model.save(fn_args.serving_model_dir)
"""


def test_packages_that_todays_tensorflow_is_too_new_for_are_in_the_environment(
    root, penguins, environment
):
    done = run(root, penguins, environment("tf-2.15"), {"keras": PACKAGES})
    assert done.outputs["serve_keras"]["distinct"][0].value > 1


def test_an_estimator_and_a_keras_module_train_in_tensorflow_1_15(
    root, penguins, environment, capfd
):
    write(root, "old_columns", old_keras_block.COLUMNS)
    modules = {"estimator": estimator_blocks.MODULE, "keras": old_keras_block.MODULE}
    done = run(root, penguins, environment("tf-1.15"), modules)
    shown = capfd.readouterr()
    assert "trained with 1.15" in shown.out
    assert "warning: " not in shown.err
    for name, answers in (("estimator", 140), ("keras", 50)):
        assert done.outputs[f"serve_{name}"]["answers"][0].value == answers
        assert done.outputs[f"serve_{name}"]["distinct"][0].value > 1
    assert checked(done, "estimator").endswith("Format-TFMA loads.")
    assert checked(done, "keras").startswith(("serving_default loads", "serving_default works"))
