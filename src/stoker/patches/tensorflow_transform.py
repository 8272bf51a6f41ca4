# SPDX-License-Identifier: Apache-2.0
"""tensorflow-transform: modules written for older versions work with today's.

Serving code drops the label from what `transform_features_layer()` returns:

    transformed_features.pop(_transformed_name(_LABEL_KEY))

The layer leaves out whatever it cannot compute, and a request carries no label, so that line would
raise a KeyError.
"""

import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from stoker.patches.changes import after_import, replace
from stoker.patches.registry import PATCHES


def tolerate_pop() -> None:
    """Let `pop` pass over transformed features that the layer could not compute.

    It takes effect when tensorflow_transform is imported, which this does not do; a second call
    changes nothing.
    """
    after_import("tensorflow_transform.output_wrapper", _change_layer)


def provide_old_names() -> None:
    """Let `tf_metadata.dataset_schema`, which became schema_utils, be imported."""
    after_import("tensorflow_transform.tf_metadata", _add_dataset_schema)


def _add_dataset_schema(package: ModuleType) -> None:
    from tensorflow_metadata.proto.v0 import schema_pb2

    PATCHES["transform-names"].check_version()
    name = f"{package.__name__}.dataset_schema"
    module = ModuleType(name, "What schema_utils was called before tensorflow-transform 0.14.")
    vars(module).update(DATASET_SCHEMA)
    vars(package)["dataset_schema"] = sys.modules[name] = module
    schema_pb2.Schema.as_feature_spec = _as_feature_spec


def _as_feature_spec(self: Any) -> Any:
    """The feature spec that a schema says."""
    from tensorflow_transform.tf_metadata import schema_utils

    return schema_utils.schema_as_feature_spec(self).feature_spec


def _from_feature_spec(feature_spec: Any, domains: Any = None) -> Any:
    """The schema that a feature spec says."""
    from tensorflow_transform.tf_metadata import schema_utils

    return schema_utils.schema_from_feature_spec(feature_spec, domains)


class _FixedColumn:
    """A column with as many values in every row as its axes say."""

    def __init__(self, default_value: Any = None) -> None:
        self.default_value = default_value


class _ListColumn:
    """A column with any number of values in a row."""


def _make_column(domain: Any, axes: Any, representation: Any) -> Any:
    """A column for `Schema`, as the feature spec that came after it."""
    import tensorflow as tf

    if isinstance(representation, _ListColumn):
        return tf.io.VarLenFeature(domain)
    return tf.io.FixedLenFeature(axes, domain, representation.default_value)


DATASET_SCHEMA = {
    "ColumnSchema": _make_column,
    "FixedColumnRepresentation": _FixedColumn,
    "ListColumnRepresentation": _ListColumn,
    "Schema": _from_feature_spec,
    "from_feature_spec": _from_feature_spec,
}
"""What `dataset_schema` has again, by name."""


class TransformedFeatures(dict[str, Any]):
    """Transformed features by name; those that could not be computed may be popped too."""

    not_computed: frozenset[str] = frozenset()

    def pop(self, key: str, *default: Any) -> Any:
        """The feature, taken out; None for one that could not be computed."""
        if key not in self and key in self.not_computed and not default:
            return None
        return super().pop(key, *default)


def _change_layer(module: ModuleType) -> None:
    patch = PATCHES["transform-pop"]
    patch.check_version()
    patch.check_names(module, "TransformFeaturesLayer")
    layer = module.TransformFeaturesLayer
    if "__call__" not in vars(layer):
        replace(layer, "__call__", _tolerate_pop_after(layer.__call__))
        if "keras.tree" in sys.modules:
            _tell_keras_3()


def _tell_keras_3() -> None:
    """Let Keras 3 read TransformedFeatures as the dict that it is; it knows exact types only."""
    import optree

    optree.register_pytree_node(TransformedFeatures, _flatten, _unflatten, namespace="keras")


def _flatten(features: Any) -> tuple[list[Any], tuple[str, ...]]:
    names = tuple(sorted(features))
    return [features[name] for name in names], names


def _unflatten(names: Any, values: Any) -> Any:
    return dict(zip(names, values, strict=True))


def _tolerate_pop_after(call: Callable[..., Any]) -> Callable[..., Any]:
    """The layer's `__call__`, its result wrapped."""
    from tensorflow import autograph

    @functools.wraps(call)
    def call_and_wrap(layer: Any, *args: Any, **kwargs: Any) -> Any:
        features = call(layer, *args, **kwargs)
        if not isinstance(features, dict):
            return features
        PATCHES["transform-pop"].check_names(layer, "_tft_output")
        wrapped = TransformedFeatures(features)
        outputs = layer._tft_output.transformed_feature_spec()
        wrapped.not_computed = frozenset(outputs) - frozenset(features)
        return wrapped

    unconverted: Callable[..., Any] = autograph.experimental.do_not_convert(call_and_wrap)
    return unconverted
