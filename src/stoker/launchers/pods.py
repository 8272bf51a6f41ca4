# SPDX-License-Identifier: Apache-2.0
"""Pods beside the one that this process is in: made, followed and removed through Kubernetes' API.

A pod knows its cluster by two variables and three files, which Kubernetes gives to each. The new
one has the volumes, the account and the machines of this one, so that paths mean the same in both;
it belongs to this one, and goes when it goes.
"""

import http.client
import json
import os
import secrets
import ssl
import sys
import time
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from stoker.errors import StepFailed

Record = dict[str, Any]
ACCOUNT_DIR = "/var/run/secrets/kubernetes.io/serviceaccount"
_LOOK_SECONDS = 1.0
_ANSWER_SECONDS = 60.0
ENDED = ("Succeeded", "Failed")
_HOPELESS = {
    *("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"),
    *("CreateContainerConfigError", "CreateContainerError", "RunContainerError"),
}
_OF_ONE_POD = {"emptyDir", "projected", "secret", "configMap", "downwardAPI", "name"}
"""What volumes are named by that no other pod sees the files of."""
_TAKEN_OVER = (
    *("serviceAccountName", "imagePullSecrets", "nodeSelector", "tolerations", "securityContext"),
)


class Refused(StepFailed):
    """The cluster did not do what it was asked for."""

    status = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """The API of the cluster that this process is in."""

    host: str
    port: int
    account_dir: str

    @classmethod
    def here(cls) -> Self | None:
        """The cluster, if this is a pod whose account may ask it for anything."""
        host = os.environ.get("KUBERNETES_SERVICE_HOST", "")
        if not (host and os.path.exists(os.path.join(ACCOUNT_DIR, "token"))):
            return None
        port = int(os.environ.get("KUBERNETES_SERVICE_PORT", "443"))
        return cls(host=host, port=port, account_dir=ACCOUNT_DIR)

    def _read(self, name: str) -> str:
        with open(os.path.join(self.account_dir, name), encoding="utf-8") as file:
            return file.read().strip()

    def open(
        self, method: str, pod: str = "", *, query: str = "", body: Record | None = None
    ) -> http.client.HTTPResponse:
        """Ask about a pod, or all; the token is read anew each time, since it is renewed."""
        context = ssl.create_default_context(cafile=os.path.join(self.account_dir, "ca.crt"))
        connection = http.client.HTTPSConnection(
            self.host, self.port, context=context, timeout=_ANSWER_SECONDS
        )
        namespace = urllib.parse.quote(self._read("namespace"))
        path = f"/api/v1/namespaces/{namespace}/pods{'/' if pod else ''}{pod}{query}"
        headers = {
            "Authorization": f"Bearer {self._read('token')}",
            "Content-Type": "application/json",
        }
        try:
            connection.request(method, path, json.dumps(body) if body else None, headers)
            answer = connection.getresponse()
        except OSError as error:
            raise Refused(f"the cluster at {self.host}:{self.port} is lost: {error}.") from error
        if answer.status >= 400:
            text = _find_message(answer.read())
            refused = Refused(f"the cluster refused {method} of pods with {answer.status}: {text}")
            refused.status = answer.status
            raise refused
        return answer

    def ask(self, method: str, pod: str = "", *, body: Record | None = None) -> Record:
        """The answer as a record."""
        with self.open(method, pod, body=body) as answer:
            record: Record = json.loads(answer.read())
            return record

    def remove(self, pod: str) -> None:
        """End a pod, if it is there."""
        try:
            self.ask("DELETE", pod)
        except Refused as refused:
            if refused.status != 404:
                raise


def _find_message(text: bytes) -> str:
    try:
        return str(json.loads(text)["message"])
    except (ValueError, KeyError, TypeError):
        return text.decode(errors="replace")[:200]


