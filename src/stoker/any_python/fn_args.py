# SPDX-License-Identifier: Apache-2.0
"""FnArgs: everything that a user's `run_fn` is told, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, NamedTuple

from .lines import did_you_mean

__all__ = ["DataAccessor", "FnArgs"]


class DataAccessor(NamedTuple):
    """Ways to read examples, whatever way they are stored."""

    tf_dataset_factory: Callable[..., Any]
    """(file_patterns, TensorFlowDatasetOptions, schema) to a tf.data.Dataset."""
    record_batch_factory: Callable[..., Any]
    """(file_patterns, RecordBatchesOptions, schema) to an iterator of Arrow record batches."""
    data_view_decode_fn: Callable[..., Any] | None = None


@dataclass
class FnArgs:
    """What `run_fn` is told; every field may be missing, and may be set."""

    working_dir: str | None = None
    train_files: list[str] | None = None
    """Patterns of the files to train on, one per artifact and split."""
    eval_files: list[str] | None = None
    train_steps: int | None = None
    """None if the pipeline names no number of steps."""
    eval_steps: int | None = None
    schema_path: str | None = None
    schema_file: str | None = None
    """The old name of `schema_path`."""
    transform_graph_path: str | None = None
    transform_output: str | None = None
    """The old name of `transform_graph_path`."""
    data_accessor: DataAccessor | None = None
    serving_model_dir: str | None = None
    eval_model_dir: str | None = None
    model_run_dir: str | None = None
    base_model: str | None = None
    base_models: list[str] | None = None
    """The old form of `base_model`: a list, empty if there is none."""
    hyperparameters: dict[str, Any] | None = None
    custom_config: dict[str, Any] | None = None
    num_examples: dict[str, int] | None = None
    """The number of examples by split, where statistics are given."""
    checkpoint_dir: str | None = None
    """The same directory whenever the same work is tried again; gone when it is published."""

    @property
    def warm_start_from(self) -> str | None:
        """The oldest name of `base_model`."""
        return self.base_model

    def __getattr__(self, name: str) -> Any:
        """Called for what is not there; whoever asks with `hasattr` hears no more than that."""
        if name.startswith("__"):
            raise AttributeError(name)
        known = self.__dataclass_fields__
        hint = did_you_mean(name, known) or f" It has {', '.join(known)}."
        raise AttributeError(f"fn_args has no {name!r}.{hint}")
