# SPDX-License-Identifier: Apache-2.0
"""Two processes train what one does: the same losses, one model."""

import json
from pathlib import Path

import pytest
import worker_modules
from training import served, train, write

from stoker.task import Workers

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("warm")]

MODULES = {"keras_2": worker_modules.KERAS_2, "keras_3": worker_modules.KERAS_3}
MODULES["loop"] = worker_modules.LOOP


@pytest.fixture(scope="module")
def trained(tmp_path_factory, penguins):
    """Every module, by one process and by two."""
    folder = tmp_path_factory.mktemp("workers")
    (folder / "notes").mkdir()
    trainers = {
        f"{name}_{how}": {
            "module_file": write(folder, name, text),
            "workers": workers,
            "check": how == "together",
            "custom_config": {"notes": str(folder / "notes"), "name": f"{name}_{how}"},
        }
        for name, text in MODULES.items()
        for how, workers in (("alone", None), ("together", Workers(2)))
    }
    return folder, train(folder, penguins, trainers, steps=20)


def losses(run, name):
    return json.loads(Path(run.outputs[name]["model_run"][0].uri, "losses.json").read_text())


@pytest.mark.slow
@pytest.mark.parametrize("name", MODULES)
def test_two_processes_train_what_one_does(trained, name):
    _, run = trained
    alone, together = (losses(run, f"{name}_{how}") for how in ("alone", "together"))
    assert len(alone) >= 10
    assert together == pytest.approx(alone, abs=1e-4)
    assert list(Path(served(run, f"{name}_together")).glob("saved_model.pb"))


@pytest.mark.slow
@pytest.mark.parametrize("name", MODULES)
def test_moving_statistics_are_the_same_in_what_every_process_exports(trained, name):
    folder, _ = trained
    chief, worker, alone = (
        json.loads((folder / "notes" / f"{name}_{who}").read_text())
        for who in ("together.chief", "together.worker", "alone.alone")
    )
    moving = [key for key in chief if "moving" in key]
    assert len(moving) >= 2
    assert chief == worker
    assert [chief[key] for key in moving] == pytest.approx(
        [alone[key] for key in moving if key in alone], rel=0.2, abs=0.2
    )


LOOPBACK = "0000000000000000FFFF00000100007F"
ON_LOOPBACK = f"Listening: {LOOPBACK}\n"


@pytest.mark.slow
@pytest.mark.parametrize("name", MODULES)
def test_its_servers_listen_on_loopback_alone(trained, name):
    _, run = trained
    model_run = Path(run.outputs[f"{name}_together"]["model_run"][0].uri)
    assert ON_LOOPBACK in (model_run / "log.txt").read_text()


@pytest.mark.slow
def test_parameter_servers_hold_what_two_workers_train(tmp_path, penguins, capfd):
    module_file = write(tmp_path, "served", worker_modules.SERVED)
    trainer = {"module_file": module_file, "workers": Workers(2, ps=1)}
    run = train(tmp_path, penguins, {"served": trainer}, steps=20)
    captured = capfd.readouterr()
    assert "The optimizer counts 20 steps." in captured.out
    assert ON_LOOPBACK in captured.out
    assert "every network interface" not in captured.err
    assert list(Path(served(run, "served")).glob("saved_model.pb"))


@pytest.mark.slow
def test_two_devices_of_one_process_train_what_one_does(tmp_path, penguins, capfd):
    train(tmp_path, penguins, worker_modules.MIRRORED, steps=20)
    log = capfd.readouterr().err
    assert log.count("Using MirroredStrategy with devices (") >= 2
    assert "CPU:1" in log
