# SPDX-License-Identifier: Apache-2.0
"""A tf.Example as a dict, as older editions of TFDV read it."""

import numpy as np

from stoker.dsl.proto.example_pb2 import Example

_TYPES = {"bytes_list": object, "int64_list": np.int64, "float_list": np.float32}


class TFExampleDecoder:
    """Reads serialized tf.Examples one by one."""

    def decode(self, serialized_example_proto: bytes) -> dict[str, np.ndarray | None]:
        """The values of each feature; None if it has no type."""
        features = Example.FromString(serialized_example_proto).features.feature
        kinds = {name: feature.WhichOneof("kind") for name, feature in features.items()}
        return {
            name: np.array(getattr(features[name], kind).value, _TYPES[kind]) if kind else None
            for name, kind in kinds.items()
        }
