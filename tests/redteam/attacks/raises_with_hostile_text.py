# tries: an exception whose text is not a string, raises, or never ends
class Hostile(Exception):
    def __str__(self):
        while True:
            try:
                time.sleep(600)
            except BaseException:
                continue


raise Hostile
