# SPDX-License-Identifier: Apache-2.0
"""How a training that was stopped goes on."""
