# tries: to go on while the interpreter and the process end
class Last:
    def __del__(self):
        time.sleep(600)


sys.last = Last()
threading.Thread(target=lambda: [time.sleep(0.001) for _ in iter(int, 1)]).start()
sys.exit(Last())
