# SPDX-License-Identifier: Apache-2.0
"""What reads Avro files for FileBasedExampleGen."""

from stoker.components.example_gen.executor import AvroExecutor as Executor
