# SPDX-License-Identifier: Apache-2.0
"""Makes FnArgs, which are all that a user's `run_fn` is told, from artifacts and parameters."""

import functools
import glob
import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stoker.any_python.fn_args import DataAccessor, FnArgs
from stoker.any_python.layout import (
    base_model_path,
    eval_model_dir,
    only_file,
    serving_model_dir,
)
from stoker.artifacts import Artifact, decode_split_names, get_split_uri, get_split_uris
from stoker.dsl.executor import parse_message
from stoker.dsl.proto.trainer_pb2 import EvalArgs, TrainArgs

__all__ = ["DataAccessor", "FnArgs", "get_common_fn_args", "get_trainer_fn_args"]

Inputs = Mapping[str, Sequence[Artifact]]


def get_common_fn_args(
    input_dict: Inputs,
    exec_properties: Mapping[str, Any],
    working_dir: str | None = None,
    *,
    columns_dir: str | None = None,
) -> FnArgs:
    """What training and tuning have in common: the data, its schema, and how long to train.

    In `columns_dir` the data accessor keeps the columns of examples that came without.
    """
    train_args = parse_message(exec_properties.get("train_args"), TrainArgs())
    eval_args = parse_message(exec_properties.get("eval_args"), EvalArgs())
    examples = input_dict["examples"]
    schema_path = _read_only_artifact(input_dict, "schema", only_file)
    transform_graph = _read_only_artifact(input_dict, "transform_graph", str)
    base_models = [base_model_path(model.uri) for model in input_dict.get("base_model") or ()]
    return FnArgs(
        working_dir=working_dir,
        train_files=_make_patterns(examples, train_args.splits or ["train"]),
        eval_files=_make_patterns(examples, eval_args.splits or ["eval"]),
        train_steps=train_args.num_steps or None,
        eval_steps=eval_args.num_steps or None,
        schema_path=schema_path,
        schema_file=schema_path,
        transform_graph_path=transform_graph,
        transform_output=transform_graph,
        data_accessor=_make_data_accessor(columns_dir),
        base_model=base_models[0] if base_models else None,
        base_models=base_models,
        hyperparameters=_read_only_artifact(input_dict, "hyperparameters", _read_hyperparameters),
        custom_config=_read_custom_config(exec_properties.get("custom_config")),
        num_examples=_read_only_artifact(input_dict, "statistics", str)
        and _count_examples(input_dict["statistics"]),
    )


def get_trainer_fn_args(
    inputs: Inputs,
    outputs: Inputs,
    parameters: Mapping[str, Any],
    *,
    working_dir: str,
    checkpoint_dir: str | None,
    columns_dir: str | None = None,
) -> FnArgs:
    """The FnArgs of a Trainer's function: the common ones, and where to write."""
    fn_args = get_common_fn_args(inputs, parameters, working_dir, columns_dir=columns_dir)
    (model,) = outputs["model"]
    fn_args.serving_model_dir = serving_model_dir(model.uri)
    fn_args.eval_model_dir = eval_model_dir(model.uri)
    fn_args.checkpoint_dir = checkpoint_dir
    if outputs.get("model_run"):
        fn_args.model_run_dir = outputs["model_run"][0].uri
    return fn_args


def _make_patterns(examples: Sequence[Artifact], splits: Sequence[str]) -> list[str]:
    folders = [uri for split in splits for uri in get_split_uris(examples, split)]
    return [os.path.join(glob.escape(folder), "*") for folder in folders]


def _read_only_artifact(input_dict: Inputs, key: str, read: Callable[[str], Any]) -> Any:
    """`read` of the only artifact under `key`; None if there is none."""
    artifacts = input_dict.get(key) or ()
    if len(artifacts) > 1:
        raise ValueError(f"{key!r} takes one artifact, got {[one.uri for one in artifacts]}.")
    return read(artifacts[0].uri) if artifacts else None


def _read_hyperparameters(uri: str) -> dict[str, Any]:
    path = only_file(uri) if os.path.isdir(uri) else uri
    with open(path, encoding="utf-8") as file:
        try:
            found = json.load(file)
        except (json.JSONDecodeError, RecursionError) as error:
            raise ValueError(
                f"The hyperparameters in {path} are not JSON: {error}."
                " Give a Tuner's best_hyperparameters."
            ) from error
    if not isinstance(found, dict):
        raise ValueError(
            f"The hyperparameters in {path} should be a JSON object, got {found!r}."
            " Give a Tuner's best_hyperparameters."
        )
    return found


def _read_custom_config(text: str | None) -> dict[str, Any]:
    config = json.loads(text or "null") or {}
    if not isinstance(config, dict):
        raise ValueError(f"custom_config should be a dict, got {type(config).__name__}.")
    return config


def _count_examples(statistics: Sequence[Artifact]) -> dict[str, int]:
    from stoker.statistics.compute import STATISTICS_FILE, read_statistics

    counts = {}
    for split in decode_split_names(str(statistics[0].properties.get("split_names", ""))):
        file = os.path.join(get_split_uri(statistics, split), STATISTICS_FILE)
        counts[split] = int(read_statistics(file).datasets[0].num_examples)
    return counts


def _make_data_accessor(cache_dir: str | None) -> DataAccessor:
    """Functions that can be sent to another process, and that know where to keep columns."""
    return DataAccessor(
        functools.partial(_tf_dataset_factory, cache_dir),
        functools.partial(_record_batch_factory, cache_dir),
    )


def _tf_dataset_factory(
    cache_dir: str | None, file_pattern: Any, options: Any, schema: Any = None, **more: Any
) -> Any:
    from stoker.data.accessor import tf_dataset_factory

    return tf_dataset_factory(file_pattern, options, schema, cache_dir=cache_dir, **more)


def _record_batch_factory(
    cache_dir: str | None, file_pattern: Any, options: Any, schema: Any = None
) -> Any:
    from stoker.data.accessor import record_batch_factory

    return record_batch_factory(file_pattern, options, schema, cache_dir=cache_dir)
