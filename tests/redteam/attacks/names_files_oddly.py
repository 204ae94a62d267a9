# tries: names with line ends, escapes, half characters and as long as they can be
for name in (b"\n\x1b[2J", b"\xff\xfe", b"-rf", b"*", b"x" * 255, "\u202e".encode(), b" "):
    with open(name, "wb") as writer:
        writer.write(b"PWNED")
