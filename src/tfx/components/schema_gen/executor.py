# SPDX-License-Identifier: Apache-2.0
"""What SchemaGen does in a worker."""

from stoker.components.schema_gen import Executor
