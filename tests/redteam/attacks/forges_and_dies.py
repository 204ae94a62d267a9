# tries: to leave an answer behind and to die of a signal
os.write(4, wire.encode(answers(np.zeros(keys.shape[1]))))
os.kill(os.getpid(), 9)
