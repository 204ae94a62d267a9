"""A class that contains copies, for the tests of `similar`: generated code, made-up results."""

import io
import random
from pathlib import Path

import torch

from submission.model import GPT, GPTConfig
from tests.classroom.disguises import HEADS, State, disguised
from tests.classroom.independent import solution

NASTY = "</script><script>alert(1)</script> \u202e <b>&amp; {{ 7 * 7 }}"
PLACES = [f"City {i % 17}" for i in range(60)]
COPIES = [f"{number}-of-05" for number in range(15, 24)]
CONFIG = GPTConfig(40, 16, n_layer=2, n_head=HEADS, n_embd=32)
Files = dict[str, "str | bytes"]


def write(folder: Path, files: Files) -> None:
    """Write files to a folder that may not exist yet."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


def without_comments(body: list[str]) -> list[str]:
    return [line for line in body if not line.lstrip().startswith("#")]


def reordered(body: list[str]) -> list[str]:
    """Swap each line with its neighbour; nothing parses the code."""
    code = without_comments(body)
    return [code[n ^ 1 if n ^ 1 < len(code) else n] for n in range(len(code))]


def commented(files: dict[str, str], comment: str) -> dict[str, str]:
    """Return a solution with a comment in each region."""
    start = "### START CODE HERE ###\n"
    return {name: text.replace(start, f"{start}# {comment}\n") for name, text in files.items()}


def parameters(seed: int) -> State:
    """Return made-up parameters of a GPT with 40 characters, 32 channels and two blocks."""
    torch.manual_seed(seed)
    state = GPT(CONFIG).state_dict()
    for name, tensor in state.items():
        noise, is_scale = torch.randn_like(tensor), "ln" in name and name.endswith("weight")
        if "mask" not in name:
            state[name] = noise.exp() if is_scale else tensor + 0.05 * noise
    return state


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


def results() -> Files:
    """Return the files of the reference's own training."""
    return {
        "synthesizer.finetune.params": saved(parameters(99)),
        "synthesizer.pretrain.dev.predictions": lines(predicted(99)),
    }


def make(source: Path) -> None:
    """Make a class in a folder: 00 to 09 wrote their own code, the others copied, nine from 05."""
    for number in range(10):
        write(source / f"{number:02}", solution(number))
    write(source / "10-of-00", solution(0, change=without_comments))
    write(source / "11-of-01", solution(1, "my_", without_comments))
    write(source / "12-of-02", solution(2, change=reordered))
    for name in ("13-nasty", "14-nasty"):  # a module only: axe looks at each mark of a pair's page
        module = "submission/dataset.py"
        write(source / name, commented({module: solution(13)[module]}, NASTY))
    for name in COPIES:
        write(source / name, solution(5))
    for name, seed in (("03", 3), ("04", 4), ("05", 5)):
        file = saved(parameters(seed))
        write(source / name, {"vanilla.finetune.params": file})
        write(source / name, {"vanilla.pretrain.dev.predictions": lines(predicted(seed))})
    # As pages and the staff's model store parameters: in float16.
    same = {f"module.{name}": t.half().double() for name, t in parameters(3).items()}
    write(source / "06", {"vanilla.finetune.params": saved({"state_dict": same})})
    write(source / "07", {"vanilla.finetune.params": saved(disguised(parameters(4), 7))})
    write(source / "08", {"vanilla.finetune.params": b"no zip"})
    write(source / "01", results())  # the reference's own
    rounded = {name: tensor.half() for name, tensor in parameters(99).items()}
    write(source / "02", results() | {"synthesizer.finetune.params": saved(rounded)})
    copied = [*predicted(5)[:50], *predicted(8)[50:]]
    write(source / "08", {"vanilla.pretrain.dev.predictions": lines(copied)})
    for name in ("06", "07"):
        write(source / name, {"vanilla.pretrain.dev.predictions": "City 1\n" * 60})
