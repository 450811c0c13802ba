"""The formulas of the chapter latency.md, in exact fractions."""

from fractions import Fraction


def parse(parameters):
    """Numbers as they are; fractions are strings "numerator/denominator"."""
    return {name: Fraction(value) for name, value in parameters.items()}


def text(value):
    """A fraction in lowest terms."""
    return f"{value.numerator}/{value.denominator}"


def sums(p):
    """LAT-1 to LAT-4: the paper's sums over layers, and their times."""
    edge = 2 * p["m"] * p["n"] * p["b"] * p["l"] + p["n"] * p["b"] * (p["l"] - p["l_d"])
    cloud = 2 * p["l_d"] * p["b"] * (p["m"] * p["k"] + p["n"] * p["k"] + 2 * p["n"] * p["L_v"]
                                     + Fraction(3, 2) * p["n"])
    messages = 2 * p["l_d"] + 1
    elements = p["n"] * p["b"] * messages
    return {
        "flops_edge": int(edge),
        "flops_full": int(2 * p["m"] * p["n"] * p["b"] * p["l"] + p["n"] * p["b"] * p["l"]),
        "flops_cloud": int(cloud),
        "messages": int(messages),
        "elements": int(elements),
        "edge_seconds": text(edge / (p["edge_rate"] * p["utilization"])),
        "cloud_seconds": text(cloud / (p["cloud_rate"] * p["utilization"])),
        "transfer_seconds": text(transfer(messages, elements, p))}


def transfer(delays, elements, p):
    """LAT-2."""
    return delays * p["delay"] + elements * p["s"] / p["bandwidth"]


def protocol(p):
    """LAT-5: a batch with every layer masked and each reply checked."""
    messages = 2 * p["l"] + 1
    elements = p["n"] * p["b"] * messages
    edge = 2 * p["m"] * p["n"] * p["b"] * p["l"]
    online = (p["l_d"] * 2 * p["k"] * p["b"] * (p["m"] + p["n"])
              + p["l"] * (p["n"] * p["b"] + 3 * p["m"] * p["b"]
                          + 2 * p["kappa"] * p["b"] * (p["m"] + p["n"])))
    offline = p["l"] * 2 * p["m"] * p["n"] * p["b"]
    total = (edge / (p["edge_rate"] * p["utilization"])
             + online / (p["cloud_rate"] * p["utilization"]) + transfer(messages, elements, p))
    return {"messages": int(messages), "elements": int(elements), "flops_edge": int(edge),
            "flops_online": int(online), "flops_offline": int(offline),
            "total_seconds": text(total)}
