# Sums over named indices.
B, T, C = x.size()
nh, hs = self.n_head, C // self.n_head
h = torch.relu(self.w1(x)).reshape(B, T, nh, hs)
v = self.value(x).reshape(B, T, nh, hs)
scores = (
    torch.einsum("bthk,ks->bhts", h, self.w2[:, :T]) + self.b2[None, None, None, :T]
)
scores = scores.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))
weights = self.attn_drop(torch.softmax(scores, dim=3))
y = torch.einsum("bhts,bshk->bthk", weights, v).reshape(B, T, C)
return self.resid_drop(self.proj(y))
