"""The Trainer guide's own code, as printed, through LocalDagRunner and a real worker."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import seed_blocks as seeds
from steps import FEATURES, LABEL, transform
from tfx.components import CsvExampleGen, ResolverNode, SchemaGen, StatisticsGen
from tfx.dsl.experimental import latest_artifacts_resolver
from tfx.orchestration import pipeline
from tfx.orchestration.local.local_dag_runner import LocalDagRunner
from tfx.proto import trainer_pb2
from tfx.types import Channel
from tfx.types.standard_artifacts import Model

pytestmark = pytest.mark.tf

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
        names["transform"] = transform(
            examples=example_gen.outputs["examples"], schema=infer_schema.outputs["schema"]
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


SERVE = """
import sys, tensorflow as tf
model = tf.saved_model.load(sys.argv[1])
def feature(value):
    return tf.train.Feature(float_list=tf.train.FloatList(value=[value]))
def number(value):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))
example = tf.train.Example(features=tf.train.Features(feature={
    'bill_length_mm': feature(46.1), 'bill_depth_mm': feature(13.2),
    'flipper_length_mm': number(211), 'body_mass_g': number(4500)}))
(result,) = model.signatures['serving_default'](tf.constant([example.SerializeToString()])).values()
print([round(float(one), 3) for one in result[0]])
"""


def serve(run):
    """Load what was published in a process of its own, and ask it about one bird."""
    folder = run.outputs["Trainer"]["model"][0].uri + "/Format-Serving"
    done = subprocess.run(
        [sys.executable, "-c", SERVE, folder], capture_output=True, text=True, check=True
    )
    return eval(done.stdout.splitlines()[-1])


def test_the_oldest_run_fn_with_a_transform_graph(tmp_path, penguins):
    module = TRANSFORMED_MODULE + seeds.OLDEST_RUN_FN
    result = run(seeds.TRAINER_WITH_TRANSFORM, module, tmp_path, penguins)
    probabilities = serve(result)
    assert len(probabilities) == 3
    assert max(probabilities) > 0.9


def test_the_same_with_a_generic_executor_and_mirrored_strategy(tmp_path, penguins, capfd):
    module = (
        TRANSFORMED_MODULE
        + seeds.LOGGING
        + seeds.OLDEST_RUN_FN.replace("\n  model = _build_keras_model()\n", seeds.MIRRORED_STRATEGY)
    )
    assert "MirroredStrategy" in module
    result = run(seeds.TRAINER_WITH_GENERIC_EXECUTOR, module, tmp_path, penguins)
    assert max(serve(result)) > 0.9
    assert "Using MirroredStrategy with devices" in capfd.readouterr().err


def test_without_a_transform_graph(tmp_path, penguins, capfd):
    result = run(seeds.TRAINER_WITHOUT_TRANSFORM, RAW_MODULE, tmp_path, penguins)
    captured = capfd.readouterr()
    assert "10000/10000" in captured.out
    assert result.outputs["Trainer"]["model_run"]


def test_the_latest_model_is_the_base_of_the_next(tmp_path, penguins):
    remember = textwrap.dedent(
        """
        from tfx.components.trainer.executor import TrainerFnArgs

        def run_fn(fn_args: TrainerFnArgs):
            import os
            assert fn_args.transform_output and fn_args.schema_file
            warm_start_from = fn_args.base_models[0] if fn_args.base_models else None
            assert warm_start_from == fn_args.base_model
            os.makedirs(fn_args.serving_model_dir)
            with open(os.path.join(fn_args.serving_model_dir, 'base'), 'w') as file:
                file.write(str(warm_start_from))
        """
    )
    models = [
        run(seeds.TRAINER_WITH_BASE_MODELS, remember, tmp_path, penguins).outputs["Trainer"][
            "model"
        ][0]
        for _ in range(2)
    ]
    cold, warm = (Path(model.uri, "Format-Serving", "base").read_text() for model in models)
    assert cold == "None"
    assert warm == f"{models[0].uri}/Format-Serving"
