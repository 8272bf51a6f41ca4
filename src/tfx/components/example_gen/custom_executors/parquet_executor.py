# SPDX-License-Identifier: Apache-2.0
"""What reads Parquet files for FileBasedExampleGen."""

from stoker.components.example_gen.executor import ParquetExecutor as Executor
