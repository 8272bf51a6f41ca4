# SPDX-License-Identifier: Apache-2.0
"""Steps that run in containers."""

from stoker.components.container import create_container_component
