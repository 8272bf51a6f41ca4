# SPDX-License-Identifier: Apache-2.0
"""SchemaGen as a pipeline sees it."""

from stoker.components.schema_gen import SchemaGen
