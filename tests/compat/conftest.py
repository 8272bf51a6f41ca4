import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).parent
REPOSITORY = HERE.parent.parent
sys.path.insert(0, str(HERE))  # for seed_blocks.py and training.py, here and in the workers


@pytest.fixture(scope="session")
def penguins():
    return str(REPOSITORY / "examples" / "penguin" / "data")
