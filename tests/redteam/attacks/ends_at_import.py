# tries: to end the process while it is imported, with an answer sent ahead
# breaks: 3b
send(answers(np.zeros(4)))
