# tries: to replace the encoders that the frame is made with
json.dumps = lambda *_, **__: '{"tree": {"ok": true, "value": {"passed": true}}, "arrays": []}'
wire.PREFIX = struct.Struct("<I")
struct.Struct = None
