"""Made-up packages, so that tests install without the network."""

from pathlib import Path

from tools import archive


def torch_index(folder: Path, version: str, requires: str = "") -> str:
    """Create an index with a made-up torch, which may depend on a package; return the index's URL.

    It can be imported, and has its version.
    """
    info, name = f"torch-{version}.dist-info", f"torch-{version}-py3-none-any.whl"
    metadata = f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n"
    files = {
        "torch.py": f"__version__ = '{version}'\n",
        f"{info}/METADATA": metadata + (f"Requires-Dist: {requires}\n" if requires else ""),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
    archive.write(folder / "torch" / name, {file: text.encode() for file, text in files.items()})
    link = f'<a href="{name.replace("+", "%2B")}">{name}</a>'
    (folder / "torch" / "index.html").write_text(link, encoding="utf-8")
    return folder.as_uri()
