# tries: an empty array whose announced shape can't exist
shape = [0, 2**29, 2**29, 2**29]
leave(raw({"tree": {"ok": True, "value": {"$array": 0}}, "arrays": [["<f8", shape]]}))
