# SPDX-License-Identifier: Apache-2.0
"""What a step asks of the machine that it runs on."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Resources", "parse_quantity"]

_UNITS: dict[str, float] = {
    **{unit: 1000 ** (power + 1) for power, unit in enumerate("kMGTPE")},
    **{f"{unit}i": 1024 ** (power + 1) for power, unit in enumerate("KMGTPE")},
    "ki": 1024,
    "m": 0.001,
    "": 1,
}
_QUANTITY = re.compile(r"\d+(\.\d+)?([EPTGMk]i?|m)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """Processors, memory and GPUs, as Kubernetes writes them: cpu="500m", memory="8Gi".

    On this machine they say which steps may run beside each other; a step takes what there is.
    """

    cpu: str | None = None
    memory: str | None = None
    gpus: int = 0
    gpu_type: str | None = None
    """As the cluster names it: nvidia.com/gpu, or NVIDIA_TESLA_T4 on Vertex AI."""
    node_selector: Mapping[str, str] = field(default_factory=dict)
    """The labels of the machines that will do."""

    def __post_init__(self) -> None:
        for name in ("cpu", "memory"):
            value = getattr(self, name)
            if isinstance(value, int | float) and not isinstance(value, bool):
                value = f"{value:g}"
                object.__setattr__(self, name, value)
            if value is not None and not (isinstance(value, str) and _QUANTITY.fullmatch(value)):
                raise ValueError(
                    f"with_resources({name}=…) takes a quantity of Kubernetes, such as "
                    f"{'4' if name == 'cpu' else '8Gi'!r}, got {value!r}."
                )
        if not isinstance(self.gpus, int) or self.gpus < 0:
            raise ValueError(f"with_resources(gpus=…) takes a whole number, got {self.gpus!r}.")


def parse_quantity(text: str) -> float:
    """A quantity of Kubernetes as a number."""
    number = re.match(r"[\d.]+", text)
    assert number
    return float(number[0]) * _UNITS[text[number.end() :]]
