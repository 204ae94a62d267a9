# tries: an array where the envelope should be
leave(raw({"tree": {"$array": 0}, "arrays": [["<f8", [1]]]}, b"12345678"))
