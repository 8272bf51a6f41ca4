# SPDX-License-Identifier: Apache-2.0
"""The oldest seed's serving function, with the label popped, on a real transform graph."""

import os
import subprocess
import sys
import textwrap

import pytest

from stoker.patches.tensorflow_transform import TransformedFeatures

MAKE_GRAPH = textwrap.dedent(
    """
    import os, sys
    import apache_beam as beam
    import tensorflow as tf
    import tensorflow_transform as tft
    from tensorflow_transform import beam as tft_beam
    from tensorflow_transform.tf_metadata import dataset_metadata, schema_utils

    folder = sys.argv[1]
    raw = dataset_metadata.DatasetMetadata(
        schema_utils.schema_from_feature_spec({
            "x": tf.io.FixedLenFeature([1], tf.float32),
            "label": tf.io.FixedLenFeature([1], tf.int64),
        })
    )
    rows = [{"x": [float(i)], "label": [i % 2]} for i in range(10)]

    def preprocessing_fn(inputs):
        return {"x_xf": tft.scale_to_0_1(inputs["x"]), "label_xf": inputs["label"]}

    with beam.Pipeline(argv=["--runner=FnApiRunner"]) as pipeline:
        with tft_beam.Context(temp_dir=os.path.join(folder, "tmp")):
            data = pipeline | beam.Create(rows)
            transform_fn = (data, raw) | tft_beam.AnalyzeDataset(preprocessing_fn)
            transform_fn | tft_beam.WriteTransformFn(folder)
            raw | tft_beam.WriteMetadata(os.path.join(folder, "metadata"), pipeline=pipeline)
    # Beam and TensorFlow together may crash when the interpreter takes them apart.
    os._exit(0)
    """
)

SERVE = """
    import sys
    from stoker.task import ProcessNeeds
    from stoker.patches.tf_keras import alias_keras, prepare_keras
    from stoker.patches.tensorflow_transform import tolerate_pop

    version, graph, model_dir = int(sys.argv[1]), *sys.argv[2:]
    prepare_keras(ProcessNeeds(tensorflow=True, keras=version))
    tolerate_pop()
    import tensorflow as tf
    if version == 2:
        alias_keras()
    import keras
    import tensorflow_transform as tft
    tolerate_pop()

    transformed = tft.TFTransformOutput(graph)
    x = keras.Input((1,), name="x_xf")
    dense = keras.layers.Dense(1, kernel_initializer="ones")
    model = keras.Model({"x_xf": x}, dense(x))
    model.tft_layer = transformed.transform_features_layer()

    @tf.function
    def serve(examples):
        feature_spec = transformed.raw_feature_spec()
        feature_spec.pop("label")
        features = model.tft_layer(tf.io.parse_example(examples, feature_spec))
        features.pop("label_xf")
        try:
            features.pop("no_such_feature")
        except KeyError:
            pass
        else:
            raise AssertionError("popped what the transform graph does not have")
        return model(features)

    examples = tf.TensorSpec([None], tf.string, name="examples")
    signatures = {"serving_default": serve.get_concrete_function(examples)}
    if version == 2:
        model.save(model_dir, save_format="tf", signatures=signatures)
    else:
        tf.saved_model.save(model, model_dir, signatures=signatures)

    example = tf.train.Example()
    example.features.feature["x"].float_list.value.append(4.5)
    request = tf.constant([example.SerializeToString()])
    answer = tf.saved_model.load(model_dir).signatures["serving_default"](request)
    print(float(next(iter(answer.values()))[0, 0]))
"""


@pytest.fixture(scope="module")
def transform_graph(tmp_path_factory):
    folder = tmp_path_factory.mktemp("graph")
    environ = {**os.environ, "TF_USE_LEGACY_KERAS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, "-c", MAKE_GRAPH, str(folder)]
    done = subprocess.run(command, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.tf
@pytest.mark.slow
@pytest.mark.parametrize("keras", [2, 3])
def test_a_serving_function_may_pop_the_label_that_a_request_lacks(
    run_python, transform_graph, tmp_path, keras
):
    printed = run_python(SERVE, keras, transform_graph, tmp_path / "model")
    assert float(printed.splitlines()[-1]) == pytest.approx(0.5)


def test_only_features_that_could_not_be_computed_may_be_popped_without_a_default():
    features = TransformedFeatures(x=1)
    features.not_computed = frozenset({"label"})
    assert features.pop("label") is None
    assert features.pop("label", "default") == "default"
    assert features.pop("x") == 1
    for name in ("x", "other"):
        with pytest.raises(KeyError):
            features.pop(name)


@pytest.mark.tf
def test_a_schema_is_made_under_the_name_of_the_first_years(run_python):
    run_python(
        """
        import tfx
        import tensorflow as tf
        from tensorflow_transform.tf_metadata import dataset_metadata, dataset_schema

        spec = {"x": tf.io.FixedLenFeature([], tf.float32)}
        metadata = dataset_metadata.DatasetMetadata(dataset_schema.from_feature_spec(spec))
        assert [one.name for one in metadata.schema.feature] == ["x"]
        """
    )
