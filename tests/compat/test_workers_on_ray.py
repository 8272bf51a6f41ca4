# SPDX-License-Identifier: Apache-2.0
"""Two workers on Ray train what one process does: the same losses, one model."""

import json
from pathlib import Path

import pytest
import worker_modules
from training import served, train, write

from stoker.launchers.on_ray import OnRay
from stoker.task import Workers

pytestmark = [pytest.mark.tf, pytest.mark.slow]

MODULES = {
    "keras_2": worker_modules.KERAS_2_ONCE,
    "keras_3": worker_modules.KERAS_3_ONCE,
    "loop": worker_modules.LOOP,
}


@pytest.fixture(scope="module")
def trained(request, tmp_path_factory, penguins, kept_fork_servers):
    """Modules by name, trained by one process here, and by two on a Ray of our own."""
    ways = {"alone": (None, kept_fork_servers), "together": (Workers(2), OnRay())}
    runs = {}
    for how, (workers, launcher) in ways.items():
        folder = tmp_path_factory.mktemp(how)
        (folder / "notes").mkdir()
        trainers = {
            name: {
                "module_file": write(folder, name, MODULES[name]),
                "workers": workers,
                "check": workers is not None,
                "custom_config": {"notes": str(folder / "notes"), "name": name},
            }
            for name in request.param
        }
        runs[how] = train(folder, penguins, trainers, steps=20, launcher=launcher)
    return runs


def losses(run, name):
    return json.loads(Path(run.outputs[name]["model_run"][0].uri, "losses.json").read_text())


# What another module does differently happens in the processes: test_workers.py has them all.
@pytest.mark.parametrize(
    ("trained", "name"),
    [
        (("keras_2",), "keras_2"),
        pytest.param(("keras_3", "loop"), "keras_3", marks=pytest.mark.envs),
        pytest.param(("keras_3", "loop"), "loop", marks=pytest.mark.envs),
    ],
    indirect=["trained"],
)
def test_two_workers_on_ray_train_what_one_process_does(trained, name):
    alone, together = (losses(trained[how], name) for how in ("alone", "together"))
    assert len(alone) >= 8
    assert together == pytest.approx(alone, abs=1e-4)
    run = trained["together"]
    assert list(Path(served(run, name)).glob("saved_model.pb"))
    logs = Path(run.outputs[name]["model_run"][0].uri, "workers")
    assert {path.name for path in logs.iterdir()} == {"chief-0.log", "worker-0.log"}
