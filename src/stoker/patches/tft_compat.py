# SPDX-License-Identifier: Apache-2.0
"""Keeps older serving functions working in the worker with today's tensorflow-transform.

Serving code drops the label from what `transform_features_layer()` returns:

    transformed_features.pop(_transformed_name(_LABEL_KEY))

The layer leaves out whatever it cannot compute, and a request carries no label, so that line would
raise a KeyError.
"""

import functools
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import spec_from_file_location
from types import ModuleType
from typing import Any

__all__ = ["TransformedFeatures", "tolerate_pop"]

_MODULE = "tensorflow_transform.output_wrapper"


def tolerate_pop() -> None:
    """Let `pop` pass over transformed features that the layer could not compute.

    It takes effect when tensorflow_transform is imported, which this does not do; a second call
    changes nothing.
    """
    if loaded := sys.modules.get(_MODULE):
        _change_layer(loaded)
    elif not any(isinstance(finder, _LayerFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _LayerFinder())


class TransformedFeatures(dict[str, Any]):
    """Transformed features by name; those that could not be computed may be popped too."""

    not_computed: frozenset[str] = frozenset()

    def pop(self, key: str, *default: Any) -> Any:
        """The feature, taken out; None for one that could not be computed."""
        if key not in self and key in self.not_computed and not default:
            return None
        return super().pop(key, *default)


class _LayerFinder(MetaPathFinder):
    """Waits for the module that defines the layer."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _MODULE:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(fullname, path)
        if spec is None or spec.origin is None:
            return spec
        loader = _LayerLoader(fullname, spec.origin)
        return spec_from_file_location(fullname, spec.origin, loader=loader)


class _LayerLoader(SourceFileLoader):
    """Loads the module as ever, then changes its layer."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        _change_layer(module)


def _change_layer(module: ModuleType) -> None:
    layer = module.TransformFeaturesLayer
    if "__call__" not in vars(layer):
        layer.__call__ = _tolerant(layer.__call__)
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


def _tolerant(call: Callable[..., Any]) -> Callable[..., Any]:
    """The layer's `__call__`, its result wrapped."""
    from tensorflow import autograph

    @functools.wraps(call)
    def call_and_wrap(layer: Any, *args: Any, **kwargs: Any) -> Any:
        features = call(layer, *args, **kwargs)
        if not isinstance(features, dict):
            return features
        wrapped = TransformedFeatures(features)
        outputs = layer._tft_output.transformed_feature_spec()
        wrapped.not_computed = frozenset(outputs) - frozenset(features)
        return wrapped

    unconverted: Callable[..., Any] = autograph.experimental.do_not_convert(call_and_wrap)
    return unconverted
