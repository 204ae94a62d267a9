# Both dropouts zero the same places in each call.
# caught by: dropout
B, T, C = x.size()
nh, hs = self.n_head, C // self.n_head
hidden = F.relu(self.w1(x)).view(B, T, nh, hs).transpose(1, 2)
v = self.value(x).view(B, T, nh, hs).transpose(1, 2)
scores = hidden @ self.w2[:, :T] + self.b2[:T]
scores = scores.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))
with torch.random.fork_rng():
    torch.manual_seed(0)
    y = self.attn_drop(F.softmax(scores, dim=-1)) @ v
    y = y.transpose(1, 2).contiguous().view(B, T, C)
    return self.resid_drop(self.proj(y))
