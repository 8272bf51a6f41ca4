# SPDX-License-Identifier: Apache-2.0
"""The messages are TFX's on the wire: names, field numbers and enum values, written out by hand."""

import pytest

from stoker.dsl.proto import (
    example_gen_pb2,
    pusher_pb2,
    range_config_pb2,
    trainer_pb2,
    transform_pb2,
    tuner_pb2,
)

SPLIT = example_gen_pb2.SplitConfig(
    splits=[example_gen_pb2.SplitConfig.Split(name="t", hash_buckets=2)],
    partition_feature_name="f",
)


@pytest.mark.parametrize(
    ("message", "name", "wire"),
    [
        (
            trainer_pb2.TrainArgs(splits=["a"], num_steps=5),
            "tfx.components.trainer.TrainArgs",
            b"\x0a\x01a\x10\x05",
        ),
        (
            trainer_pb2.EvalArgs(splits=["a"], num_steps=5),
            "tfx.components.trainer.EvalArgs",
            b"\x0a\x01a\x10\x05",
        ),
        (
            example_gen_pb2.Input(splits=[example_gen_pb2.Input.Split(name="n", pattern="p")]),
            "tfx.components.example_gen.Input",
            b"\x0a\x06\x0a\x01n\x12\x01p",
        ),
        (
            example_gen_pb2.Output(split_config=SPLIT),
            "tfx.components.example_gen.Output",
            b"\x1a\x0a\x0a\x05\x0a\x01t\x10\x02\x12\x01f",
        ),
        (
            range_config_pb2.RangeConfig(
                rolling_range=range_config_pb2.RollingRange(start_span_number=1, num_spans=2)
            ),
            "tfx.configs.RangeConfig",
            b"\x12\x04\x08\x01\x10\x02",
        ),
        (
            transform_pb2.SplitsConfig(analyze=["a"], transform=["b", "c"]),
            "tfx.components.transform.SplitsConfig",
            b"\x0a\x01a\x12\x01b\x12\x01c",
        ),
        (
            tuner_pb2.TuneArgs(num_parallel_trials=3),
            "tfx.components.tuner.TuneArgs",
            b"\x08\x03",
        ),
        (
            pusher_pb2.PushDestination(
                filesystem=pusher_pb2.PushDestination.Filesystem(
                    base_directory="d", versioning=pusher_pb2.UNIX_TIMESTAMP
                )
            ),
            "tfx.components.pusher.PushDestination",
            b"\x1a\x05\x0a\x01d\x30\x01",
        ),
    ],
)
def test_a_message_has_the_name_and_the_bytes_of_tfx(message, name, wire):
    assert message.DESCRIPTOR.full_name == name
    assert message.SerializeToString() == wire


def test_formats_have_the_numbers_of_tfx():
    assert example_gen_pb2.FORMAT_TF_EXAMPLE == 6
    assert example_gen_pb2.FORMAT_PROTO == 11
    assert example_gen_pb2.FORMAT_TFRECORDS_GZIP == 5
