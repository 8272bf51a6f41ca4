# SPDX-License-Identifier: Apache-2.0
"""Models as TFMA's calls hand them around, where TFMA is not installed."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from stoker.dsl.proto.eval_config_pb2 import EvalConfig

_BASELINE = "baseline"


class ModelLoader:
    """Loads a model that is not TensorFlow's, once."""

    def __init__(self, construct_fn: Callable[[], Any], tags: Any = None) -> None:
        self.construct_fn = construct_fn
        self.tags = tags

    def load(self, model_load_time_callback: Any = None) -> Any:  # noqa: ARG002
        """The model."""
        return self.construct_fn()


class EvalSharedModel(NamedTuple):
    """A model to evaluate."""

    model_path: str | None = None
    add_metrics_callbacks: Any = None
    include_default_metrics: bool = True
    example_weight_key: Any = None
    additional_fetches: Any = None
    model_loader: ModelLoader | None = None
    model_name: str = ""
    model_type: str = ""
    rubber_stamp: bool = False
    is_baseline: bool = False
    resource_hints: Any = None
    backend_config: Any = None


MaybeMultipleEvalSharedModels = (
    EvalSharedModel | Sequence[EvalSharedModel] | Mapping[str, EvalSharedModel] | None
)


def default_eval_shared_model(
    eval_saved_model_path: str,
    add_metrics_callbacks: Any = None,
    include_default_metrics: bool = True,
    example_weight_key: Any = None,
    additional_fetches: Any = None,
    blacklist_feature_fetches: Any = None,  # noqa: ARG001
    tags: Any = None,  # noqa: ARG001
    model_name: str = "",
    eval_config: EvalConfig | None = None,
    custom_model_loader: ModelLoader | None = None,
    rubber_stamp: bool = False,
    model_type: str = "",
    is_baseline: bool = False,
    **_: Any,
) -> EvalSharedModel:
    """A model in a folder; the eval_config of `run_model_analysis` says how it is called."""
    specs = (
        [one for one in eval_config.model_specs if one.name == model_name] if eval_config else []
    )
    return EvalSharedModel(
        model_path=os.fspath(eval_saved_model_path),
        add_metrics_callbacks=add_metrics_callbacks,
        include_default_metrics=include_default_metrics,
        example_weight_key=example_weight_key,
        additional_fetches=additional_fetches,
        model_loader=custom_model_loader,
        model_name=model_name,
        model_type=model_type or next((one.model_type for one in specs), ""),
        rubber_stamp=rubber_stamp,
        is_baseline=is_baseline or model_name == _BASELINE or any(one.is_baseline for one in specs),
    )


def verify_and_update_eval_shared_models(
    eval_shared_model: Any,
) -> list[EvalSharedModel] | None:
    """One model, a list, or a dict by name, as a list; one alone has no name."""
    if not eval_shared_model:
        return None
    if isinstance(eval_shared_model, Mapping):
        for name, model in eval_shared_model.items():
            if name and model.model_name and name != model.model_name:
                raise ValueError(
                    f"The model under the name {name!r} is {model.model_name!r}."
                    " Give both the same name."
                )
        models = [one._replace(model_name=name) for name, one in eval_shared_model.items()]
    elif isinstance(eval_shared_model, EvalSharedModel):
        models = [eval_shared_model]
    else:
        models = list(eval_shared_model)
    if len(models) == 1:
        return [models[0]._replace(model_name="")]
    if not all(one.model_name for one in models):
        raise ValueError("Of several models, each needs a model_name.")
    return models
