# tries: to go on after the answer, by replacing what ends the process
os._exit = lambda code: time.sleep(600)
threading.Thread(target=time.sleep, args=(600,)).start()
