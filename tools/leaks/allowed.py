"""What students may read although it is part of the solutions, by reason.

A line of the solutions is copied verbatim. A sentence of a written answer is one line here; within
the quotes, a backslash at a line's end joins it to the next. A test checks that each exception is
needed.
"""

ALLOWED = {
    "given with CausalSelfAttention, whose layout the synthesizer has": """
        nh, hs = self.n_head, C // self.n_head
        v = self.value(x).view(B, T, nh, hs).transpose(1, 2)  # (B, nh, T, hs)
        scores = scores.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))
        weights = self.attn_drop(F.softmax(scores, dim=-1))  # (B, nh, T, T)
        y = y.transpose(1, 2).contiguous().view(B, T, C)  # heads side by side
        return self.resid_drop(self.proj(y))
        """,
    "given with NameDataset": """
        text = text.ljust(self.block_size + 1, self.PAD_CHAR)
        ids = torch.tensor([self.stoi[ch] for ch in text], dtype=torch.long)
        """,
    "imports": """
        from __future__ import annotations
        from dataclasses import dataclass
        """,
    "arguments of functions of the same names": "len(pretrain_dataset),block_size,",
    "also asserted by basic tests": """
        correct = trained_files.count_correct(predicted, places)
        correct >= threshold * len(places),
        expected=f"at least {threshold:.0%}",
        weights_are_right(alpha, places),
        scale, length, n = answer.arguments
        """,
}

# Files that may name a path under solutions/, which students don't have: each with the path.
PATHS = {
    "says where hidden tests are judged, so that nobody looks for it": {
        "assignment.toml": "solutions/hidden",
        "src/grading/cases.py": "solutions/hidden",
        "src/questions/__init__.py": "solutions/hidden",
        "src/grading/runner.py": "solutions/hidden",
        "src/grading/cli.py": "solutions/hidden",
    },
    "says where staff's answers are, which no release contains": {
        "src/questions/provided.py": "solutions/data",
    },
}
