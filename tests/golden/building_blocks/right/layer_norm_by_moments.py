# The mean of squares less the square of the mean.
# region: building_blocks.py, layer_norm, blocks layers
mean = x.mean(-1, keepdim=True)
variance = (x * x).mean(-1, keepdim=True) - mean * mean
y = (x - mean) * torch.rsqrt(variance + eps)
gain = torch.ones(x.shape[-1]) if gain is None else gain
return y * gain + (0 if bias is None else bias)
