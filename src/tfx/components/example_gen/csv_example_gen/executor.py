# SPDX-License-Identifier: Apache-2.0
"""What CsvExampleGen does in a worker."""

from stoker.components.example_gen.executor import CsvExecutor as Executor
