# tries: half characters and control characters in every text of an answer
odd = "PWNED\ud800\udfff\x00\x1b[2J\r\x9b1A\u202e\u2028"
head = {"tree": {"ok": True, "value": {"forms": [odd] * 20, "answers": [[None]] * 20}}}
leave(raw(head | {"arrays": []}))
