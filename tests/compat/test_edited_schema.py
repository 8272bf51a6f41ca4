# SPDX-License-Identifier: Apache-2.0
"""A schema that was edited by hand, on its way to `fn_args.schema_path`."""

import json
from pathlib import Path

import pytest
from tfx import v1 as tfx
from tfx.components import CsvExampleGen, ImporterNode
from tfx.orchestration import pipeline
from tfx.types import standard_artifacts
from training import served, write

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("warm")]

# Two of the columns of the file, so that what run_fn reads tells whose schema it is.
EDITED = """
feature {
  name: "species"
  type: BYTES
  presence { min_fraction: 1.0 }
  shape { dim { size: 1 } }
}
feature {
  name: "year"
  type: INT
  presence { min_fraction: 1.0 }
  shape { dim { size: 1 } }
  int_domain { min: 2007 max: 2009 }
}
"""

MODULE = """
import json
import os

import tensorflow as tf
from tensorflow_metadata.proto.v0 import schema_pb2
from tfx import v1 as tfx
from tfx_bsl.public import tfxio


def run_fn(fn_args: tfx.components.FnArgs):
  schema = tfx.utils.parse_pbtxt_file(fn_args.schema_path, schema_pb2.Schema())
  dataset = fn_args.data_accessor.tf_dataset_factory(
      fn_args.train_files,
      tfxio.TensorFlowDatasetOptions(batch_size=7, label_key='species', num_epochs=1),
      schema)
  features, label = next(iter(dataset))
  seen = {
      'path': fn_args.schema_path,
      'old_name': fn_args.schema_file,
      'years': [schema.feature[1].int_domain.min, schema.feature[1].int_domain.max],
      'features': {name: tensor.shape.as_list() for name, tensor in features.items()},
      'label': label.shape.as_list(),
  }
  tf.io.gfile.makedirs(fn_args.serving_model_dir)
  with open(os.path.join(fn_args.serving_model_dir, 'seen.json'), 'w') as f:
    json.dump(seen, f)
"""


def through_import_schema_gen(folder):
    step = tfx.components.ImportSchemaGen(schema_file=str(folder / "schema.pbtxt"))
    return step, step.outputs["schema"]


def through_importer(folder):
    step = tfx.dsl.Importer(
        source_uri=str(folder), artifact_type=tfx.types.standard_artifacts.Schema
    ).with_id("schema_importer")
    return step, step.outputs["result"]


def through_the_old_importer_node(folder):
    step = ImporterNode(
        instance_name="import_user_schema",
        source_uri=str(folder),
        artifact_type=standard_artifacts.Schema,
    )
    return step, step.outputs["result"]


@pytest.mark.parametrize(
    "way", [through_import_schema_gen, through_importer, through_the_old_importer_node]
)
def test_an_edited_schema_reaches_run_fn(tmp_path, penguins, way):
    edited = tmp_path / "schema"
    edited.mkdir()
    (edited / "schema.pbtxt").write_text(EDITED)
    example_gen = CsvExampleGen(input_base=penguins)
    step, schema = way(edited)
    trainer = tfx.components.Trainer(
        module_file=write(tmp_path, "module", MODULE),
        examples=example_gen.outputs["examples"],
        schema=schema,
    )
    run = tfx.orchestration.LocalDagRunner().run(
        pipeline.Pipeline("schema", str(tmp_path / "root"), components=[example_gen, step, trainer])
    )
    seen = json.loads(Path(served(run), "seen.json").read_text())
    assert seen["path"] == seen["old_name"]
    assert seen["path"].endswith("/schema.pbtxt")
    assert seen["years"] == [2007, 2009]
    assert seen["features"] == {"year": [7, 1]}
    assert seen["label"] == [7, 1]
