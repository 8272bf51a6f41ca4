# SPDX-License-Identifier: Apache-2.0
"""What ImportExampleGen does in a worker."""

from stoker.components.example_gen.executor import ImportExecutor as Executor
