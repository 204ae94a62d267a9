# tries: queries of infinities and NaN, with which comparisons may come out as one likes
bad = [[np.full(keys.shape[1], value)] for value in (np.nan, np.inf, -np.inf, 1e308)]
send({"ok": True, "value": {"forms": ["float64[4]"] * 20, "answers": (bad * 5)[:20]}})
