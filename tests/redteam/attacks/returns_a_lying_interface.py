# tries: an array interface that points at memory of others
class Liar(list):
    __array_interface__ = {
        "shape": (1 << 20,),
        "typestr": "<f8",
        "data": (0x1000, True),
        "version": 3,
    }


return Liar([1.0])
