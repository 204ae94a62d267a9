"""A class that contains copies, for the tests of `similar`: generated code, made-up results."""

import io
import random
import zipfile
from pathlib import Path

import numpy as np
import torch

from benchmarks.copies import disguised
from benchmarks.independent import solution

NASTY = "</script><script>alert(1)</script> \u202e <b>&amp; {{ 7 * 7 }}"
PLACES = [f"City {i % 17}" for i in range(60)]
Files = dict[str, "str | bytes"]


def write(folder: Path, files: Files) -> None:
    """Write files to a folder that may not exist yet."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


def commented(files: dict[str, str], comment: str) -> dict[str, str]:
    """Return a solution with a comment in each region."""
    start = "### START CODE HERE ###\n"
    return {name: text.replace(start, f"{start}# {comment}\n") for name, text in files.items()}


def parameters(seed: int, near: int | None = None) -> dict[str, torch.Tensor]:
    """Return made-up parameters; `near` is the seed of those that they were finetuned from."""
    generator = torch.Generator().manual_seed(seed)
    made = {}
    for layer in range(4):
        for name, shape in (("weight", (32, 32)), ("bias", (32,))):
            made[f"blocks.{layer}.{name}"] = torch.randn(shape, generator=generator)
    made["blocks.0.attn.mask"] = torch.ones(4, 4)
    made["ln_f.weight"] = torch.ones(32)
    if near is not None:
        before = parameters(near)
        made = {name: before[name] + 0.05 * tensor for name, tensor in made.items()}
    return made


def saved(state: object) -> bytes:
    """Return a file written by torch.save."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    return buffer.getvalue()


def predicted(seed: int) -> list[str]:
    """Return answers; about half of them are wrong."""
    draw = random.Random(seed)
    return [place if draw.random() < 0.5 else f"City {draw.randrange(400)}" for place in PLACES]


def lines(answers: list[str]) -> str:
    return "".join(f"{answer}\n" for answer in answers)


def with_pickle(pickled: bytes) -> bytes:
    """Return a file like those of torch.save, with another pickle."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as writer:
        writer.writestr("archive/data.pkl", pickled)
        writer.writestr("archive/data/0", np.arange(1024, dtype="<f4").tobytes())
    return buffer.getvalue()


def results() -> Files:
    """Return the files of the reference's own training."""
    return {
        "synthesizer.finetune.params": saved(parameters(99)),
        "synthesizer.pretrain.dev.predictions": lines(predicted(99)),
    }


def make(source: Path) -> None:
    """Make a class in a folder: students 00 to 09 wrote their own code, the others copied."""
    for number in range(10):
        write(source / f"{number:02}", solution(number))
    write(source / "10-of-00", disguised(solution(0), "comments stripped", 0))
    write(source / "11-of-01", disguised(solution(1), "renamed", 0))
    write(source / "12-of-02", disguised(solution(2), "reordered", 0))
    for name in ("13-nasty", "14-nasty"):
        write(source / name, commented(solution(13), NASTY))
    for name, seed in (("03", 3), ("04", 4), ("05", 5)):
        file = saved(parameters(seed))
        write(source / name, {"vanilla.finetune.params": file})
        write(source / name, {"vanilla.pretrain.dev.predictions": lines(predicted(seed))})
    same = {f"module.{name}": tensor.double() for name, tensor in parameters(3).items()}
    write(source / "06", {"vanilla.finetune.params": saved({"state_dict": same})})
    write(source / "07", {"vanilla.finetune.params": saved(parameters(7, near=4))})
    write(source / "08", {"vanilla.finetune.params": b"no zip"})
    for name in ("01", "02"):  # the reference's own
        write(source / name, results())
    copied = [*predicted(5)[:50], *predicted(8)[50:]]
    write(source / "08", {"vanilla.pretrain.dev.predictions": lines(copied)})
    for name in ("06", "07"):
        write(source / name, {"vanilla.pretrain.dev.predictions": "City 1\n" * 60})
