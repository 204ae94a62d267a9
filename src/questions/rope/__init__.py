"""RoPE: angles, turning, trained files."""
