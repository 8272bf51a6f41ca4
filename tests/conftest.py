import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

# A shell starts background jobs with Ctrl-C ignored, and their children inherit that; the tests
# that press Ctrl-C need children that listen.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long one example takes says nothing about the code on a machine that has other things to do.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Unit tests need no TensorFlow: do not even import the files that are all about it."""
    if "not tf" not in config.option.markexpr or collection_path.suffix != ".py":
        return None
    return "\npytestmark = pytest.mark.tf\n" in collection_path.read_text() or None


@pytest.fixture(autouse=True)
def _environment_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Importing tensorflow_transform in one test sets this for all that come after it."""
    if "TF_USE_LEGACY_KERAS" not in _AT_START:
        monkeypatch.delenv("TF_USE_LEGACY_KERAS", raising=False)


_AT_START = dict(os.environ)
