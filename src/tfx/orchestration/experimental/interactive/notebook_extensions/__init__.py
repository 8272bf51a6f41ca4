# SPDX-License-Identifier: Apache-2.0
"""Extensions of IPython."""
