# A tensor of zeros, made for torch's default dtype, is filled head by head.
B, T, C = x.size()
nh, hs = self.n_head, C // self.n_head
hidden, values = F.relu(self.w1(x)), self.value(x)
y = torch.zeros(B, T, C, device=x.device)
for head in range(nh):
    own = slice(head * hs, (head + 1) * hs)
    scores = hidden[:, :, own] @ self.w2[:, :T] + self.b2[:T]
    scores = scores.masked_fill(self.mask[0, 0, :T, :T] == 0, float("-inf"))
    y[:, :, own] = self.attn_drop(F.softmax(scores, dim=-1)) @ values[:, :, own]
return self.resid_drop(self.proj(y))
