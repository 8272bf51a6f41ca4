# SPDX-License-Identifier: Apache-2.0
"""Rewriter: a Model in, the same model in other formats out, each compared with it first."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from stoker import dsl
from stoker.any_python.layout import serving_model_dir, serving_model_path
from stoker.artifacts import Artifact, Examples, Model, get_split_uris
from stoker.models.rewriting.targets import TARGETS, check_targets, rewrite_all


class RewriterSpec(dsl.ComponentSpec):
    """The Rewriter's table; its outputs are the formats that were asked for."""

    INPUTS: ClassVar = {
        "model": dsl.ChannelParameter(type=Model),
        "examples": dsl.ChannelParameter(type=Examples, optional=True),
    }
    PARAMETERS: ClassVar = {
        "signature": dsl.ExecutionParameter(type=str, optional=True),
        "tolerance": dsl.ExecutionParameter(type=float, optional=True),
        "splits": dsl.ExecutionParameter(type=str),
    }


class Rewriter(dsl.BaseComponent):
    """Rewrites a model to the formats in `to`; each is an output, a Model of the format's name.

    The files are in `Format-Serving/`, where a Pusher finds them, with a `rewriting.json`.
    """

    SPEC_CLASS: ClassVar = RewriterSpec
    EXECUTOR_SPEC: ClassVar = dsl.ExecutorClassSpec("stoker.components.rewriter:Executor")
    BASE_TYPE: ClassVar = "TRANSFORM"
    USES_TENSORFLOW: ClassVar = True

    def __init__(
        self,
        model: dsl.Channel,
        to: Sequence[str],
        examples: dsl.Channel | None = None,
        *,
        signature: str | None = None,
        tolerance: float | None = None,
        splits: Sequence[str] = ("eval",),
        instance_name: str | None = None,
    ) -> None:
        """Declare the step.

        Args:
            model: The model to rewrite.
            to: The formats, by their names in `stoker.models.rewriting.targets.TARGETS`: "tflite",
                "tflite_int8", "tfjs", "onnx", …
            examples: What to compare the models on: raw examples if the model holds a transform
                graph. By default those that it was trained on, as they were before a Transform.
            signature: The signature to rewrite; `serving_default` by default.
            tolerance: How much the answers may differ, as a part of their largest value; each
                format has a default.
            splits: The splits of the examples to compare on.
            instance_name: An older way to name the step; `with_id` is today's.
        """
        formats = {name: dsl.ChannelParameter(type=Model) for name in check_targets(to)}
        table: type[RewriterSpec] = type("RewriterSpec", (RewriterSpec,), {"OUTPUTS": formats})
        spec = table.from_arguments(
            locals(),
            examples=examples or raw_examples(model),
            splits=json.dumps(list(splits)),
        )
        super().__init__(spec, instance_name=instance_name)

    def find_problems(self, parameters: dict[str, Any]) -> Iterator[dsl.Problem]:  # noqa: ARG002
        """That a format needs packages which are not installed."""
        for name in self.outputs:
            if missing := TARGETS[name].find_missing():
                yield dsl.Problem(text=f"for {name}, {missing}")


def raw_examples(channel: dsl.Channel) -> dsl.Channel | None:
    """The examples behind a model, or behind transformed examples, as they were at first."""
    before = channel.producer and channel.producer.inputs.get("examples")
    if not before:
        return channel if issubclass(channel.type, Examples) else None
    return raw_examples(before)


def eval_files(examples: Sequence[Artifact], splits: Sequence[str]) -> list[str] | None:
    """The folders of these splits; None without examples."""
    found = [uri for split in splits for uri in get_split_uris(examples, split)]
    return found or None


class Executor(dsl.BaseExecutor):
    """Writes one format after the other; if one fails, none is left."""

    def Do(
        self, input_dict: dsl.Artifacts, output_dict: dsl.Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        """Rewrite the model."""
        (model,) = input_dict["model"]
        splits = json.loads(exec_properties["splits"])
        files = eval_files(input_dict.get("examples") or [], splits)
        reports = rewrite_all(
            serving_model_path(model.uri),
            {name: serving_model_dir(artifact.uri) for name, (artifact,) in output_dict.items()},
            examples=files,
            signature=exec_properties.get("signature"),
            tolerance=exec_properties.get("tolerance"),
        )
        for name, report in reports.items():
            (artifact,) = output_dict[name]
            artifact.set_string_custom_property("model_type", report.format)
            artifact.set_json_value_custom_property("rewriting", {name: report.to_dict()})
