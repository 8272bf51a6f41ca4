"""The Trainer guide's own code, as printed, through LocalDagRunner and a real worker."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import seed_blocks as seeds
from estimator_blocks import FEATURES, LABEL, PREPROCESSING
from tfx.components import CsvExampleGen, ResolverNode, SchemaGen, StatisticsGen, Transform
from tfx.dsl.experimental import latest_artifacts_resolver
from tfx.orchestration import pipeline
from tfx.orchestration.local.local_dag_runner import LocalDagRunner
from tfx.proto import trainer_pb2
from tfx.types import Channel
from tfx.types.standard_artifacts import Model

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("warm")]

# What the guide's module refers to and does not print.
TRANSFORMED_MODULE = f"""
import tensorflow as tf
import tensorflow_transform as tft
from tfx.components.trainer.executor import TrainerFnArgs

_LABEL_KEY = {LABEL!r}
_FEATURE_KEYS = {FEATURES!r}


def _transformed_name(key):
    return key + '_xf'


def _input_fn(file_pattern, tf_transform_output, batch_size):
    return tf.data.experimental.make_batched_features_dataset(
        file_pattern,
        batch_size,
        tf_transform_output.transformed_feature_spec(),
        reader=lambda files: tf.data.TFRecordDataset(files, compression_type='GZIP'),
        label_key=_transformed_name(_LABEL_KEY))


def _build_keras_model():
    inputs = [
        tf.keras.Input(shape=(1,), name=_transformed_name(key)) for key in _FEATURE_KEYS]
    hidden = tf.keras.layers.Dense(8, activation='relu')(tf.keras.layers.concatenate(inputs))
    model = tf.keras.Model(
        {{one.name: one for one in inputs}}, tf.keras.layers.Dense(3, activation='softmax')(hidden))
    optimizer = tf.keras.optimizers.Adam(lr=1e-2)
    model.compile(optimizer, 'sparse_categorical_crossentropy', ['accuracy'])
    return model
"""

# The newer editions' run_fn, with something real in place of each `...`.
RAW_MODULE = f"""
import tensorflow as tf

_SPEC = {{
    'bill_length_mm': tf.io.VarLenFeature(tf.float32),
    {LABEL!r}: tf.io.FixedLenFeature([1], tf.string),
}}


def _example(row):
    bill = row['bill_length_mm']
    bill = tf.sparse.to_dense(tf.sparse.reset_shape(bill, [bill.dense_shape[0], 1]), 44.0)
    return tf.reshape(bill / 44 - 1, [-1, 1]), tf.cast(row[{LABEL!r}] == 'Adelie', tf.float32)


def _dataset(pattern):
    files = tf.io.gfile.glob(pattern)
    rows = tf.data.TFRecordDataset(files, compression_type='GZIP').batch(64)
    return rows.map(lambda row: _example(tf.io.parse_example(row, _SPEC))).cache().repeat()


def _build_keras_model():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, activation='sigmoid')])
    model.compile('adam', 'binary_crossentropy', ['accuracy'])
    return model
""" + seeds.RUN_FN.replace(
    "model.fit(...)",
    "model.fit(_dataset(fn_args.train_files), steps_per_epoch=fn_args.train_steps,"
    " validation_data=_dataset(fn_args.eval_files), validation_steps=fn_args.eval_steps,"
    " verbose=2)",
).replace("serving_model_dir, ...)", "serving_model_dir)")


def shorter(block):
    """A printed block with fewer steps: what it shows does not hang on their number."""
    assert "num_steps=10000" in block
    return block.replace("=10000", "=2000").replace("=5000", "=20")


def run(block, module, tmp_path, data, name="seeds"):
    """Execute a pipeline block as printed, among the steps that it names, and run it."""
    module_file = tmp_path / "module.py"
    module_file.write_text(module)
    example_gen = CsvExampleGen(input_base=data)
    statistics_gen = StatisticsGen(examples=example_gen.outputs["examples"])
    infer_schema = SchemaGen(statistics=statistics_gen.outputs["statistics"])
    latest_model_resolver = ResolverNode(
        instance_name="latest_model_resolver",
        resolver_class=latest_artifacts_resolver.LatestArtifactsResolver,
        latest_model=Channel(type=Model),
    )
    names = {
        "module_file": str(module_file),
        "trainer_pb2": trainer_pb2,
        "example_gen": example_gen,
        "infer_schema": infer_schema,
        "latest_model_resolver": latest_model_resolver,
    }
    components = [example_gen, statistics_gen, infer_schema]
    if "transform." in block:
        preprocessing = tmp_path / "preprocessing.py"
        preprocessing.write_text(PREPROCESSING)
        names["transform"] = Transform(
            examples=example_gen.outputs["examples"],
            schema=infer_schema.outputs["schema"],
            module_file=str(preprocessing),
        )
        components.append(names["transform"])
    if "latest_model_resolver" in block:
        components.append(latest_model_resolver)
    exec("from tfx.components import Trainer\n" + block, names)
    made = pipeline.Pipeline(
        pipeline_name=name,
        pipeline_root=str(tmp_path / "root"),
        components=[*components, names["trainer"]],
    )
    return LocalDagRunner().run(made)


# Asks about one bird, then compares what is served with what was trained on, bird by bird.
SERVE = """
import glob, json, sys
import tensorflow as tf
import tensorflow_transform as tft

