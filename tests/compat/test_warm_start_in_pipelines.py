"""base_models from a Resolver, through two runs: the second begins where the first ended."""

import json
from pathlib import Path

import pytest
from tfx.components import (
    CsvExampleGen,
    ResolverNode,
    SchemaGen,
    StatisticsGen,
    Trainer,
    Transform,
)
from tfx.dsl.experimental import latest_artifacts_resolver
from tfx.orchestration import pipeline
from tfx.orchestration.local.local_dag_runner import LocalDagRunner
from tfx.proto import trainer_pb2
from tfx.types import Channel
from tfx.types.standard_artifacts import Model

from stoker.errors import StepFailed

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("warm")]

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


TRANSFORMED = """
import json, os
import stoker
import tensorflow as tf
import tensorflow_transform as tft

def preprocessing_fn(inputs):
    return {"word_xf": tft.compute_and_apply_vocabulary(inputs["word"], vocab_filename="word")}

def run_fn(fn_args):
    graph = tft.TFTransformOutput(fn_args.transform_output)
    word = tf.keras.Input((1,), name="word_xf", dtype="int64")
    rows = tf.keras.layers.Embedding(graph.vocabulary_size_by_name("word"), 2, name="words")(word)
    model = tf.keras.Model(word, rows)
    report = stoker.warm_start(model, fn_args, vocabularies={"words": "word"})
    model.tft_layer = graph.transform_features_layer()

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def serve(examples):
        parsed = tf.io.parse_example(examples, graph.raw_feature_spec())
        return model(model.tft_layer(parsed)["word_xf"])

    model.save(fn_args.serving_model_dir, signatures={"serving_default": serve})
    table = dict(zip([w.decode() for w in graph.vocabulary_by_name("word")],
                     model.get_layer("words").get_weights()[0].tolist()))
    with open(os.path.join(fn_args.model_run_dir, "rows.json"), "w") as file:
        json.dump({"rows": table, "mapped": report.mapped}, file)
"""


def run_transformed(tmp_path, words):
    data = tmp_path / "words"
    data.mkdir(exist_ok=True)
    (data / "rows.csv").write_text("word,n\n" + "".join(f"{w},{n}\n" for n, w in enumerate(words)))
    module_file = tmp_path / "module.py"
    module_file.write_text(TRANSFORMED)
    example_gen = CsvExampleGen(input_base=str(data))
    examples = example_gen.outputs["examples"]
    statistics_gen = StatisticsGen(examples=examples)
    schema_gen = SchemaGen(statistics=statistics_gen.outputs["statistics"])
    transform = Transform(
        examples=examples, schema=schema_gen.outputs["schema"], module_file=str(module_file)
    )
    latest = ResolverNode(instance_name="latest", model=Channel(type=Model))
    trainer = Trainer(
        module_file=str(module_file),
        examples=transform.outputs["transformed_examples"],
        transform_graph=transform.outputs["transform_graph"],
        base_model=latest.outputs["model"],
    )
    components = [example_gen, statistics_gen, schema_gen, transform, latest, trainer]
    made = pipeline.Pipeline("grown", str(tmp_path / "root"), components=components)
    model_run = LocalDagRunner().run(made).outputs["Trainer"]["model_run"][0]
    return json.loads(Path(model_run.uri, "rows.json").read_text())


def test_a_vocabulary_of_the_transform_graph_is_followed_by_its_name(tmp_path):
    before = run_transformed(tmp_path, ["cat"] * 30 + ["dog"] * 20 + ["owl"] * 10)
    after = run_transformed(tmp_path, ["fox"] * 40 + ["owl"] * 30 + ["cat"] * 20 + ["dog"] * 10)
    assert list(after["mapped"].values()) == [3]
    assert list(after["rows"]) != list(before["rows"])
    for word in ("cat", "dog", "owl"):
        assert after["rows"][word] == before["rows"][word]
