# tries: an exception that lies about its class, its ancestors and its module
class Meta(type):
    __mro__ = property(lambda self: 1 / 0)
    __name__ = property(lambda self: 1 / 0)


class Hostile(ValueError, metaclass=Meta):
    __class__ = property(lambda self: SystemExit)
    __traceback__ = property(lambda self: 1 / 0)
    __module__ = property(lambda self: 1 / 0)


raise Hostile("PWNED")
