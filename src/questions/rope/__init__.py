"""RoPE: angles, rotations, trained files."""
