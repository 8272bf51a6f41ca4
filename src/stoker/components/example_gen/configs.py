# SPDX-License-Identifier: Apache-2.0
"""What an ExampleGen is asked for: the splits of its input, and those that it makes of them."""

from collections.abc import Mapping
from typing import Any

from google.protobuf import json_format

from stoker.any_python.layout import check_file_name
from stoker.dsl.executor import parse_message
from stoker.dsl.proto.example_gen_pb2 import Input, Output
from stoker.dsl.proto.range_config_pb2 import RangeConfig


def make_default_input_config(split_pattern: str = "*") -> Input:
    """All that matches is one split."""
    return Input(splits=[Input.Split(name="single_split", pattern=split_pattern)])


def make_default_output_config(input_config: Input | dict[str, Any]) -> Output:
    """Two parts train and one part eval, unless the input is split already."""
    splits = input_config["splits"] if isinstance(input_config, dict) else input_config.splits
    output = Output()
    if len(splits) <= 1:
        output.split_config.splits.add(name="train", hash_buckets=2)
        output.split_config.splits.add(name="eval", hash_buckets=1)
    return output


def name_output_splits(
    input_config: Input | dict[str, Any], output_config: Output | dict[str, Any]
) -> list[str]:
    """The names of the splits that will be written; a configuration that cannot be is an error."""
    given, wanted = _as_message(input_config, Input()), _as_message(output_config, Output())
    hashed = wanted.split_config.splits
    for split in given.splits:
        if not split.pattern or not (split.name or hashed):  # then nothing is named after it
            raise ValueError(f"Each input split needs a name and a pattern, got {split!r}.")
    if hashed and len(given.splits) != 1:
        raise ValueError(
            f"output_config splits one input, but input_config has {len(given.splits)} "
            "splits. Give one input split, or leave out output_config to keep them."
        )
    for bucket in hashed:
        if not bucket.name or not bucket.hash_buckets:
            raise ValueError(f"Each output split needs a name and hash_buckets, got {bucket!r}.")
    names = [split.name for split in hashed or given.splits]
    if not names or len(names) != len(set(names)):
        raise ValueError(f"An ExampleGen needs splits with different names, got {names}.")
    return [check_file_name(name, "The name of a split") for name in names]


def _as_message(config: Any, message: Any) -> Any:
    return json_format.ParseDict(config, message) if isinstance(config, dict) else config


def parse_configs(parameters: Mapping[str, Any]) -> tuple[Input, Output]:
    """The splits of the input and of the output, as a step was given them."""
    given = parse_message(parameters["input_config"], Input())
    return given, parse_message(parameters["output_config"], Output())


def parse_range(text: str | None) -> RangeConfig | None:
    """The range that a step was given as a parameter, if any."""
    return parse_message(text, RangeConfig()) if text else None
