# SPDX-License-Identifier: Apache-2.0
"""To be imported for its effect, by `tfx` and by the Evaluator: tfma.EvalConfig is there.

A pipeline file names it, and an installed TFMA may lack it.
"""

from stoker.stand_ins.tfma.names import provide_tfma

provide_tfma()
