"""base_models from a Resolver, through two runs: the second begins where the first ended."""

import json
from pathlib import Path

import pytest
from tfx.components import CsvExampleGen, ResolverNode, Trainer
from tfx.dsl.experimental import latest_artifacts_resolver
from tfx.orchestration import pipeline
from tfx.orchestration.local.local_dag_runner import LocalDagRunner
from tfx.proto import trainer_pb2
from tfx.types import Channel
from tfx.types.standard_artifacts import Model

from stoker.errors import StepFailed

pytestmark = pytest.mark.tf

MODULE = """
import json, os
import numpy as np
import stoker
import tensorflow as tf
IMPORT_KERAS

VOCABULARIES = {"cold": ["a", "b", "c"], "warm": ["c", "new", "a", "b"]}

def run_fn(fn_args):
    words = VOCABULARIES["warm" if fn_args.base_model and fn_args.custom_config["grow"] else "cold"]
    keras.utils.set_random_seed(1)
    word = keras.Input((1,), name="word", dtype="int32")
    rows = keras.layers.Embedding(len(words), 2, name=fn_args.custom_config["embedding"])(word)
    out = keras.layers.Dense(1, name=fn_args.custom_config["layer"])(keras.layers.Flatten()(rows))
    model = keras.Model(word, out)
    model.compile(keras.optimizers.Adam(0.05), "mse")
    lists = {"word_embedding": (VOCABULARIES["cold"], words)} if len(words) > 3 else None
    report = stoker.warm_start(model, fn_args, vocabularies=lists)
    wanted = {"a": 1.0, "b": -2.0, "c": 3.0, "new": 0.0}
    x = np.array([[n] for n, one in enumerate(words) if one != "new"] * 20, "int32")
    y = np.array([[wanted[words[n]]] for (n,) in x], "float32")
    before = float(model.evaluate(x, y, verbose=0))
    model.fit(x, y, epochs=fn_args.train_steps, verbose=0)
    after = float(model.evaluate(x, y, verbose=0))
    SAVE
    with open(os.path.join(fn_args.model_run_dir, "told.json"), "w") as file:
        json.dump({"before": before, "after": after, "mapped": report.mapped,
                   "taken": report.taken, "skipped": report.skipped}, file)
"""
KERAS = {
    "Keras 2": ("from tensorflow import keras", "model.save(fn_args.serving_model_dir)"),
    "Keras 3": ("import keras", "model.export(fn_args.serving_model_dir, verbose=False)"),
    "Keras 3, saved_model": (
        "import keras",
        "tf.saved_model.save(model, fn_args.serving_model_dir)",
    ),
}


def run(tmp_path, kind, *, grow=False, layer="out", embedding="word_embedding"):
    (tmp_path / "data").mkdir(exist_ok=True)
    (tmp_path / "data" / "rows.csv").write_text("a\n" + "\n".join(map(str, range(20))))
    module_file = tmp_path / "module.py"
    keras, save = KERAS[kind]
    module_file.write_text(MODULE.replace("IMPORT_KERAS", keras).replace("SAVE", save))
    example_gen = CsvExampleGen(input_base=str(tmp_path / "data"))
    latest_model_resolver = ResolverNode(
        instance_name="latest_model_resolver",
        resolver_class=latest_artifacts_resolver.LatestArtifactsResolver,
        latest_model=Channel(type=Model),
    )
    trainer = Trainer(
        module_file=str(module_file),
        examples=example_gen.outputs["examples"],
        base_models=latest_model_resolver.outputs["latest_model"],
        train_args=trainer_pb2.TrainArgs(num_steps=40),
        eval_args=trainer_pb2.EvalArgs(num_steps=1),
        custom_config={"grow": grow, "layer": layer, "embedding": embedding},
        check=False,
    )
    outputs = (
        LocalDagRunner()
        .run(
            pipeline.Pipeline(
                pipeline_name="warm",
                pipeline_root=str(tmp_path / "root"),
                components=[example_gen, latest_model_resolver, trainer],
            )
        )
        .outputs
    )
    return json.loads(Path(outputs["Trainer"]["model_run"][0].uri, "told.json").read_text())


@pytest.mark.parametrize("kind", KERAS)
def test_the_second_run_begins_where_the_first_ended(tmp_path, kind):
    cold, warm = run(tmp_path, kind), run(tmp_path, kind)
    assert cold["taken"] == []
    assert len(warm["taken"]) == 3
    assert warm["skipped"] == {}
    assert warm["before"] == pytest.approx(cold["after"], rel=1e-4)
    assert warm["after"] <= cold["after"] < cold["before"]


@pytest.mark.parametrize("kind", ["Keras 2", "Keras 3"])
def test_old_entries_of_a_vocabulary_that_grew_keep_their_rows(tmp_path, kind):
    cold, warm = run(tmp_path, kind), run(tmp_path, kind, grow=True)
    assert list(warm["mapped"].values()) == [3]
    assert warm["before"] == pytest.approx(cold["after"], rel=1e-4)


def test_a_base_model_of_another_architecture_is_refused_before_training(tmp_path):
    run(tmp_path, "Keras 2")
    assert set(run(tmp_path, "Keras 2", layer="head")["skipped"]) == {"head/kernel", "head/bias"}
    with pytest.raises(StepFailed, match="has none of this model's weights"):
        run(tmp_path, "Keras 2", layer="top", embedding="rows")
