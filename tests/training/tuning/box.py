# SPDX-License-Identifier: Apache-2.0
"""A tuner of a function instead of a model; `custom_config` says what its trials do."""

import os
import pathlib
import signal
import time

import keras_tuner
from tfx import v1 as tfx


class Box(keras_tuner.RandomSearch):
    def run_trial(self, trial, config):
        leave(config, "started", trial.trial_id)
        leave(config, "processes", os.getpid())
        time.sleep(config.get("seconds", 0))
        if trial.trial_id in config.get("fail", ()):
            raise ZeroDivisionError(f"no luck with trial {trial.trial_id}")
        if trial.trial_id in config.get("die", ()) and not happened(config, "died", trial):
            leave(config, "died", trial.trial_id)
            os.kill(os.getpid(), signal.SIGKILL)
        if config.get("note_sockets"):
            note_sockets(config)
        if config.get("forget_the_score"):
            return None
        leave(config, "ended", trial.trial_id)
        return (trial.hyperparameters.get("x") - 1) ** 2

    def on_trial_end(self, trial):
        if self.in_old_style:
            self.oracle.end_trial(trial_id=trial.trial_id, status=trial.status)
        else:
            super().on_trial_end(trial)


def leave(config, what, word):
    with open(os.path.join(config["log"], what), "a") as log:
        log.write(f"{word}\n")


def happened(config, what, trial):
    path = pathlib.Path(config["log"], what)
    return path.exists() and trial.trial_id in path.read_text().split()


def note_sockets(config):
    """The sockets of this machine, with the port of the oracle before them."""
    with open(os.path.join(config["log"], "sockets"), "w") as log:
        log.write(os.environ["KERASTUNER_ORACLE_PORT"])
        for file in ("/proc/net/tcp", "/proc/net/tcp6"):
            log.write("\n" + pathlib.Path(file).read_text().partition("\n")[2])


def tuner_fn(fn_args):
    config = fn_args.custom_config
    space = keras_tuner.HyperParameters()
    space.Float("x", -2.0, 2.0)
    space.Choice("kind", ["a", "b"])
    tuner = Box(
        hyperparameters=space,
        seed=3,
        directory=config.get("directory", fn_args.working_dir),
        project_name="box",
        **{"max_trials": 4, **config.get("arguments", {})},
    )
    tuner.in_old_style = config.get("in_old_style", False)
    return tfx.components.TunerFnResult(tuner=tuner, fit_kwargs={"config": config})
