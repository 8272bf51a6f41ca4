import os
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))  # for rewritten_models.py
# The environment for TensorFlow.js is made once, for all tests and for all runs of them.
os.environ.setdefault("STOKER_HOME", str(HERE.parents[2] / ".envs"))
