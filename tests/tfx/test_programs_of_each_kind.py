# SPDX-License-Identifier: Apache-2.0
"""Whole programs as others write them, started with `python`: TFDV, ml_metadata, `import tfx`.

Each prints what it found as JSON in its last line.
"""

import json
import os
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.tf, pytest.mark.slow]

MODULE = """
import tensorflow as tf
from tensorflow_metadata.proto.v0 import schema_pb2
from tfx import v1 as tfx
from tfx_bsl.public import tfxio

_FEATURES = ["fare", "hour"]


def _input_fn(file_pattern, data_accessor, schema):
    dataset = data_accessor.tf_dataset_factory(
        file_pattern, tfxio.TensorFlowDatasetOptions(batch_size=8, label_key="tips"), schema
    )
    return dataset.map(lambda x, y: ({key: tf.cast(x[key], tf.float32) for key in _FEATURES}, y))


def run_fn(fn_args: tfx.components.FnArgs):
    schema = tfx.utils.parse_pbtxt_file(fn_args.schema_path, schema_pb2.Schema())
    inputs = {key: tf.keras.Input(shape=(1,), name=key) for key in _FEATURES}
    outputs = tf.keras.layers.Dense(1)(tf.keras.layers.concatenate(list(inputs.values())))
    model = tf.keras.Model(inputs, outputs)
    model.compile(optimizer="adam", loss="mse")
    dataset = _input_fn(fn_args.train_files, fn_args.data_accessor, schema).repeat()
    model.fit(dataset, steps_per_epoch=fn_args.train_steps, verbose=2)
    model.save(fn_args.serving_model_dir, save_format="tf")
"""

DATA_VALIDATION = """
import glob
import json
import os

import tensorflow_data_validation as tfdv
from tensorflow_metadata.proto.v0 import schema_pb2
from tfx import v1 as tfx

BASE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(BASE, "pipeline")
SCHEMA_PATH = os.path.join(BASE, "schema", "schema.pbtxt")

train_stats = tfdv.generate_statistics_from_csv(data_location=os.path.join(BASE, "train.csv"))
schema = tfdv.infer_schema(statistics=train_stats)
schema.default_environment.extend(["TRAINING", "SERVING"])
tfdv.get_feature(schema, "tips").not_in_environment.append("SERVING")
tfdv.set_domain(schema, "hour", schema_pb2.IntDomain(name="hour", min=0, max=23))
tfdv.get_feature(schema, "payment").drift_comparator.infinity_norm.threshold = 0.2

serving_stats = tfdv.generate_statistics_from_csv(os.path.join(BASE, "serving", "trips.csv"))
found = {
    environment: tfdv.validate_statistics(
        serving_stats, schema, environment=environment, previous_statistics=train_stats
    )
    for environment in schema.default_environment
}
print(tfdv.utils.display_util.get_anomalies_dataframe(found["SERVING"]))
os.makedirs(os.path.dirname(SCHEMA_PATH), exist_ok=True)
tfdv.write_schema_text(schema, SCHEMA_PATH)


def create_pipeline():
    example_gen = tfx.components.CsvExampleGen(input_base=os.path.join(BASE, "serving"))
    statistics_gen = tfx.components.StatisticsGen(examples=example_gen.outputs["examples"])
    schema_gen = tfx.components.SchemaGen(statistics=statistics_gen.outputs["statistics"])
    schema_importer = tfx.components.ImportSchemaGen(schema_file=SCHEMA_PATH)
    example_validator = tfx.components.ExampleValidator(
        statistics=statistics_gen.outputs["statistics"], schema=schema_importer.outputs["schema"]
    )
    return tfx.dsl.Pipeline(
        pipeline_name="validation",
        pipeline_root=ROOT,
        components=[example_gen, statistics_gen, schema_gen, schema_importer, example_validator],
        metadata_connection_config=tfx.orchestration.metadata.sqlite_metadata_connection_config(
            os.path.join(BASE, "metadata.db")
        ),
    )


if __name__ == "__main__":
    tfx.orchestration.LocalDagRunner().run(create_pipeline())
    [stats_path] = glob.glob(f"{ROOT}/StatisticsGen/statistics/*/Split-train/FeatureStats.pb")
    [schema_path] = glob.glob(f"{ROOT}/SchemaGen/schema/*/schema.pbtxt")
    [anomalies_path] = glob.glob(f"{ROOT}/ExampleValidator/anomalies/*/Split-train/SchemaDiff.pb")
    of_step = tfdv.load_statistics(stats_path).datasets[0]
    inferred = tfdv.load_schema_text(schema_path)
    anomalies = tfdv.load_anomalies_binary(anomalies_path)
    shown, domains = tfdv.utils.display_util.get_schema_dataframe(inferred)
    print(json.dumps({
        "found": {
            name: {key: info.short_description for key, info in sorted(one.anomaly_info.items())}
            for name, one in found.items()
        },
        "drift": [one.path.step[0] for one in found["SERVING"].drift_skew_info],
        "rows": train_stats.datasets[0].num_examples,
        "rows of the step": of_step.num_examples,
        "latest hour of the step": tfdv.get_feature_stats(
            of_step, tfdv.FeaturePath(["hour"])
        ).num_stats.max,
        "words": sorted(tfdv.get_domain(inferred, "payment").value),
        "shown features": sorted(shown.index),
        "anomalies of the step": sorted(anomalies.anomaly_info),
    }))
"""

