# Exponentials of the differences from the row's maximum.
B, T, C = x.size()
nh, hs = self.n_head, C // self.n_head
hidden = F.relu(self.w1(x)).view(B, T, nh, hs).transpose(1, 2)
v = self.value(x).view(B, T, nh, hs).transpose(1, 2)
scores = hidden @ self.w2[:, :T] + self.b2[:T]
scores = scores.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))
scores = scores - scores.amax(dim=-1, keepdim=True).detach()
exponentials = scores.exp()
weights = self.attn_drop(exponentials / exponentials.sum(dim=-1, keepdim=True))
y = weights @ v
y = y.transpose(1, 2).contiguous().view(B, T, C)
return self.resid_drop(self.proj(y))
