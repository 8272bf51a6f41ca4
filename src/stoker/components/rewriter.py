# SPDX-License-Identifier: Apache-2.0
"""Rewriter: a Model in, the same model in other formats out, each compared with it first."""

import json
from collections.abc import Sequence
from typing import Any, ClassVar

from stoker.artifacts import Artifact, Examples, Model, get_split_uris
from stoker.dsl.channel import Channel
from stoker.dsl.component import (
    BaseComponent,
    ChannelParameter,
    ComponentSpec,
    ExecutionParameter,
)
from stoker.dsl.executor import BaseExecutor, ExecutorClassSpec
from stoker.models.rewriting.targets import check_targets, removed_on_failure, rewrite
from stoker.storage.layout import serving_model_dir, serving_model_path

__all__ = ["Executor", "Rewriter", "RewriterSpec", "eval_files", "raw_examples"]

Artifacts = dict[str, list[Artifact]]


class RewriterSpec(ComponentSpec):
    """The Rewriter's table; its outputs are the formats that were asked for."""

    INPUTS: ClassVar = {
        "model": ChannelParameter(type=Model),
        "examples": ChannelParameter(type=Examples, optional=True),
    }
    PARAMETERS: ClassVar = {
        "signature": ExecutionParameter(type=str, optional=True),
        "tolerance": ExecutionParameter(type=float, optional=True),
        "splits": ExecutionParameter(type=str),
    }


class Rewriter(BaseComponent):
    """Rewrites a model to the formats in `to`; each is an output, a Model of the format's name.

    They are names in `models.rewriting.targets.TARGETS`: "tflite", "tflite_int8", "tfjs", "onnx", …
    The files are in `Format-Serving/`, where a Pusher finds them, with a `rewriting.json`.

    The models are compared on the `splits` of `examples`, which should be the raw ones if the model
    holds a transform graph. Without `examples` those that the model was trained on are taken, as
    they were before a Transform. `signature` is what is rewritten, `serving_default` unless it is
    said; `tolerance` is how much the answers may differ, as a part of their largest value.
    """

    SPEC_CLASS: ClassVar = RewriterSpec
    EXECUTOR_SPEC: ClassVar = ExecutorClassSpec("stoker.components.rewriter:Executor")
    BASE_TYPE: ClassVar = "TRANSFORM"
    USES_TENSORFLOW: ClassVar = True

    def __init__(
        self,
        model: Channel,
        to: Sequence[str],
        examples: Channel | None = None,
        *,
        signature: str | None = None,
        tolerance: float | None = None,
        splits: Sequence[str] = ("eval",),
        instance_name: str | None = None,
    ) -> None:
        formats = {name: ChannelParameter(type=Model) for name in check_targets(to)}
        spec_class = type("RewriterSpec", (RewriterSpec,), {"OUTPUTS": formats})
        spec = spec_class(
            model=model,
            examples=examples or raw_examples(model),
            signature=signature,
            tolerance=tolerance,
            splits=json.dumps(list(splits)),
        )
        super().__init__(spec, instance_name=instance_name)


def raw_examples(channel: Channel) -> Channel | None:
    """The examples behind a model, or behind transformed examples, as they were at first."""
    before = channel.producer and channel.producer.inputs.get("examples")
    if not before:
        return channel if issubclass(channel.type, Examples) else None
    return raw_examples(before)


def eval_files(examples: Sequence[Artifact], splits: Sequence[str]) -> list[str] | None:
    """The folders of these splits; None without examples."""
    found = [uri for split in splits for uri in get_split_uris(examples, split)]
    return found or None


class Executor(BaseExecutor):
    """Writes one format after the other; if one fails, none is left."""

    def Do(
        self, input_dict: Artifacts, output_dict: Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        """Rewrite the model."""
        (model,) = input_dict["model"]
        splits = json.loads(exec_properties["splits"])
        files = eval_files(input_dict.get("examples") or [], splits)
        folders = [serving_model_dir(artifact.uri) for (artifact,) in output_dict.values()]
        with removed_on_failure(folders):
            for name, (artifact,) in output_dict.items():
                report = rewrite(
                    serving_model_path(model.uri),
                    name,
                    serving_model_dir(artifact.uri),
                    examples=files,
                    signature=exec_properties.get("signature"),
                    tolerance=exec_properties.get("tolerance"),
                )
                artifact.set_string_custom_property("model_type", report.format)
                artifact.set_json_value_custom_property("rewriting", {name: report.to_dict()})
                print(f"{name}: {report.summary()}")
