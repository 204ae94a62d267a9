"""A wheel index with a made-up torch, so that tests install without the network."""

import zipfile
from pathlib import Path


def torch_index(folder: Path, version: str, requires: str = "") -> str:
    """Create an index with a made-up torch, which can be imported.

    Args:
        folder: where to make it.
        version: torch's.
        requires: a package that it depends on, which no index has.

    Returns:
        the index's URL.
    """
    torch = folder / "torch"
    torch.mkdir(parents=True)
    info = f"torch-{version}.dist-info"
    name = f"torch-{version}-py3-none-any.whl"
    metadata = f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n"
    with zipfile.ZipFile(torch / name, "w") as wheel:
        wheel.writestr("torch.py", f"__version__ = '{version}'\n")
        dependency = f"Requires-Dist: {requires}\n" if requires else ""
        wheel.writestr(f"{info}/METADATA", metadata + dependency)
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    link = name.replace("+", "%2B")
    (torch / "index.html").write_text(f'<a href="{link}">{name}</a>', encoding="utf-8")
    return folder.as_uri()
