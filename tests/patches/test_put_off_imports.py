# SPDX-License-Identifier: Apache-2.0
"""What a process for Transform and Trainer imports, and what it finds when it uses the rest."""

import subprocess
import sys
import textwrap

import pytest

USES = textwrap.dedent(
    """
    import sys
    from stoker.launchers.fork_server import prepare
    from stoker.task import ProcessNeeds

    prepare(ProcessNeeds(tensorflow=True, keras=3, preload=("stoker.transform.local_engine",)))
    put_off = {"apache_beam", "sklearn", "IPython", "googleapiclient.http", "scipy.ndimage"}
    assert "stoker.transform.local_engine" in sys.modules
    assert not put_off & sys.modules.keys(), put_off & sys.modules.keys()
    import threading
    assert threading.active_count() == 1

    import keras, tf_keras
    assert issubclass(tf_keras.preprocessing.image.DirectoryIterator, tf_keras.utils.Sequence)
    assert "scipy.ndimage" in sys.modules
    assert keras.saving.custom_object_scope is keras.saving.CustomObjectScope
    assert keras.saving.KerasFileEditor.__name__ == "KerasFileEditor"
    assert keras.wrappers.SKLearnClassifier.__name__ == "SKLearnClassifier"

    from tensorflow_transform import beam as tft_beam
    from stoker.transform.internals import DatasetKey
    import apache_beam
    assert issubclass(tft_beam.AnalyzeDataset, apache_beam.PTransform)
    assert tft_beam.analyzer_cache.DatasetKey("a") == DatasetKey("a")
    """
)


@pytest.mark.tf
def test_beam_scikit_learn_and_ipython_are_imported_when_they_are_used():
    pytest.importorskip("tensorflow_transform")
    subprocess.run([sys.executable, "-W", "ignore", "-c", USES], check=True)
