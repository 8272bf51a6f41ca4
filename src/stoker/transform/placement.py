# SPDX-License-Identifier: Apache-2.0
"""Where a Transform runs: on this machine's own engine, or on Apache Beam."""

from collections.abc import Sequence
from dataclasses import dataclass

from stoker.any_python.forking import num_cpus
from stoker.dsl.beam import parse_flags

_BYTES_PER_PROCESS = 4 << 20  # below this, a second process costs more than it saves


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where, and why."""

    on_beam: bool = False
    num_workers: int = 1
    reason: str

    def explain(self, where: str) -> str:
        """What is done, and why; `where` is the pool, which Beam has no use for."""
        return f"runs {'on Apache Beam' if self.on_beam else where}, because {self.reason}"


def choose_placement(
    beam_pipeline_args: Sequence[str], num_bytes: int, *, beam_only: Sequence[str] = ()
) -> Placement:
    """Beam for a `--runner` that is no direct one, and for the analyzers in `beam_only`.

    A direct runner means this machine, and so does no runner; `--direct_num_workers` says how many
    processes, 0 for one per core. FnApiRunner and PrismRunner are parts of Beam: whoever names one
    of them gets Beam, though it will run on this machine.
    """
    flags = parse_flags(beam_pipeline_args)
    runner, num_workers = flags.runner, flags.direct_num_workers
    if flags.names_a_runner:
        return Placement(on_beam=True, reason=f"beam_pipeline_args say --runner={runner}")
    if beam_only:
        return Placement(
            on_beam=True,
            reason=f"preprocessing_fn has a PTransform of your own ({', '.join(beam_only)})",
        )
    if num_workers is not None:
        return Placement(
            num_workers=num_workers or num_cpus(),
            reason=f"beam_pipeline_args say --direct_num_workers={num_workers}",
        )
    return Placement(
        num_workers=min(num_cpus(), 1 + num_bytes // _BYTES_PER_PROCESS),
        reason=f"beam_pipeline_args say --runner={runner}" if runner else "no Beam runner is named",
    )
