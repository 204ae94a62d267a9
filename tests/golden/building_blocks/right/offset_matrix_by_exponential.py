# The exponential of a skew-symmetric matrix.
# region: building_blocks_positions.py, offset_matrix, blocks offsets
omega = 10000.0 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
turn = torch.tensor([[0.0, 1.0], [-1.0, 0.0]], dtype=torch.float64)
return torch.linalg.matrix_exp(offset * torch.kron(torch.diag(omega), turn))
