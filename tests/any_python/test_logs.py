# SPDX-License-Identifier: Apache-2.0
"""Who is heard in a worker when a program asks for INFO."""

import logging

import pytest

from stoker.any_python.logs import hush_libraries


@pytest.mark.parametrize(
    ("file", "level", "heard"),
    [
        ("/home/me/module.py", logging.INFO, True),
        ("/env/site-packages/tf_keras/src/utils/io_utils.py", logging.INFO, True),
        ("/env/site-packages/tfx_bsl/tfxio/tensor_representation_util.py", logging.INFO, False),
        ("/env/site-packages/tensorflow/python/saved_model/save.py", logging.INFO, False),
        ("/env/site-packages/tensorflow/python/saved_model/save.py", logging.WARNING, True),
    ],
    ids=["the user", "model.summary for the user", "tfx_bsl", "TensorFlow", "a warning"],
)
def test_the_users_lines_are_heard_and_small_talk_is_not(monkeypatch, file, level, heard):
    from absl import logging as absl_logging

    logger = absl_logging.get_absl_logger()
    monkeypatch.setattr(logger, "filters", [])
    hush_libraries()
    record = logging.LogRecord("absl", level, file, 1, "words", (), None)
    assert bool(logger.filter(record)) is heard
