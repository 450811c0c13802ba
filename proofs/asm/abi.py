"""How the System V ABI of x86-64 passes a function's parameters, whose types its name tells."""

# type -> ((class, bits), ...) of its parts, each in a register or 8 bytes of the stack
PARTS = {"unsigned char": (("integer", 8),), "bool": (("integer", 8),), "int": (("integer", 32),),
         "unsigned int": (("integer", 32),), "long": (("integer", 64),),
         "unsigned long": (("integer", 64),), "float": (("float", 32),),
         "slip::kernels::avx512::Ahead": (("integer", 64), ("integer", 64))}
ALIGNMENT = {"char": 1, "short": 2, "int": 4, "long": 8, "float": 4, "double": 8}


def parameters(image, symbol):
    """The types of a function's parameters, as it was demangled."""
    at = image.symbols[symbol]
    name = next(name for name, where in image.symbols.items() if where == at and name.endswith(")"))
    depth, types = 0, [""]
    for c in reversed(name):
        depth += (c in ")>") - (c in "(<")
        if depth == 0:
            break
        if c == "," and depth == 1:
            types.append("")
        elif (c, depth) != (")", 1):
            types[-1] = c + types[-1]
    return [type_.strip() for type_ in reversed(types) if type_.strip()]


def parts(type_):
    """What is passed of a parameter; KeyError for a type that no kernel has."""
    return (("integer", 64),) if type_[-1] in "*&" else PARTS[type_]


def alignment(type_):
    """The natural alignment of what a parameter points to; None of others."""
    words = type_.rstrip("*").replace(" const", "").split() if type_.endswith("*") else [""]
    return ALIGNMENT.get(words[-1])
