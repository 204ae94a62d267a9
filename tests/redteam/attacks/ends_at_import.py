# tries: to end the process while it is imported, with an answer sent ahead
# breaks: 3b
# runs: at import
send(answers(np.zeros(4)))
