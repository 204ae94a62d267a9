"""Bad input to the commands that look into models: one line, exit code 2, and no file."""

import math
import re

import torch

from tests.snapshots import check

OPTIONS = "wiki.txt --recipe smoke --device cpu --reading_params_path"
INSPECT = f"inspect vanilla {OPTIONS} vanilla.params --outputs_path page.html"
CLOZE = f"cloze vanilla {OPTIONS} vanilla.params"
CALIBRATION = f"calibration vanilla {OPTIONS} vanilla.params"
REFUSED = (
    f"{INSPECT} --question 'Where was Ωlga born?'",
    f"{INSPECT} --question {'a' * 64}",
    f"{INSPECT} --second_variant rope",
    f"{INSPECT} --second_params_path x",
    f"{INSPECT} --second_variant synthesizer --second_params_path no.params",
    f"{INSPECT} --second_variant synthesizer --second_params_path vanilla.params",
    f"{INSPECT} --eval_corpus_path birth_test_inputs.tsv",
    INSPECT.replace("vanilla.params", "nan.params"),
    f"{CLOZE} --eval_corpus_path other.tsv",
    f"{CLOZE} --eval_corpus_path strange.tsv",
    f"{CLOZE} --eval_corpus_path long.tsv",
    f"{CLOZE} --finetune_corpus_path birth_test_inputs.tsv",
    CLOZE.replace("vanilla.params", "synthesizer.params"),
    CALIBRATION,
    f"{CALIBRATION} --outputs_path no/c.svg",
    f"{CALIBRATION} --outputs_path c.svg --eval_corpus_path birth_test_inputs.tsv",
    f"{CALIBRATION} --outputs_path c.svg --eval_corpus_path nowhere.tsv",
)
QUESTIONS = {
    "other": "Who was Ada?",
    "strange": "Where was Ωlga born?",
    "long": f"Where was {'Ana ' * 22}born?",
}


def test_bad_input_is_one_line_and_leaves_no_file(
    run, source, trained, root, tmp_path, monkeypatch
):
    monkeypatch.setattr("sys.argv", ["run.py"])
    for name, question in QUESTIONS.items():
        (tmp_path / f"{name}.tsv").write_text(f"{question}\tLima\n", encoding="utf-8")
    for variant in ("vanilla", "synthesizer"):
        content = (trained / f"{variant}.finetune.params").read_bytes()
        (tmp_path / f"{variant}.params").write_bytes(content)
    state = torch.load(tmp_path / "vanilla.params", weights_only=True)
    state["head.weight"][:] = math.nan
    torch.save(state, tmp_path / "nan.params")
    before, found = set(tmp_path.iterdir()), {}

    def refused(command: str) -> None:
        code, _, errors = run(command)
        assert code == 2 and "Traceback" not in errors, command
        assert set(tmp_path.iterdir()) == before, command
        last = re.sub(r"\.py:\d+", ".py:LINE", errors.splitlines()[-1])
        found[command.replace(OPTIONS, "...")] = last

    for command in REFUSED:
        refused(command)

    def unwritten(*arguments):
        raise NotImplementedError("[synthesizer] forward is yours to write")

    attention = source.attention.SynthesizerAttention
    forward = attention.forward
    monkeypatch.setattr(attention, "forward", lambda *given: forward(*given) * math.nan)
    refused("recall synthesizer --device cpu")  # the loss is nan
    monkeypatch.setattr(attention, "forward", unwritten)
    refused("recall synthesizer")
    check("experiments_refused", found, {str(root): "A5", str(tmp_path): "HERE"})