METADATA = """
import json
import os

import ml_metadata as mlmd
from ml_metadata.metadata_store import metadata_store
from ml_metadata.proto import metadata_store_pb2
from tfx import v1 as tfx

BASE = os.path.dirname(os.path.abspath(__file__))
METADATA_PATH = os.path.join(BASE, "metadata", "metadata.db")


def run_pipeline():
    example_gen = tfx.components.CsvExampleGen(input_base=os.path.join(BASE, "data"))
    statistics_gen = tfx.components.StatisticsGen(examples=example_gen.outputs["examples"])
    schema_gen = tfx.components.SchemaGen(statistics=statistics_gen.outputs["statistics"])
    trainer = tfx.components.Trainer(
        module_file=os.path.join(BASE, "module.py"),
        examples=example_gen.outputs["examples"],
        schema=schema_gen.outputs["schema"],
        train_args=tfx.proto.TrainArgs(num_steps=3),
        eval_args=tfx.proto.EvalArgs(num_steps=1),
    )
    tfx.orchestration.LocalDagRunner().run(
        tfx.dsl.Pipeline(
            pipeline_name="trips",
            pipeline_root=os.path.join(BASE, "pipeline"),
            components=[example_gen, statistics_gen, schema_gen, trainer],
            metadata_connection_config=tfx.orchestration.metadata.sqlite_metadata_connection_config(
                METADATA_PATH
            ),
        )
    )


def open_store():
    connection_config = metadata_store_pb2.ConnectionConfig()
    connection_config.sqlite.filename_uri = METADATA_PATH
    connection_config.sqlite.connection_mode = 3  # READWRITE_OPENCREATE
    return metadata_store.MetadataStore(connection_config)


def find_lineage(store, artifact):
    \"\"\"The types of executions and of what they read, from an artifact back to the data.\"\"\"
    types = {one.id: one.name for one in store.get_execution_types() + store.get_artifact_types()}
    lineage, waiting, seen = [], [artifact.id], set()
    while waiting:
        events = store.get_events_by_artifact_ids([waiting.pop(0)])
        made_by = {one.execution_id for one in events if one.type == mlmd.proto.Event.OUTPUT}
        for execution in store.get_executions_by_id(sorted(made_by - seen)):
            seen.add(execution.id)
            read = [
                event.artifact_id
                for event in store.get_events_by_execution_ids([execution.id])
                if event.type == metadata_store_pb2.Event.INPUT
            ]
            inputs = store.get_artifacts_by_id(read)
            name = types[execution.type_id].rpartition(".")[2]
            lineage.append([name, sorted(types[one.type_id] for one in inputs)])
            waiting += read
    return lineage


if __name__ == "__main__":
    run_pipeline()
    store = open_store()
    [model] = store.get_artifacts_by_type("Model")
    [by_uri] = store.get_artifacts_by_uri(model.uri)
    pipeline = store.get_context_by_type_and_name("pipeline", "trips")
    [run] = store.get_contexts_by_type("pipeline_run")
    node = store.get_context_by_type_and_name("node", "trips.Trainer")
    [training] = store.get_executions_by_context(node.id)
    type_id = store.put_context_type(metadata_store_pb2.ContextType(name="Release"))
    [release] = store.put_contexts([metadata_store_pb2.Context(type_id=type_id, name="v1")])
    store.put_attributions_and_associations(
        [metadata_store_pb2.Attribution(artifact_id=model.id, context_id=release)], []
    )
    query = mlmd.ListOptions(filter_query="contexts_r.type = 'Release' AND state = LIVE")
    print(json.dumps({
        "files": sorted(os.listdir(os.path.join(model.uri, "Format-Serving"))),
        "is by uri": by_uri.id == model.id,
        "is live": model.state == metadata_store_pb2.Artifact.LIVE,
        "in the pipeline": len(store.get_executions_by_context(pipeline.id)),
        "in the run": sorted(one.type for one in store.get_artifacts_by_context(run.id)),
        "contexts of the model": sorted(
            one.type for one in store.get_contexts_by_artifact(model.id)
        ),
        "is trained": training.last_known_state == metadata_store_pb2.Execution.COMPLETE,
        "train_args": json.loads(training.custom_properties["train_args"].string_value),
        "released": [one.type for one in store.get_artifacts(list_options=query)],
        "lineage": find_lineage(store, model),
    }))
"""

