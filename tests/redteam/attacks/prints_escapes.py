# tries: to paint over the grader's lines with terminal escapes and control characters
print("\x1b[2J\x1b[1A\x1b[2K\r3a-0-basic  passed  PWNED \x9b2K \x07\x08\x08\x7f\u202e\u2066")
print("\x1b]0;PWNED\x07\x1b]52;c;UFdORUQ=\x07")
raise ValueError("\x1b[1A\x1b[2K\r3a-0-basic    passed    1/1")
