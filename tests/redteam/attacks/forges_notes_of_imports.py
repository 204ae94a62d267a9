# tries: to have other tests stopped, and the grader's notes read for long, by forged notes
# breaks: average_query, which a forger can only take from itself
notes = b"S submission.dataset\nI submission.attention_exploration 0\n" + b"E\n" * 2_000_000
write(notes + b"I submission.attention_exploration " + b"9" * 400 + b"\n")
while True:
    pass
