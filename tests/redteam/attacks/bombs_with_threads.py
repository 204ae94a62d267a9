# tries: threads without end
def attack(keys, j):
    import threading
    import time

    while True:
        threading.Thread(target=time.sleep, args=(600,), daemon=False).start()
