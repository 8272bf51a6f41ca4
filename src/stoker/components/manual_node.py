# SPDX-License-Identifier: Apache-2.0
"""ManualNode: a person looks at something before the run goes on."""

from typing import Any, ClassVar

from stoker.dsl import Node


class ManualNode(Node):
    """Waits until a person says that something is done; what comes after it says so itself.

    look = ManualNode(description="Look at the evaluation before the model is pushed.")
    look.add_upstream_node(evaluator)
    look.add_downstream_node(pusher)
    """

    TYPE_NAME: ClassVar = "tfx.dsl.components.common.manual_node.ManualNode"

    def __init__(self, description: str) -> None:
        """Declare the step.

        Args:
            description: What the person is to do.
        """
        self.description = description
        super().__init__()

    @property
    def exec_properties(self) -> dict[str, Any]:  # noqa: D102
        return {"description": self.description}
