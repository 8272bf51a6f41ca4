# SPDX-License-Identifier: Apache-2.0
"""What an image is made of. Where there is a container engine, it is made."""

import importlib.metadata
import shutil
import subprocess

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from stoker.cli import image

pytestmark = pytest.mark.slow


def find_engine():
    for name in filter(shutil.which, ("docker", "podman")):
        if subprocess.run([name, "info"], capture_output=True).returncode == 0:
            return name
    return None


@pytest.fixture
def folder(here):
    for name in ("app/pipeline.py", "app/lib/features.py", "app/.env", "app/.git/config"):
        path = here / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n")
    (here / "app/root/.stoker").mkdir(parents=True)
    (here / "app/root/metadata.db").write_text("")
    (here / "app/env").mkdir()
    (here / "app/env/pyvenv.cfg").write_text("")
    (here / "stoker-9.9-py3-none-any.whl").write_text("wheel")
    return here


@pytest.fixture
def write_context(stoker, folder):
    def write(*words):
        wheel = f"--wheel={folder}/stoker-9.9-py3-none-any.whl"
        return stoker("image", "context", "app", wheel, *words)

    return write


def test_the_context_has_the_files_and_these_packages(write_context, folder):
    done = write_context()
    assert done.code == 0, done.err
    assert "image has 2 files" in done.out
    assert "Next: docker build -t IMAGE image" in done.out
    files = folder / "image" / "files"
    found = [str(path.relative_to(files)) for path in files.rglob("*") if path.is_file()]
    assert sorted(found) == ["lib/features.py", "pipeline.py"]
    requirements = (folder / "image/packages/requirements.txt").read_text().splitlines()
    assert f"click=={importlib.metadata.version('click')}" in requirements
    assert not [line for line in requirements if line.startswith("stoker==")]
    text = (folder / "image/Dockerfile").read_text()
    assert "requirements.txt ./stoker-9.9-py3-none-any.whl \\\n" in text
    assert "\nUSER pipeline\n" in text


def test_a_context_is_written_over_and_another_folder_is_not(write_context, folder):
    assert write_context().code == 0
    (folder / "app/more.py").write_text("")
    assert "has 3 files" in write_context().out
    refused = write_context("--out=app")
    assert refused.code == 2
    assert "holds something else" in refused.err
    assert (folder / "app/pipeline.py").exists()


def test_a_package_from_a_folder_needs_a_wheel(stoker, folder):
    refused = stoker("image", "context", "app")
    assert refused.code == 2
    assert "stoker is installed from a folder" in refused.err


def list_needed(name):
    """A package and all that it needs here, as an environment of its own would have them."""
    found, ahead = {}, [Requirement(name)]
    for asked in ahead:
        key = canonicalize_name(asked.name)
        if key in found and not asked.extras:
            continue
        found[key] = package = importlib.metadata.distribution(key)
        for wanted in map(Requirement, package.requires or ()):
            extras = {"", *asked.extras}
            if wanted.marker is None or any(wanted.marker.evaluate({"extra": x}) for x in extras):
                ahead.append(wanted)
    return found


def test_an_image_of_stoker_and_what_it_needs_is_small(capsys):
    """By the sizes of what is installed here: there is no engine to make it with."""
    packages = list_needed("stoker")
    sizes = {key: image._measure(one) for key, one in packages.items() if key != "libclang"}
    gigabytes = (sum(sizes.values()) + image._BASE_BYTES) / 1e9
    with capsys.disabled():
        print(f"\nan image of {len(sizes)} packages: about {gigabytes:.2f} GB")
    assert 1.5 < gigabytes < 2.5


@pytest.mark.envs
def test_the_image_is_built(write_context, folder):
    engine = find_engine()
    if engine is None:
        pytest.skip("no container engine is running here")
    assert write_context().code == 0
    (folder / "image/packages/requirements.txt").write_text("click\n")
    dockerfile = folder / "image/Dockerfile"
    text = dockerfile.read_text().replace(" ./stoker-9.9-py3-none-any.whl", "")
    dockerfile.write_text(text)
    subprocess.run([engine, "build", "image"], check=True)