ATTRIBUTES = """
import json
import os

import tfx

BASE = os.path.dirname(os.path.abspath(__file__))


@tfx.dsl.component.experimental.decorators.component
def CountFiles(
    model: tfx.dsl.component.experimental.annotations.InputArtifact[
        tfx.types.standard_artifacts.Model
    ],
    report: tfx.dsl.component.experimental.annotations.OutputArtifact[
        tfx.types.standard_artifacts.HyperParameters
    ],
    least: tfx.dsl.component.experimental.annotations.Parameter[int] = 1,
):
    folder = tfx.utils.path_utils.serving_model_path(model.uri)
    names = sorted(tfx.dsl.io.fileio.listdir(folder))
    assert len(names) >= least
    tfx.utils.io_utils.write_string_file(os.path.join(report.uri, "files.txt"), " ".join(names))


example_gen = tfx.components.CsvExampleGen(
    input_base=os.path.join(BASE, "data"),
    output_config=tfx.proto.example_gen_pb2.Output(
        split_config=tfx.proto.example_gen_pb2.SplitConfig(splits=[
            tfx.proto.example_gen_pb2.SplitConfig.Split(name="train", hash_buckets=3),
            tfx.proto.example_gen_pb2.SplitConfig.Split(name="eval", hash_buckets=1),
        ])
    ),
)
statistics_gen = tfx.components.StatisticsGen(examples=example_gen.outputs["examples"])
schema_gen = tfx.components.SchemaGen(statistics=statistics_gen.outputs["statistics"])
trainer = tfx.components.Trainer(
    module_file=os.path.join(BASE, "module.py"),
    custom_executor_spec=tfx.dsl.components.base.executor_spec.ExecutorClassSpec(
        tfx.components.trainer.executor.GenericExecutor
    ),
    examples=example_gen.outputs["examples"],
    schema=schema_gen.outputs["schema"],
    train_args=tfx.proto.trainer_pb2.TrainArgs(num_steps=3),
    eval_args=tfx.proto.trainer_pb2.EvalArgs(num_steps=1),
)
pusher = tfx.components.Pusher(
    model=trainer.outputs["model"],
    push_destination=tfx.proto.pusher_pb2.PushDestination(
        filesystem=tfx.proto.pusher_pb2.PushDestination.Filesystem(
            base_directory=os.path.join(BASE, "serving")
        )
    ),
)
count = CountFiles(model=trainer.outputs["model"], least=2)
pipeline = tfx.orchestration.pipeline.Pipeline(
    pipeline_name="plain",
    pipeline_root=os.path.join(BASE, "pipeline"),
    components=[example_gen, statistics_gen, schema_gen, trainer, pusher, count],
    metadata_connection_config=tfx.orchestration.metadata.sqlite_metadata_connection_config(
        os.path.join(BASE, "metadata.db")
    ),
)

if __name__ == "__main__":
    tfx.orchestration.local.local_dag_runner.LocalDagRunner().run(pipeline)
    print(json.dumps({"version": tfx.__version__}))
"""
ATTRIBUTES_OF_V1 = """
import json
import os

import tfx.v1 as tfx

BASE = os.path.dirname(os.path.abspath(__file__))


@tfx.dsl.components.component
def CountFiles(
    model: tfx.dsl.components.InputArtifact[tfx.types.standard_artifacts.Model],
    report: tfx.dsl.components.OutputArtifact[tfx.types.standard_artifacts.HyperParameters],
    least: tfx.dsl.components.Parameter[int] = 1,
):
    names = sorted(tfx.dsl.io.fileio.listdir(os.path.join(model.uri, "Format-Serving")))
    assert len(names) >= least
    with tfx.dsl.io.fileio.open(os.path.join(report.uri, "files.txt"), "w") as file:
        file.write(" ".join(names))


split = tfx.proto.SplitConfig.Split
example_gen = tfx.components.CsvExampleGen(
    input_base=os.path.join(BASE, "data"),
    output_config=tfx.proto.Output(
        split_config=tfx.proto.SplitConfig(
            splits=[split(name="train", hash_buckets=3), split(name="eval", hash_buckets=1)]
        )
    ),
)
statistics_gen = tfx.components.StatisticsGen(examples=example_gen.outputs["examples"])
schema_gen = tfx.components.SchemaGen(statistics=statistics_gen.outputs["statistics"])
trainer = tfx.components.Trainer(
    module_file=os.path.join(BASE, "module.py"),
    examples=example_gen.outputs["examples"],
    schema=schema_gen.outputs["schema"],
    train_args=tfx.proto.TrainArgs(num_steps=3),
    eval_args=tfx.proto.EvalArgs(num_steps=1),
)
pusher = tfx.components.Pusher(
    model=trainer.outputs["model"],
    push_destination=tfx.proto.PushDestination(
        filesystem=tfx.proto.PushDestination.Filesystem(
            base_directory=os.path.join(BASE, "serving")
        )
    ),
)
count = CountFiles(model=trainer.outputs["model"], least=2)

if __name__ == "__main__":
    tfx.orchestration.LocalDagRunner().run(
        tfx.dsl.Pipeline(
            pipeline_name="plain",
            pipeline_root=os.path.join(BASE, "pipeline"),
            components=[example_gen, statistics_gen, schema_gen, trainer, pusher, count],
            metadata_connection_config=tfx.orchestration.metadata.sqlite_metadata_connection_config(
                os.path.join(BASE, "metadata.db")
            ),
        )
    )
    print(json.dumps({"version": tfx.__version__}))
"""


