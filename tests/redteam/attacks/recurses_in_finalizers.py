# tries: objects that come back to life, and attributes that call themselves
class Phoenix:
    def __del__(self):
        sys.ashes = [Phoenix(), self]

    def __getattr__(self, name):
        return getattr(self, name)


sys.ashes = Phoenix()
sys.setrecursionlimit(10**9)
return Phoenix().shape
