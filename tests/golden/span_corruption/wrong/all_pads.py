# Items are nothing but PADs.
# caught by: pairs, arrangement, block_sizes
x = torch.zeros(self.block_size, dtype=torch.long)
return x, x.clone()
