"""One attention layer in both orders: the chapter attention.md. Activations and messages are
lists of columns, one per token; P is a list of rows for each head."""

from . import linear, ring


def _exchange(weight, a, masks, primes):
    """(message, reply, W a) of one weight: mask, David's product, unmask, low rank."""
    message = [linear.mask(column, r, primes) for column, r in zip(a, masks, strict=True)]
    reply = linear.product(weight["W_D"], message, primes)
    result = []
    for column, r, y in zip(a, masks, reply):
        davids = linear.unmask(y, linear.cancellation(weight["W_D"], r, primes), primes)
        result.append(linear.low_rank(weight["A"], weight["B"], column, davids))
    return message, reply, result


def weighted(columns, P):
    """X P^T: for each token i the sum of P[i][j] times column j."""
    rows = list(zip(*columns))
    return [[linear.dot(weights, row) for row in rows] for weights in P]


def figure(weights, a, masks, P, primes):
    """ATTN-1, ATTN-4: the steps of the figure, with the given softmax P of each head."""
    q_message, q_reply, _ = _exchange(weights["q"], a, masks["q"], primes)
    k_message, k_reply, _ = _exchange(weights["k"], a, masks["k"], primes)
    outer = [_exchange(weight, weighted(a, P_h), r, primes)
             for weight, P_h, r in zip(weights["v"], P, masks["v"], strict=True)]
    return {"inner_message": {"q": q_message, "k": k_message},
            "inner_reply": {"q": q_reply, "k": k_reply},
            "outer_message": [message for message, _, _ in outer],
            "outer_reply": [reply for _, reply, _ in outer],
            "output": _stack([result for _, _, result in outer])}


def one_round(weights, a, masks, P, primes):
    """ATTN-5: q, k and v of all heads as one group; then V P^T for each head."""
    members = [weights["q"], weights["k"], *weights["v"]]
    W_D = [row for member in members for row in member["W_D"]]
    message = [linear.mask(column, r, primes) for column, r in zip(a, masks, strict=True)]
    reply = linear.product(W_D, message, primes)
    heads = []
    first = len(weights["q"]["W_D"]) + len(weights["k"]["W_D"])
    for weight, P_h in zip(weights["v"], P, strict=True):
        last = first + len(weight["W_D"])
        V = []
        for column, r, y in zip(a, masks, reply):
            davids = linear.unmask(ring.rows(y, primes, first, last),
                                   linear.cancellation(weight["W_D"], r, primes), primes)
            V.append(linear.low_rank(weight["A"], weight["B"], column, davids))
        heads.append(weighted(V, P_h))
        first = last
    return {"message": message, "reply": reply, "output": _stack(heads)}


def _stack(heads):
    """The columns of all heads, one head below the other."""
    return [[value for head in heads for value in head[t]] for t in range(len(heads[0]))]
