# SPDX-License-Identifier: Apache-2.0
"""TFDV in pipelines: options in StatisticsGen, a module that reads the schema, files looked at."""

import runpy

import pytest
import tensorflow_data_validation as tfdv

pytestmark = [pytest.mark.tf, pytest.mark.slow]

MODULE = """
import os
import tensorflow_data_validation as tfdv

def run_fn(fn_args):
    schema = tfdv.load_schema_text(fn_args.schema_path)
    os.makedirs(fn_args.serving_model_dir)
    with open(os.path.join(fn_args.serving_model_dir, "words.txt"), "w") as file:
        file.write(" ".join(tfdv.get_domain(schema, "payment").value))
"""
PIPELINE = """
import tensorflow_data_validation as tfdv
from tfx import v1 as tfx
from tfx_bsl.public.proto import slicing_spec_pb2

by_payment = slicing_spec_pb2.SlicingConfig(
    slicing_specs=[slicing_spec_pb2.SlicingSpec(feature_keys=["payment"])]
)
options = tfdv.StatsOptions(num_top_values=1, slicing_config=by_payment)
example_gen = tfx.components.CsvExampleGen(input_base="data")
examples = example_gen.outputs["examples"]
statistics_gen = tfx.components.StatisticsGen(examples=examples, stats_options=options)
statistics = statistics_gen.outputs["statistics"]
schema_gen = tfx.components.SchemaGen(statistics=statistics)
schema = schema_gen.outputs["schema"]
validator = tfx.components.ExampleValidator(statistics=statistics, schema=schema)
trainer = tfx.components.Trainer(
    examples=examples, schema=schema, module_file="module.py", check=False
)
tfx.orchestration.LocalDagRunner().run(
    tfx.dsl.Pipeline(
        "trips",
        "out",
        components=[example_gen, statistics_gen, schema_gen, validator, trainer],
        metadata_connection_config=tfx.orchestration.metadata.sqlite_metadata_connection_config("m.db"),
    )
)
"""


def test_tfdv_is_used_from_the_pipeline_file_to_the_module(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    rows = "".join(f"{n}.5,Cash\n{n}.25,Card\n" for n in range(40))
    (tmp_path / "data" / "trips.csv").write_text(f"fare,payment\n{rows}")
    (tmp_path / "module.py").write_text(MODULE)
    (tmp_path / "pipeline.py").write_text(PIPELINE)
    runpy.run_path("pipeline.py")
    (path,) = tmp_path.glob("out/StatisticsGen/statistics/*/Split-train/FeatureStats.pb")
    stats = tfdv.load_statistics(str(path))
    assert {one.name for one in stats.datasets} == {"All Examples", "payment_Cash", "payment_Card"}
    assert len(stats.datasets[0].features[1].string_stats.top_values) == 1
    (path,) = tmp_path.glob("out/ExampleValidator/anomalies/*/Split-eval/SchemaDiff.pb")
    assert not tfdv.utils.anomalies_util.load_anomalies_binary(str(path)).anomaly_info
    (path,) = tmp_path.glob("out/Trainer/model/*/Format-Serving/words.txt")
    assert path.read_text() == "Card Cash"
