"""Made-up packages, so that tests install without the network."""

import zipfile
from pathlib import Path


def wheel(folder: Path, name: str, version: str, files: dict[str, str], requires: str = "") -> Path:
    """Write a wheel with these files; it may depend on one package."""
    info, path = f"{name}-{version}.dist-info", folder / f"{name}-{version}-py3-none-any.whl"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    files = files | {
        f"{info}/METADATA": metadata + (f"Requires-Dist: {requires}\n" if requires else ""),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as writer:
        for file, text in files.items():
            entry = zipfile.ZipInfo(file)
            entry.external_attr = 0o100755 << 16  # for scripts
            writer.writestr(entry, text)
    return path


def torch_index(folder: Path, version: str, requires: str = "") -> str:
    """Create an index with a made-up torch, which can be imported; return the index's URL."""
    files = {"torch.py": f"__version__ = '{version}'\n"}
    name = wheel(folder / "torch", "torch", version, files, requires).name
    link = f'<a href="{name.replace("+", "%2B")}">{name}</a>'
    (folder / "torch" / "index.html").write_text(link, encoding="utf-8")
    return folder.as_uri()