def run_pod(
    cluster: Cluster,
    *,
    image: str,
    command: Sequence[str],
    args: Sequence[str],
    folders: Sequence[str],
) -> int:
    """Run a container in a pod of its own, with its log in ours; gives its exit code.

    Each of `folders` has to be on a volume that this pod shares with others.
    """
    own = read_own_pod(cluster)
    manifest = make_manifest(own, image=image, command=command, args=args)
    refuse_unshared(manifest, folders)
    name = cluster.ask("POST", body=manifest)["metadata"]["name"]
    try:
        return _follow(cluster, name)
    finally:
        cluster.remove(name)


def read_own_pod(cluster: Cluster) -> Record:
    """The pod that this process is in: its name is that of its machine."""
    return cluster.ask("GET", os.environ.get("HOSTNAME", ""))


def make_manifest(
    own: Mapping[str, Any], *, image: str, command: Sequence[str], args: Sequence[str]
) -> Record:
    """A pod for a container that sees the volumes that the pod `own` shares with others."""
    spec = own["spec"]
    main = find_main(spec["containers"])
    volumes = [one for one in spec.get("volumes", ()) if one.keys() - _OF_ONE_POD]
    names = {one["name"] for one in volumes}
    mounts = [one for one in main.get("volumeMounts", ()) if one["name"] in names]
    container = {
        "name": "main",
        "image": image,
        "command": list(command),
        "args": list(args),
        "volumeMounts": mounts,
        "resources": main.get("resources", {}),
    }
    parent = own["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{parent['name'][:50].rstrip('-.')}-{secrets.token_hex(4)}",
            "annotations": {"sidecar.istio.io/inject": "false"},  # which would never end
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Pod", "name": parent["name"], "uid": parent["uid"]}
            ],
        },
        "spec": {
            **{key: spec[key] for key in _TAKEN_OVER if key in spec},
            "restartPolicy": "Never",
            "volumes": volumes,
            "containers": [{key: value for key, value in container.items() if value}],
        },
    }


def find_main(containers: Sequence[Record]) -> Record:
    """The container that this process is in: `main` in Kubeflow's pods, `base` in Airflow's."""
    return next((one for one in containers if one["name"] in ("main", "base")), containers[0])


def refuse_unshared(manifest: Record, folders: Sequence[str]) -> None:
    """Raise if there are folders that the pod would not see."""
    mounts = manifest["spec"]["containers"][0].get("volumeMounts", ())
    below = tuple(os.path.join(one["mountPath"], "") for one in mounts)
    for folder in folders:
        if not os.path.join(folder, "").startswith(below):
            raise StepFailed(
                f"{folder} is on no volume that other pods see, and the container is one. Put the "
                "pipeline root on a persistent volume that is mounted into the steps."
            )


def _follow(cluster: Cluster, name: str) -> int:
    """Print what the pod prints until it ends; gives the exit code of its container."""
    while (status := cluster.ask("GET", name)["status"]).get("phase") == "Pending":
        refuse_hopeless(status)
        time.sleep(_LOOK_SECONDS)
    _print_log(cluster, name)
    while (status := cluster.ask("GET", name)["status"]).get("phase") not in ENDED:
        time.sleep(_LOOK_SECONDS)
    if status["phase"] == "Succeeded":
        return 0
    ends = [
        one["state"]["terminated"]["exitCode"]
        for one in status.get("containerStatuses", ())
        if "terminated" in one.get("state", {})
    ]
    if not any(ends):
        raise Refused(f"its pod {name} was lost: {status.get('reason', 'it does not say why')}.")
    return int(max(ends))


def refuse_hopeless(status: Record) -> None:
    """Raise if a pod waits for what will not come, such as an image that is not there."""
    for one in status.get("containerStatuses", ()):
        waits = one.get("state", {}).get("waiting", {})
        if waits.get("reason") in _HOPELESS:
            raise Refused(f"its pod cannot start: {waits['reason']}: {waits.get('message', '')}")


def _print_log(cluster: Cluster, name: str) -> None:
    with cluster.open("GET", name, query="/log?follow=true") as log:
        try:
            while piece := log.read1(1 << 16):
                sys.stdout.write(piece.decode(errors="replace"))
                sys.stdout.flush()
        except TimeoutError:
            return  # it says nothing; how it ends is asked for
