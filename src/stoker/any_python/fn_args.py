# SPDX-License-Identifier: Apache-2.0
"""FnArgs and DataAccessor in another interpreter: the same fields as there are at home."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, NamedTuple

from . import dataset


class DataAccessor(NamedTuple):
    """Ways to read examples."""

    tf_dataset_factory: Callable[..., Any]
    record_batch_factory: Callable[..., Any]
    data_view_decode_fn: Callable[..., Any] | None = None


@dataclass
class FnArgs:
    """What the user's function is told; every field may be missing, and may be set."""

    working_dir: str | None = None
    train_files: list[str] | None = None
    eval_files: list[str] | None = None
    train_steps: int | None = None
    eval_steps: int | None = None
    schema_path: str | None = None
    schema_file: str | None = None
    transform_graph_path: str | None = None
    transform_output: str | None = None
    data_accessor: DataAccessor | None = None
    serving_model_dir: str | None = None
    eval_model_dir: str | None = None
    model_run_dir: str | None = None
    base_model: str | None = None
    base_models: list[str] | None = None
    hyperparameters: dict[str, Any] | None = None
    custom_config: dict[str, Any] | None = None
    num_examples: dict[str, int] | None = None
    checkpoint_dir: str | None = None


def make_fn_args(fields: dict[str, Any]) -> FnArgs:
    """FnArgs from what crossed the border, which a data accessor cannot."""
    accessor = DataAccessor(dataset.tf_dataset_factory, dataset.record_batch_factory)
    return FnArgs(data_accessor=accessor, **fields)
