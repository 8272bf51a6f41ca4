# SPDX-License-Identifier: Apache-2.0
"""The EvalSavedModel: an Estimator's evaluation graph, as TFMA up to 0.46 reads it.

A SavedModel with the tag `eval`. Its signature `eval` names, besides the metrics and predictions,

    inputs/examples      the placeholder for serialized tf.Examples
    features/<name>      what was parsed from them; `labels`, or `labels/<name>`, too
    input_refs           for each row, the position of the example that it came from
    tfma/version         the version of TFMA whose layout this is

User modules reach these functions as `tfma.export`, under the names and arguments they have there.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping

__all__ = [
    "EvalInputReceiver",
    "build_parsing_eval_input_receiver_fn",
    "export_eval_savedmodel",
]

_LAYOUT = "0.46.0"


def EvalInputReceiver(
    *,
    features: Any,
    labels: Any,
    receiver_tensors: Mapping[str, Any],
    input_refs: Any = None,
    iterator_initializer: str | None = None,
) -> Any:
    """What an `eval_input_receiver_fn` returns: an input receiver whose tensors can be found again.

    `features` and `labels` are tensors, or dicts of them, computed from the only placeholder,
    `receiver_tensors["examples"]`. `labels` is None for a model without any. `input_refs` is needed
    where rows and examples do not correspond one to one, and with `iterator_initializer`, the name
    of an op to run before each batch.
    """
    import tensorflow as tf
    from tensorflow_estimator.python.estimator.export import export

    if list(receiver_tensors) != ["examples"]:
        raise ValueError(
            "EvalInputReceiver takes receiver_tensors={'examples': placeholder}, got the keys "
            f"{list(receiver_tensors)}."
        )
    if iterator_initializer and input_refs is None:
        raise ValueError("EvalInputReceiver(iterator_initializer=…) needs input_refs too.")
    if input_refs is None:
        input_refs = tf.range(tf.size(receiver_tensors["examples"]))
    tensors_by_name = {
        **_prefix_names("inputs", receiver_tensors),
        **_prefix_names("features", features),
        **({} if labels is None else _prefix_names("labels", labels)),
        "input_refs": input_refs,
        "tfma/version": tf.constant(_LAYOUT),
    }
    if iterator_initializer:
        tensors_by_name["iterator_initializer"] = tf.constant(iterator_initializer)
    # TFMA feeds the tensors of the signature; fed ones that the model itself reads would be
    # computed twice, so the model reads copies.
    features = tf.nest.map_structure(_copy, features)
    if labels is None:
        return export.UnsupervisedInputReceiver(features, tensors_by_name)
    return export.SupervisedInputReceiver(
        features, tf.nest.map_structure(_copy, labels), tensors_by_name
    )


def _copy(tensor: Any) -> Any:
    import tensorflow as tf

    if isinstance(tensor, tf.SparseTensor):  # which TensorFlow 1 would not copy as a whole
        parts = (tensor.indices, tensor.values, tensor.dense_shape)
        return tf.SparseTensor(*map(tf.identity, parts))
    return tf.identity(tensor)


def _prefix_names(prefix: str, tensors: Any) -> dict[str, Any]:
    if not isinstance(tensors, Mapping):
        return {prefix: tensors}
    return {f"{prefix}/{name}": tensor for name, tensor in tensors.items()}


def build_parsing_eval_input_receiver_fn(
    feature_spec: Mapping[str, Any], label_key: str | None
) -> Callable[[], Any]:
    """An `eval_input_receiver_fn` for a model whose features are those of the tf.Examples."""

    def eval_input_receiver_fn() -> Any:
        import tensorflow as tf

        examples = tf.compat.v1.placeholder(tf.string, [None], name="input_example_tensor")
        features = tf.io.parse_example(examples, dict(feature_spec))
        return EvalInputReceiver(
            features=features,
            labels=None if label_key is None else features[label_key],
            receiver_tensors={"examples": examples},
        )

    return eval_input_receiver_fn


def export_eval_savedmodel(
    *,
    estimator: Any,
    export_dir_base: str,
    eval_input_receiver_fn: Callable[[], Any],
    serving_input_receiver_fn: Callable[[], Any] | None = None,
    assets_extra: Mapping[str, str] | None = None,
    checkpoint_path: str | None = None,
) -> str:
    """Write an EvalSavedModel to a timestamped folder below `export_dir_base`; the folder."""
    import tensorflow as tf

    receivers = {tf.estimator.ModeKeys.EVAL: eval_input_receiver_fn}
    if serving_input_receiver_fn:
        receivers[tf.estimator.ModeKeys.PREDICT] = serving_input_receiver_fn
    folder = estimator.experimental_export_all_saved_models(
        export_dir_base,
        receivers,
        assets_extra=dict(assets_extra) if assets_extra else None,
        checkpoint_path=checkpoint_path,
    )
    return str(tf.compat.as_str_any(folder))
