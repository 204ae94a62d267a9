# The product of both encodings: right for t = 0 and no other.
# caught by: blocks_offsets.moves
# region: building_blocks_positions.py, offset_matrix, blocks offsets
omega = 10000.0 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
there = torch.stack([(omega * offset).sin(), (omega * offset).cos()], dim=-1).flatten()
here = torch.tensor([0.0, 1.0], dtype=torch.float64).repeat(d // 2)
return torch.outer(there, here) / (d / 2)