@pytest.fixture
def run(tmp_path):
    """Start a program where it lies, and read its last line."""

    def start(program):
        (tmp_path / "module.py").write_text(MODULE)
        (tmp_path / "pipeline.py").write_text(program)
        environ = {name: value for name, value in os.environ.items() if "KERAS" not in name}
        done = subprocess.run(
            [sys.executable, "pipeline.py"],
            cwd=tmp_path,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return start


def write_trips(path, *columns):
    """Rows of these columns; payment is by card in every other one."""
    values = {
        "fare": lambda n: n + 0.5,
        "hour": lambda n: n % 24,
        "late hour": lambda n: n % 30,
        "payment": lambda n: ("Cash", "Card")[n % 2],
        "odd payment": lambda n: ("Cash", "Crypto", "Crypto")[n % 3],
        "tips": lambda n: n % 3 + 0.25,
    }
    header = ",".join(name.rpartition(" ")[2] for name in columns)
    rows = [",".join(str(values[name](n)) for name in columns) for n in range(60)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([header, *rows]) + "\n")


def test_a_program_validates_data_with_tfdv_beside_its_pipeline(run, tmp_path):
    write_trips(tmp_path / "train.csv", "fare", "hour", "payment", "tips")
    write_trips(tmp_path / "serving" / "trips.csv", "fare", "late hour", "odd payment")
    assert run(DATA_VALIDATION) == {
        "found": {
            "TRAINING": {
                "hour": "Out-of-range values",
                "payment": "Multiple errors",
                "tips": "Column dropped",
            },
            "SERVING": {"hour": "Out-of-range values", "payment": "Multiple errors"},
        },
        "drift": ["payment"],
        "rows": 60,
        "rows of the step": 43,
        "latest hour of the step": 29,
        "words": ["Cash", "Crypto"],
        "shown features": ["'fare'", "'hour'", "'payment'"],
        "anomalies of the step": ["hour", "payment", "tips"],
    }


def test_a_program_looks_a_run_up_in_ml_metadata(run, tmp_path):
    write_trips(tmp_path / "data" / "trips.csv", "fare", "hour", "payment", "tips")
    found = run(METADATA)
    assert {"saved_model.pb", "variables"} <= set(found.pop("files"))
    assert found == {
        "is by uri": True,
        "is live": True,
        "in the pipeline": 4,
        "in the run": ["ExampleStatistics", "Examples", "Model", "ModelRun", "Schema"],
        "contexts of the model": ["Release", "node", "pipeline", "pipeline_run"],
        "is trained": True,
        "train_args": {"num_steps": 3},
        "released": ["Model"],
        "lineage": [
            ["Trainer", ["Examples", "Schema"]],
            ["CsvExampleGen", []],
            ["SchemaGen", ["ExampleStatistics"]],
            ["StatisticsGen", ["Examples"]],
        ],
    }


@pytest.mark.parametrize("program", [ATTRIBUTES, ATTRIBUTES_OF_V1], ids=["tfx", "tfx.v1"])
def test_a_program_reaches_everything_through_one_import(run, tmp_path, program):
    write_trips(tmp_path / "data" / "trips.csv", "fare", "hour", "payment", "tips")
    assert run(program)["version"].startswith("1.21")
    (pushed,) = (tmp_path / "serving").iterdir()
    (report,) = tmp_path.glob("pipeline/CountFiles/report/*/files.txt")
    assert report.read_text() == " ".join(sorted(path.name for path in pushed.iterdir()))
    assert "saved_model.pb" in report.read_text()
    splits = tmp_path.glob("pipeline/CsvExampleGen/examples/*/Split-*")
    assert sorted(path.name for path in splits) == ["Split-eval", "Split-train"]
