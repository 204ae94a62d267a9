# tries: to answer in the worker's place, before the probe does, and to leave
send(answers(np.zeros(keys.shape[1]), 40))
