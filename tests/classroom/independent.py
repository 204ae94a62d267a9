"""Generate solutions that are not copied: each step, name and comment is drawn independently.

    solution(seed) -> {"submission/dataset.py": "...", ...}

A solution is drawn from a grammar, `independent.txt`: each question is a list of steps, each step
can be written in several right and some wrong ways, and each variable has several possible names.
Authors who write comments do so in one of several styles. Similar solutions arise only by chance,
as among students.
"""

from __future__ import annotations

import random
import re
import textwrap
from collections.abc import Callable
from functools import cache
from pathlib import Path

import grading
from tools.regions import find_regions

# Possible names of variables: `$doc` in a step becomes a name of `doc`, the same in all steps.
NAMES = {
    "doc": "doc document text line sentence example raw s content sample entry original",
    "limit": "limit max_len longest upper max_length hi cap maximum block_limit most",
    "length": "length trunc_len n L new_len t_len size cut target_len trunc_length num_chars",
    "short": "truncated trunc short piece chunk t truncated_doc clipped doc_trunc shortened",
    "span": "span mask_len span_len m masked_len width k mask_size hole num_masked content_len",
    "start": "start begin mask_start pos i left start_idx offset p first position lo",
    "stop": "end stop mask_end right j end_idx finish q after hi_idx last",
    "prefix": "prefix before pre head first_part left_part start_text a beginning",
    "middle": "masked_content masked middle content mid hidden removed target span_text b inner",
    "suffix": "suffix rest tail post after_text right_part ending remainder c last_part",
    "mask": "mask MASK m_char mask_char sep mask_token special msk",
    "joined": "masked_string joined result out corrupted string full combined rearranged new_s",
    "pad": "padded final padding_added filled full_string with_pad masked_string out_str complete",
    "inputs": "x_str inp x_text input_string inputs source xs in_chars",
    "outputs": "y_str out_text y_text output_string outputs targets ys out_chars",
    "x": "x x_tensor input_ids x_ids inp_tensor",
    "y": "y y_tensor output_ids y_ids target_ids labels",
    "ids": "ids encoded indices tokens idxs codes token_ids numbers",
    "ch": "ch c char token letter u",
    "hs": "hs head_size d_k head_dim hd dim_per_head d",
    "nh": "nh heads n_h num_heads H h",
    "hid": "hidden h1 relu_out act z a1 activated first_layer XA proj_a hid u",
    "val": "v V values value_heads vals val v_out",
    "sc": "scores att attn_scores logits e S att_scores raw_scores energy weights_raw",
    "w": "att weights probs attn alpha p A att_weights softmaxed attention",
    "out": "y out output o context heads_out mixed result ctx",
    "causal": "causal tri m mask_t causal_mask keep visible",
    "count": "count total n num size number amount",
}
LEADS = "compute get make build create take now first then here finally next we let's".split()
SUBJECTS = {
    "truncate": "truncated document,random length,prefix of the doc,cut the text,number of chars",
    "mask": "masked content,span to hide,random span,what gets masked,a quarter on average",
    "join": "all together,final string,rearranged doc,prefix and suffix,padding up to a block",
    "encode": "encode chars,tensor of ids,stoi lookup,x and y,shifted by one",
    "heads": "split into heads,reshape per head,head dim,move heads forward,batch and time dims",
    "score": "attention scores,relu then second layer,bias per column,first linear map,synthesized",
    "mix": "causal mask,softmax over keys,weighted sum,dropout on attention,combine values",
    "merge": "merge heads,output projection,side by side,back to B T C,residual dropout",
}

# The probability that a step is written in a wrong way, if it has one.
WRONG = 0.15
USE = re.compile(r"\$(\w+)")
GRAMMAR = Path(__file__).with_suffix(".txt")
Place = tuple[str, str, str]
Step = tuple[str, list[str]]


@cache
def grammar() -> dict[Place, list[Step]]:
    """Return the steps of each question, in order; wrong ways start with `!`."""
    questions: dict[Place, list[Step]] = {}
    for line in GRAMMAR.read_text(encoding="utf-8").splitlines():
        head, text = line[:3], line[3:]
        if head == "== ":
            file, function, topic = text.split(", ")
            steps = questions.setdefault((file, function, topic), [])
        elif head == "-- ":
            steps.append((text, []))
        elif line and not line.startswith("#"):
            steps[-1][1].append(line.replace("\\n", "\n"))
    return questions


class Author:
    """An author with habits: names of variables, and the frequency of comments."""

    def __init__(self, seed: int, prefix: str) -> None:
        self.random = random.Random(f"independent {seed}")
        choice = self.random.choice
        self.names = {key: prefix + choice(names.split()) for key, names in NAMES.items()}
        self.comments = self.random.choice([0.0, 0.0, 0.2, 0.5, 0.8])
        self.quote = self.random.choice(["'", '"'])

    def writes(self, steps: list[Step]) -> str:
        """Return the body of a function, without indentation."""
        used: dict[str, str] = {}
        lines = []
        for subject, ways in steps:
            right = [way for way in ways if not way.startswith("!")]
            wrong = [way[1:] for way in ways if way.startswith("!")]
            way = self.random.choice(wrong if wrong and self.random.random() < WRONG else right)
            if self.random.random() < self.comments:
                lines.append(f"# {self.remark(subject)}")
            lines.append(USE.sub(lambda match: self.name(match[1], used), way))
        text = "\n".join(lines)
        return (text.replace("'", self.quote) if "f'" not in text else text) + "\n"

    def name(self, key: str, used: dict[str, str]) -> str:
        """Return a variable's name; names within a function are distinct."""
        if key not in used:
            free = [self.names[key], *NAMES[key].split()]
            used[key] = next((n for n in free if n not in used.values()), f"{key}_{len(used)}")
        return used[key]

    def remark(self, subject: str) -> str:
        """Return a comment in the author's words."""
        draw = self.random
        about = draw.sample(SUBJECTS[subject].split(","), draw.choice([1, 1, 2]))
        text = draw.choice([", ".join(about), f"{draw.choice(LEADS)} {' and '.join(about)}"])
        return draw.choice([text, text.capitalize(), f"{text} (see handout)", f"{text}."])


def solution(
    seed: int, prefix: str = "", change: Callable[[list[str]], list[str]] = list
) -> dict[str, str]:
    """Return an author's submission: the modules' texts by name.

    Args:
        prefix: of all names of variables, for a copy.
        change: what happens to the lines of each body, for a copy.
    """
    author = Author(seed, prefix)
    written = {place: author.writes(steps).split("\n") for place, steps in grammar().items()}
    bodies = {place: "\n".join(change(lines)) for place, lines in written.items()}
    starter = sorted((grading.ROOT / "src" / "submission").glob("*.py"))
    return {f"submission/{path.name}": _with_bodies(path, bodies) for path in starter}


def _with_bodies(path: Path, bodies: dict[Place, str]) -> str:
    text = path.read_text(encoding="utf-8")
    lines = text.split("\n")
    for region in reversed(find_regions(text, path.name)):
        above = lines[: region.start - 1]
        topic = above[-1].strip()[3:-1]
        found = (re.match(r"\s*def (\w+)", line) for line in reversed(above))
        function = next((match[1] for match in found if match), "")
        body = bodies.get((path.name, function, topic))
        if body is not None:
            indented = textwrap.indent(body.rstrip("\n"), " " * region.indent)
            lines[region.start : region.end - 1] = indented.split("\n")
    return "\n".join(lines)
