# tries: to leave an answer behind and to die of a signal
def attack(keys, j):
    os.write(4, wire.encode(answers(np.zeros(keys.shape[1]))))
    os.kill(os.getpid(), 9)
