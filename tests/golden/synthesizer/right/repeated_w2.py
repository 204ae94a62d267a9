# w2 and b2 are repeated for each sequence and head; batched products.
B, T, C = x.size()
nh, hs = self.n_head, C // self.n_head
hidden = F.relu(self.w1(x)).view(B, T, nh, hs).transpose(1, 2)
v = self.value(x).view(B, T, nh, hs).transpose(1, 2)
w2 = self.w2[:, :T].repeat(B * nh, 1, 1)
b2 = self.b2[:T].expand(B * nh, T, T)
scores = torch.baddbmm(b2, hidden.reshape(B * nh, T, hs), w2).view(B, nh, T, T)
scores = scores.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))
weights = self.attn_drop(F.softmax(scores, dim=-1))
y = torch.bmm(weights.view(B * nh, T, T), v.reshape(B * nh, T, hs)).view(B, nh, T, hs)
y = y.transpose(1, 2).contiguous().view(B, T, C)
return self.resid_drop(self.proj(y))
