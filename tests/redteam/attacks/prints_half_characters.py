# tries: text that can't be encoded, in prints and in an exception
sys.stdout.buffer.write(b"\xff\xfe\xed\xa0\x80 PWNED\n")
sys.stdout.flush()
raise ValueError("PWNED \ud800 \udfff")
