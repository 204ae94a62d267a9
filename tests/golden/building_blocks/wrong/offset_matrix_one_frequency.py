# Every pair is turned by the same angle.
# caught by: blocks_offsets.moves
# region: building_blocks_positions.py, offset_matrix, blocks offsets
sin, cos = math.sin(offset), math.cos(offset)
turn = torch.tensor([[cos, sin], [-sin, cos]], dtype=torch.float64)
return torch.block_diag(*[turn] * (d // 2))
