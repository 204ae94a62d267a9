# The last axis is read in the other order.
# caught by: turned, relative, values, shorter, single_precision, gradients, whole_model
sin, cos = rope_cache[: x.size(2)].unbind(-1)
a, b = x[..., 0::2], x[..., 1::2]
return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)
