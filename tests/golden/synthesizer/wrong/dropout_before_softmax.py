# The weights' dropout comes before the softmax.
# caught by: dropout
B, T, C = x.size()
nh, hs = self.n_head, C // self.n_head
hidden = F.relu(self.w1(x)).view(B, T, nh, hs).transpose(1, 2)
v = self.value(x).view(B, T, nh, hs).transpose(1, 2)
scores = self.attn_drop(hidden @ self.w2[:, :T] + self.b2[:T])
scores = scores.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))
weights = F.softmax(scores, dim=-1)
y = weights @ v
y = y.transpose(1, 2).contiguous().view(B, T, C)
return self.resid_drop(self.proj(y))
