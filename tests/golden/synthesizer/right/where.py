# torch.where with the least number of the dtype.
B, T, C = x.size()
nh, hs = self.n_head, C // self.n_head
hidden = F.relu(self.w1(x)).view(B, T, nh, hs).transpose(1, 2)
v = self.value(x).view(B, T, nh, hs).transpose(1, 2)
scores = hidden @ self.w2[:, :T] + self.b2[:T]
least = torch.finfo(scores.dtype).min
scores = torch.where(self.mask[:, :, :T, :T].bool(), scores, least)
weights = self.attn_drop(F.softmax(scores, dim=-1))
y = weights @ v
y = y.transpose(1, 2).contiguous().view(B, T, C)
return self.resid_drop(self.proj(y))
