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
    PATCHES["transform-names"].check_version()
    name = f"{package.__name__}.dataset_schema"
    module = ModuleType(name, "What schema_utils was called before tensorflow-transform 0.14.")

    def from_feature_spec(feature_spec: Any, domains: Any = None) -> Any:
        """The schema that a feature spec says."""
        from tensorflow_transform.tf_metadata import schema_utils

        return schema_utils.schema_from_feature_spec(feature_spec, domains)

    vars(module)["from_feature_spec"] = from_feature_spec
    vars(package)["dataset_schema"] = sys.modules[name] = module


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
