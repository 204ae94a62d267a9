"""docs/kubernetes: what the containers run grades a class, and submissions can't read secrets."""

import re

import pytest
import yaml

from tests.classroom.graded import table
from tests.classroom.tiny import needs_root
from tests.project import ROOT

FOLDER = ROOT / "docs" / "kubernetes"
CORES = 16  # the manifest's example


@pytest.fixture(scope="module")
def pods() -> dict[str, dict]:
    """Return the specs of pods by the names of their deployments."""
    text, found = (FOLDER / "cluster.yaml").read_text(encoding="utf-8"), {}
    service, *deployments = (one["spec"] | one["metadata"] for one in yaml.safe_load_all(text))
    assert service["type"] == "ClusterIP" and service["selector"] == {"app": service["name"]}
    for one in deployments:
        labels = one["template"]["metadata"]["labels"]
        assert one["selector"]["matchLabels"] == labels == {"app": one["name"]}
        found[one["name"]] = one["template"]["spec"]
    assert service["name"] in found
    return found


def test_only_root_can_read_the_certificates_and_no_pod_has_a_token_for_the_api(pods):
    for pod in pods.values():
        assert pod["automountServiceAccountToken"] is False
        (volume,), (container,) = pod["volumes"], pod["containers"]
        assert volume["secret"] == {"secretName": "grader-certificates", "defaultMode": 0o400}
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
    pods, six, undisturbed, graded, dask, certificates, tmp_path
):
    mounted = sorted(certificates.iterdir())
    # The service's name and port are those of this cluster.
    here = {"grader-scheduler": "127.0.0.1", "8786": str(dask.port)}
    for name, pod in pods.items():
        (container,) = pod["containers"]
        program, *words = container["command"] + container["args"]
        assert program == "dask"
        if name == "grader-worker":
            assert str(CORES) == container["resources"]["requests"]["cpu"]
            words[words.index("--nworkers") + 1] = "2"
        words = [re.sub("|".join(here), lambda match: here[match[0]], word) for word in words]
        dask.start(*words)
    code, output = graded(six, tmp_path / "class", *dask.words)
    assert code == 0, output
    assert table(tmp_path / "class") == undisturbed
    assert sorted(certificates.iterdir()) == mounted  # which is read-only there
