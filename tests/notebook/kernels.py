# SPDX-License-Identifier: Apache-2.0
"""A real kernel, driven cell by cell as a notebook drives it."""

from dataclasses import dataclass, field
from typing import Any

SECONDS = 60


@dataclass
class ArtifactView:
    """What a notebook shows below a cell that was run."""

    printed: dict[str, str] = field(default_factory=lambda: {"stdout": "", "stderr": ""})
    data: list[dict[str, Any]] = field(default_factory=list)
    error: str = ""

    @property
    def value(self) -> str:
        """The last thing that was displayed, as text."""
        return self.data[-1]["text/plain"]


class Kernel:
    """A kernel of this Python, started in a folder."""

    def __init__(self, folder):
        from jupyter_client.manager import start_new_kernel  # unit tests import this file too

        self._manager, self._client = start_new_kernel(
            kernel_name="python3", cwd=str(folder), startup_timeout=SECONDS
        )

    def run(self, code, interrupt_at=None):
        """Run a cell; interrupt the kernel when it has printed `interrupt_at`."""
        shown = ArtifactView()
        awaited = [interrupt_at] if interrupt_at else []

        def take(message):
            content = message["content"]
            match message["msg_type"]:
                case "stream":
                    shown.printed[content["name"]] += content["text"]
                    if awaited and awaited[0] in shown.printed["stdout"]:
                        awaited.clear()
                        self._manager.interrupt_kernel()
                case "execute_result" | "display_data":
                    shown.data.append(content["data"])
                case "error":
                    shown.error = "\n".join(content["traceback"])

        self._client.execute_interactive(code, output_hook=take, timeout=SECONDS)
        return shown

    def close(self):
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=False)
