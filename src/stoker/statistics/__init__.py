# SPDX-License-Identifier: Apache-2.0
"""Statistics of examples, schemas, anomalies, drift."""
