# tries: dtypes that would make numpy run or read something
for dtype in ("|O", "<U4", "<M8[s]", "|V8", [["a", "|O"]], {"names": []}, None, 1e308):
    header = {"tree": {"ok": True, "value": {"$array": 0}}, "arrays": [[dtype, [1]]]}
    os.write(4, raw(header, bytes(8)))
os._exit(0)
