# Number by number.
# region: building_blocks_positions.py, sinusoidal_positions, blocks sinusoids
p = torch.zeros(T, d, dtype=torch.float64)
for t in range(T):
    for k in range(d // 2):
        p[t, 2 * k] = math.sin(t / 10000 ** (2 * k / d))
        p[t, 2 * k + 1] = math.cos(t / 10000 ** (2 * k / d))
return p
