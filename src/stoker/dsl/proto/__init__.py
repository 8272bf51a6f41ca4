# SPDX-License-Identifier: Apache-2.0
"""The messages that configure steps: wire-compatible with TFX's, generated from the files here."""
