# SPDX-License-Identifier: Apache-2.0
"""ImportSchemaGen: a schema file in, a schema out."""
