# tries: threads without end
while True:
    threading.Thread(target=time.sleep, args=(600,), daemon=False).start()
