# tries: threads without end
def attack(keys, j):
    while True:
        threading.Thread(target=time.sleep, args=(600,), daemon=False).start()
