"""Lines of the solutions that students may read, by reason; a test checks that each is needed."""

ALLOWED = {
    "given with CausalSelfAttention, whose layout the synthesizer has": """
        nh, hs = self.n_head, C // self.n_head
        v = self.value(x).view(B, T, nh, hs).transpose(1, 2)  # (B, nh, T, hs)
        scores = scores.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))
        weights = self.attn_drop(F.softmax(scores, dim=-1))  # (B, nh, T, T)
        y = y.transpose(1, 2).contiguous().view(B, T, C)  # heads side by side
        return self.resid_drop(self.proj(y))
        """,
    "given with NameDataset, and with the helper": """
        text = text.ljust(self.block_size + 1, self.PAD_CHAR)
        ids = torch.tensor([self.stoi[ch] for ch in text], dtype=torch.long)
        len(pretrain_dataset), block_size,
        """,
    "also said and asserted by basic tests": """
        correct = trained_files.count_correct(predicted, places)
        correct >= threshold * len(places),
        expected=f"at least {threshold:.0%}",
        scale, length, n = answer.arguments
        min(len(document), int(block_size*7/8))
        """,
}
