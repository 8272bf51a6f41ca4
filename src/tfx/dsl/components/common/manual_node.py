# SPDX-License-Identifier: Apache-2.0
"""ManualNode: a person looks at something before the run goes on."""

from stoker.components.manual_node import ManualNode

DESCRIPTION_KEY = "description"
