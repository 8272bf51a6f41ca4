# SPDX-License-Identifier: Apache-2.0
"""ExampleGens: files in, examples out."""
