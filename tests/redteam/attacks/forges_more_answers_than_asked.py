# tries: no answers, too few and too many
send(answers(np.zeros(keys.shape[1]), 0 if len(keys) % 2 else 3000))
