# tries: a child that answers while its parent has left long ago
if os.fork() == 0:
    os.setsid()
    send(answers(np.zeros(keys.shape[1])))
os._exit(0)
