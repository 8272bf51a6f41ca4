# SPDX-License-Identifier: Apache-2.0
"""SchemaGen: statistics in, a schema out."""
