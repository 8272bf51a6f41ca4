# SPDX-License-Identifier: Apache-2.0
"""ExampleValidator: statistics and a schema in, anomalies out."""
