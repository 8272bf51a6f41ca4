# SPDX-License-Identifier: Apache-2.0
"""Partial runs: some steps of a pipeline, on what an earlier run has published for the others.

LocalDagRunner().run(pipeline, run_options=RunOptions(from_nodes=["Trainer"]))
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from stoker.any_python.lines import did_you_mean
from stoker.dsl.component import Node


@dataclass(frozen=True, slots=True)
class PartialRun:
    """Which steps to run: those from these nodes on, up to those nodes. TFX calls it RunOptions."""

    from_nodes: Collection[str] | None = None
    """Where to begin; None is at every beginning."""
    to_nodes: Collection[str] | None = None
    """Where to end; None is at every end."""
    base_pipeline_run_id: str | None = None
    """The run whose outputs the other steps give; None is the last one in which each ended well."""

    def __post_init__(self) -> None:
        if not (self.from_nodes or self.to_nodes):
            raise ValueError(
                "RunOptions needs from_nodes, to_nodes or both; both are empty."
                " Name a step in one of them."
            )

    def choose(self, steps: Sequence[Node]) -> "Choice":
        """What to do with each of a pipeline's steps, which are in order."""
        ids = [step.id for step in steps]
        for name, given in (("from_nodes", self.from_nodes), ("to_nodes", self.to_nodes)):
            if unknown := sorted(set(given or ()) - set(ids)):
                raise ValueError(
                    f"RunOptions({name}=…): the pipeline has no step {unknown[0]!r}; it has "
                    f"{', '.join(ids)}.{did_you_mean(unknown[0], ids)}"
                )
        after = {step for step in steps if not self.from_nodes or step.id in self.from_nodes}
        for step in steps:
            if after.intersection(step.upstream_nodes):
                after.add(step)
        before = {step for step in steps if not self.to_nodes or step.id in self.to_nodes}
        for step in reversed(steps):
            if step in before:
                before.update(step.upstream_nodes)
        run = after & before
        needed = {producer for step in run for producer in step.producers} & set(steps) - run
        return Choice(run=run, reuse=needed, base_run_id=self.base_pipeline_run_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The steps that are run, and those whose earlier outputs these read."""

    run: Collection[Node]
    reuse: Collection[Node]
    base_run_id: str | None
