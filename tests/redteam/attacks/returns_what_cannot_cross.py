# tries: generators, locks, objects and pickles in place of an answer
class Pickled:
    def __reduce__(self):
        return (os.system, ("echo PWNED > /tmp/PWNED",))


odd = [threading.Lock(), (n for n in [1]), Pickled(), np.array([Pickled()], dtype=object)]
return odd[len(keys) % 4]