model_dir, graph, raw, transformed = sys.argv[1:]


def feature(value):
    kinds = {
        float: lambda: tf.train.Feature(float_list=tf.train.FloatList(value=[value])),
        int: lambda: tf.train.Feature(int64_list=tf.train.Int64List(value=[value])),
        bytes: lambda: tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))}
    return kinds[type(value)]()


def records(folder):
    return list(tf.data.TFRecordDataset(glob.glob(folder + '/*'), 'GZIP').as_numpy_iterator())


model = tf.saved_model.load(model_dir)
bird = {
    'bill_length_mm': 46.1, 'bill_depth_mm': 13.2, 'flipper_length_mm': 211, 'body_mass_g': 4500,
    'island': b'Biscoe', 'year': 2007}
example = tf.train.Example(features=tf.train.Features(
    feature={name: feature(value) for name, value in bird.items()}))
(answer,) = model.signatures['serving_default'](tf.constant([example.SerializeToString()])).values()

output = tft.TFTransformOutput(graph)
spec = output.raw_feature_spec()
spec.pop('species')
served = model.tft_layer(tf.io.parse_example(records(raw), spec))
trained = tf.io.parse_example(records(transformed), output.transformed_feature_spec())
trained.pop('species_xf')
print(json.dumps({
    'probabilities': [round(float(one), 3) for one in answer[0]],
    'rows': int(trained['body_mass_g_xf'].shape[0]),
    'different': [n for n in trained if not bool(tf.reduce_all(served[n] == trained[n]))],
}))
"""


def serve(run):
    """What a process of its own finds that loads the published model."""
    folders = [
        run.outputs["Trainer"]["model"][0].uri + "/Format-Serving",
        run.outputs["Transform"]["transform_graph"][0].uri,
        run.outputs["CsvExampleGen"]["examples"][0].path(split="eval"),
        run.outputs["Transform"]["transformed_examples"][0].path(split="eval"),
    ]
    done = subprocess.run(
        [sys.executable, "-c", SERVE, *folders], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_the_oldest_run_fn_with_a_transform_graph(tmp_path, penguins):
    module = TRANSFORMED_MODULE + seeds.OLDEST_RUN_FN
    result = run(shorter(seeds.TRAINER_WITH_TRANSFORM), module, tmp_path, penguins)
    found = serve(result)
    assert len(found["probabilities"]) == 3
    assert max(found["probabilities"]) > 0.9
    assert found["rows"] > 90
    assert found["different"] == []


def test_the_same_with_a_generic_executor_and_mirrored_strategy(tmp_path, penguins, capfd):
    module = (
        TRANSFORMED_MODULE
        + seeds.LOGGING
        + seeds.OLDEST_RUN_FN.replace("\n  model = _build_keras_model()\n", seeds.MIRRORED_STRATEGY)
    )
    assert "MirroredStrategy" in module
    result = run(shorter(seeds.TRAINER_WITH_GENERIC_EXECUTOR), module, tmp_path, penguins)
    assert max(serve(result)["probabilities"]) > 0.9
    assert "Using MirroredStrategy with devices" in capfd.readouterr().err


def test_without_a_transform_graph(tmp_path, penguins, capfd):
    result = run(shorter(seeds.TRAINER_WITHOUT_TRANSFORM), RAW_MODULE, tmp_path, penguins)
    captured = capfd.readouterr()
    assert "2000/2000" in captured.out
    assert result.outputs["Trainer"]["model_run"]


WARM = """
  import json, os
  import stoker
  stoker.warm_start(model, fn_args)
  before = model.evaluate(eval_dataset, steps=50, verbose=0)
  model.fit(
"""
TELL = """
  after = model.evaluate(eval_dataset, steps=50, verbose=0)
  with open(os.path.join(fn_args.model_run_dir, 'losses.json'), 'w') as file:
    json.dump({'base': fn_args.base_models, 'before': before[0], 'after': after[0]}, file)

  signatures = {
"""


def test_the_latest_model_is_the_base_of_the_next(tmp_path, penguins):
    module = TRANSFORMED_MODULE + seeds.OLDEST_RUN_FN.replace("\n  model.fit(\n", WARM).replace(
        "\n  signatures = {\n", TELL
    )
    # A model that does not overfit, so that what it ends at can be compared.
    module = module.replace("activation=", "kernel_regularizer='l2', activation=")
    runs = [
        run(shorter(seeds.TRAINER_WITH_BASE_MODELS), module, tmp_path, penguins) for _ in range(2)
    ]
    first_model = runs[0].outputs["Trainer"]["model"][0].uri
    cold, warm = (
        json.loads(Path(one.outputs["Trainer"]["model_run"][0].uri, "losses.json").read_text())
        for one in runs
    )
    assert cold["base"] == []
    assert warm["base"] == [f"{first_model}/Format-Serving"]
    assert warm["before"] == pytest.approx(cold["after"], rel=0.2, abs=0.02)
    assert warm["before"] < cold["before"] - 0.3
    assert warm["after"] < cold["after"] + 0.05
