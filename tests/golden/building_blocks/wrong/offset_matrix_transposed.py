# For rows, or in the other direction.
# caught by: blocks_offsets.moves
# region: building_blocks_positions.py, offset_matrix, blocks offsets
omega = 10000.0 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
sin, cos = (omega * offset).sin(), (omega * offset).cos()
turns = torch.stack([torch.stack([cos, -sin], -1), torch.stack([sin, cos], -1)], -2)
return torch.block_diag(*turns)
