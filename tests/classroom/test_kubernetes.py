"""docs/kubernetes: what the containers run grades a class, and submissions can't read secrets."""

import re

import pytest
import yaml

from tests.classroom.clusters import free_port
from tests.classroom.graded import table
from tests.classroom.tiny import needs_root
from tests.project import ROOT

FOLDER = ROOT / "docs" / "kubernetes"
CORES = 16  # the manifest's example


@pytest.fixture(scope="module")
def pods() -> dict[str, dict]:
    """Return the specs of pods by the names of their deployments."""
    text = (FOLDER / "cluster.yaml").read_text(encoding="utf-8")
    found = {(one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all(text)}
    service = found.pop(("Service", "grader-scheduler"))
    assert service["spec"]["type"] == "ClusterIP"
    labels = {
        one["metadata"]["name"]: one["spec"]["template"]["metadata"]["labels"]
        for one in found.values()
    }
    assert labels["grader-scheduler"] == service["spec"]["selector"]
    for (kind, name), one in found.items():
        assert kind == "Deployment"
        assert one["spec"]["selector"]["matchLabels"] == labels[name]
    return {name: one["spec"]["template"]["spec"] for (_, name), one in found.items()}


def test_only_root_can_read_the_certificates_and_no_pod_has_a_token_for_the_api(pods):
    for pod in pods.values():
        assert pod["automountServiceAccountToken"] is False
        (volume,) = pod["volumes"]
        assert volume["secret"] == {"secretName": "grader-certificates", "defaultMode": 0o400}
        (container,) = pod["containers"]
        (mount,) = container["volumeMounts"]
        assert mount["name"] == volume["name"] and mount["readOnly"]
        assert container["workingDir"] == mount["mountPath"]
        assert container["env"] == [{"name": "DASK_CONFIG", "value": "dask.yaml"}]
        assert container["securityContext"] == {"runAsUser": 0}  # the runtime's own capabilities


def test_the_image_gets_files_that_exist():
    text = (FOLDER / "Dockerfile").read_text(encoding="utf-8")
    copied = re.search(r"^COPY (.*) /packages/$", text, re.M)[1].split()
    files = {path.name for pattern in copied for path in ROOT.glob(pattern)}
    used = set(re.findall(r"/packages/(\S+)", text))
    assert used == {"requirements-class.txt", "constraints.txt"} and used < files
    for name in files - {"constraints.txt"}:  # what they include is there, too
        included = re.findall(r"^-r (\S+)", (ROOT / name).read_text(encoding="utf-8"), re.M)
        assert set(included) <= files


@pytest.mark.long
@needs_root
def test_the_commands_of_the_containers_grade_a_class(
    pods, eight, undisturbed, graded, start, certificates, tmp_path
):
    port, mounted = str(free_port()), sorted(certificates.iterdir())
    for name, pod in pods.items():
        (container,) = pod["containers"]
        program, *words = container["command"] + container["args"]
        assert program == "dask"
        if name == "grader-worker":
            assert str(CORES) == container["resources"]["requests"]["cpu"]
            words[words.index("--nworkers") + 1] = "2"
        # The service's name and port are those of this cluster.
        words = [
            re.sub("grader-scheduler|8786", lambda m: {"8786": port}.get(m[0], "127.0.0.1"), w)
            for w in words
        ]
        start(*words)
    words = ("--scheduler", f"tls://127.0.0.1:{port}", "--certificates", certificates)
    code, output = graded(eight, tmp_path / "class", *words)
    assert code == 0, output
    assert table(tmp_path / "class") == undisturbed
    assert sorted(certificates.iterdir()) == mounted  # which is read-only there
