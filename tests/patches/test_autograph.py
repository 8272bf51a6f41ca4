# SPDX-License-Identifier: Apache-2.0
"""Libraries that AutoGraph calls as they are, while it goes on rewriting the user's own code."""

import subprocess
import sys
import textwrap

import pytest

CODE = textwrap.dedent(
    """
    import tensorflow as tf
    from stoker.patches.tensorflow import spare_autograph
    spare_autograph()
    spare_autograph()
    from tensorflow.python.autograph.core import config
    from tensorflow.python.autograph.impl import conversion
    import tensorflow_transform as tft
    from tensorflow_transform.tf_metadata import schema_utils

    assert conversion.is_allowlisted(tft.TFTransformOutput.raw_feature_spec)
    assert conversion.is_allowlisted(schema_utils.schema_as_feature_spec)
    assert sum(str(rule).count("tfx_bsl") for rule in config.CONVERSION_RULES) == 1

    @tf.function
    def users_own(x):
        if x > 0:
            return x * 2
        return -x

    assert users_own(tf.constant(3)) == 6
    assert users_own(tf.constant(-3)) == 3
    """
)


@pytest.mark.tf
def test_a_feature_spec_is_read_as_it_is_and_the_users_code_is_still_rewritten(tmp_path):
    pytest.importorskip("tensorflow_transform")
    file = tmp_path / "uses_it.py"  # AutoGraph reads the source of what it rewrites
    file.write_text(CODE)
    subprocess.run([sys.executable, "-W", "ignore", str(file)], check=True)
