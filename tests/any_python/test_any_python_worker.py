# SPDX-License-Identifier: Apache-2.0
"""What a Task in another interpreter makes of its request, and warns of before it trains."""

import pytest

from stoker.any_python import dataset, worker
from stoker.any_python.fn_args import FnArgs


def test_the_data_accessor_is_made_anew():
    made = worker.make_fn_args({"train_steps": 3})
    assert made.train_steps == 3
    assert made.data_accessor.tf_dataset_factory is dataset.tf_dataset_factory


@pytest.mark.tf
@pytest.mark.parametrize("name", ["TensorFlowDatasetOptions", "RecordBatchesOptions"])
def test_options_are_those_of_tfx_bsl(name):
    from tfx_bsl.public import tfxio

    theirs = getattr(tfxio, name)(batch_size=7)
    assert getattr(dataset, name)(batch_size=7)._asdict() == theirs._asdict()


@pytest.mark.tf
@pytest.mark.parametrize(("for_tensorflow_1", "num_warnings"), [(True, 0), (False, 1)])
def test_a_transform_graph_in_tensorflow_2s_format_is_worth_a_warning(
    tmp_path, monkeypatch, for_tensorflow_1, num_warnings
):
    import tensorflow as tf

    folder = str(tmp_path / "transform_fn")
    if for_tensorflow_1:
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            builder = tf.compat.v1.saved_model.Builder(folder)
            builder.add_meta_graph_and_variables(session, ["serve"])
            builder.save()
    else:
        tf.saved_model.save(tf.Module(), folder)
    fn_args, said = FnArgs(transform_output=str(tmp_path)), []
    worker._warn_about_the_transform_graph(fn_args, said.append)
    assert said == []
    monkeypatch.setattr(tf, "__version__", "1.15.5")
    worker._warn_about_the_transform_graph(fn_args, said.append)
    assert len(said) == num_warnings
    assert all("Transform(force_tf_compat_v1=True)" in text for text in said)
